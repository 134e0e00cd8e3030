// SPDX-License-Identifier: Apache-2.0
// When the time of served cards moves, and how far (time_mode.h). Kernel thread.
//
// What clients wait for ends at a time of the cards; what ends first is served first, and of equal
// times that of the lower card and function. In lockstep, time moves only while every client waits,
// so that what each of them sees does not depend on who is faster; it begins when `clients` of them
// have come, or as many as one of them says that there are, and begins anew when all have gone.
// A client that waits on the host for another one, which waits for time, does not stop it. In
// the other modes it begins with the first, and while a client owes the card an answer it is not
// faster than the wall's, so that an operation is not over its limit before the client has had that
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/host_activity.h"
#include "cosim/serve/served_function.h"
#include "cosim/serve/time_mode.h"

namespace spyre::cosim {

struct TimeOptions {
  TimeMode mode = TimeMode::kFree;
  uint64_t clients = 1;  // lockstep
  double factor = 1;     // paced: simulated seconds for each second of wall time, at most
  // lockstep: the clients are among the descendants of this process, and one that sleeps on the
  // host while all of these do waits for another, which may need time; 0: nobody knows.
  int program = 0;
};

class Schedule {
 public:
  using Functions = std::vector<std::unique_ptr<ServedFunction>>;

  // cards: of one simulation; not empty.
  Schedule(const std::vector<InProcessTransport*>& cards, const TimeOptions& options)
      : cards_(cards),
        card_(*cards.front()),
        options_(options),
        host_(static_cast<pid_t>(options.program)) {}

  // Tells whether a client has said something that has not been heard yet.
  void AskForInput(std::function<bool()> pending) { input_pending_ = std::move(pending); }
  // How long sockets may be waited for: 0 while time can move, -1 until somebody asks for
  // something.
  int PatienceMs(const Functions& functions);
  // Nobody has said anything for as long as PatienceMs.
  void Silence() { silence_ = true; }
  // Before a client is answered after a pause: paced, time has gone on while nothing happened.
  void CatchUp();
  // Lets time move for some milliseconds of wall time at most, and answers who has waited for it.
  // Error(kDeviceFault) when the card has just been lost, once; what comes after may go on.
  void Move(const Functions& functions);

 private:
  bool AllWait(const Functions& functions);
  bool OthersSleep(const Functions& functions);
  static bool AnyWaits(const Functions& functions);
  bool CanMove(const Functions& functions);
  bool HasBegun(const Functions& functions);
  uint64_t LimitPs() const;
  void LookForLate(const Functions& functions);
  static ServedFunction* Next(const Functions& functions);
  bool EndSleepOfAll(const Functions& functions);
  void Run(uint64_t until_ps, bool when_idle);

  const std::vector<InProcessTransport*> cards_;
  InProcessTransport& card_;  // the first one, whose simulation is that of all
  const TimeOptions options_;
  HostActivity host_;
  std::function<bool()> input_pending_;
  bool all_have_come_ = false;  // lockstep, as many as are expected
  // Lockstep, since a client was last answered or has said something: all wait for time; or some
  // do, and the others sleep on the host.
  bool all_wait_ = false, others_sleep_ = false;
  bool silence_ = false;  // looking at processes costs, so it is done when sockets are silent
  // Of both clocks, when the first client came: until then time stands.
  struct Begin {
    std::chrono::steady_clock::time_point wall;
    uint64_t ps = 0;
  };
  std::optional<Begin> begin_;
  std::optional<Begin> late_;      // since when a client owes the card an answer
  std::set<std::string> seen_;     // names of clients, until there are enough
  uint64_t slice_ps_ = 1'000'000;  // what takes about a millisecond of wall time
};

}  // namespace spyre::cosim
