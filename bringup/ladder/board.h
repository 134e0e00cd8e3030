// SPDX-License-Identifier: Apache-2.0
// Board: the card that a ladder climbs, and what is known of it.
//
// There is one in a process. Whoever runs tests says with UseBoard how it is opened; tests reach it
// through their fixture (rung.h). Single thread, that of the tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bringup/ladder/health.h"
#include "bringup/ladder/results.h"
#include "driver/transport.h"

namespace spyre::bringup {

// Where a byte of device memory is on the board.
struct MemoryPlace {
  uint32_t channel = 0;
  uint32_t bank = 0;  // of the channel
};

// What the card has, as the configuration of its model says; a real card of which that is not known
// has none.
struct Expected {
  // By the name of the measurement, for a card that has so many cores.
  std::function<std::map<std::string, Limits>(int cores)> limits;
  std::function<MemoryPlace(uint64_t address)> place;
  HealthLimits health;
  uint32_t channels = 0, banks = 0;  // banks of each channel
};

// A way to a card, and what it cannot do.
struct Backend {
  std::string name;  // "vfio-user:/run/spyre"
  std::unique_ptr<driver::Transport> transport;
  bool fresh = false;  // the card has just been switched on: the first test needs no reset
  // An operating system keeps BARs, Command, MSI and SR-IOV of configuration space; what is written
  // there is not what the card gets.
  bool system_owns_config = false;
  // Time passes also between the calls of the transport: durations have no upper bound.
  bool time_passes = false;
  // Tests of all memory take no more than this of it, because what a simulated card has written is
  // memory of this machine. 0: all.
  uint64_t memory_limit_bytes = 0;
  std::optional<Expected> expected;
};

// What its registers say.
struct Capabilities {
  int cores = 0;
  bool pipelined = false;
  uint64_t memory_bytes = 0;
  int virtual_functions = 0;  // TotalVFs
};

class Board {
 public:
  // level: 1 to 4, how long tests may take (docs/bringup.md). seed: of random numbers.
  Board(Backend backend, int level, uint64_t seed);

  driver::Transport& transport() { return *backend_.transport; }
  const Backend& backend() const { return backend_; }
  int level() const { return level_; }
  uint64_t seed() const { return seed_; }

  // Read from the card at the first call, which leaves the card as it was. DeviceFault if there is
  // no card, or one that is not a Spyre.
  const Capabilities& capabilities();
  // What the backend's card has for this measurement; none if it has none
  // said, or the card does not say how many cores it has.
  std::optional<Limits> LimitsOf(const std::string& measurement);

  // The card as after power-on, but for what is in device memory: virtual functions are off, and
  // the physical one has had a function-level reset. DeviceFault if it does not come back.
  void Reset();
  bool lost() const { return lost_; }  // it has not come back once

  // What the card has counted against itself since the last call; the first one only looks.
  std::vector<HealthFinding> TakeHealth();
  // The test that is running resets the whole card, which begins its counts again.
  void WillResetCard() { card_reset_ = true; }

 private:
  Capabilities ReadCapabilities();

  Backend backend_;
  const int level_;
  const uint64_t seed_;
  bool fresh_, lost_ = false;
  std::optional<Health> health_;
  bool card_reset_ = false;
  std::optional<Capabilities> capabilities_;
  std::optional<std::map<std::string, Limits>> limits_;
};

// open: called once, when the board is first asked for.
void UseBoard(std::function<std::unique_ptr<Board>()> open);
Board& TheBoard();
// Ends the board, and with it the transport. A test must not be running.
void CloseBoard();

// What the test that is running has said about itself.
struct TestNotes {
  std::string could_not_run;         // why
  std::vector<std::string> margins;  // what was right, and only just
  std::vector<Measurement> measurements;
};
TestNotes& CurrentNotes();

}  // namespace spyre::bringup
