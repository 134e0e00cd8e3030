// SPDX-License-Identifier: Apache-2.0
// Whoever has a virtual function and means harm: everything that software can do to its function,
// at random and with knowledge of what others have. It reads all that it can reach, and says so if
// a secret of somebody else is in it. One operation at a time; equal seeds do the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cosim/host/inprocess_transport.h"
#include "driver/host_buffer.h"
#include "model/contract/control_block.h"
#include "tests/fuzz/chaos.h"
#include "tests/fuzz/hostile/layout.h"
#include "tests/fuzz/hostile/secret.h"
#include "tests/fuzz/random_program.h"

namespace spyre::fuzz {

class Intruder {
 public:
  // host_addresses: of memory that others have mapped for their functions.
  Intruder(cosim::InProcessTransport& transport, driver::FunctionId function, uint32_t seed,
           std::vector<const Secret*> secrets, std::vector<driver::IoAddress> host_addresses);

  void Act();
  // Sets its function up as a driver does, with empty rings.
  void Revive();
  // Copies all of its device memory to the host, reads all registers and configuration space, and
  // looks at what it has got. Takes some microseconds of simulated time.
  void Inspect();
  // What it has found that is not its own; empty: nothing.
  const std::string& found() const { return found_; }

  driver::FunctionId function() const { return function_; }
  // How often it has done what.
  const std::map<std::string, uint64_t>& deeds() const { return deeds_; }
  // How its operations have ended: those whose responses it has seen.
  const std::map<Status, uint64_t>& outcomes() const { return outcomes_; }

 private:
  static constexpr uint32_t kEntries = 32;
  static constexpr uint64_t kRingAt = 0, kResponsesAt = 4096, kBufferAt = 8192;
  static constexpr uint64_t kProgramBytes = 64 << 10;
  static constexpr uint64_t kHostBytes = kBufferAt + 3 * kPlaceBytes;

  using Space = model::HostAccess::Space;

  uint32_t Read(Space space, uint64_t offset, unsigned bytes = 4);
  void Write(Space space, uint64_t offset, uint32_t value, unsigned bytes = 4,
             unsigned enables = 0xF);
  void Register(uint32_t offset, uint32_t value) { Write(Space::kBar0, offset, value); }
  void Pair(uint32_t low, uint64_t value);

  void EnsureAlive();
  void ReadRegister();
  void TouchRegister();
  void TouchBar();
  void TouchConfig();
  void TouchMsi();
  void SendMessages();
  void SendGarbage();
  void MoveRings();
  void LaunchProgram();
  void LaunchEndless();
  void PeekLx();
  void ReadMemory();
  void ResetFunction();
  void Consume();

  Message MakeMessage();
  uint64_t SomeHostAddress();
  void Put(Message message);
  void Ring();
  // Loads the program and launches it.
  void Launch(const std::vector<uint8_t>& image);
  void Look(const uint8_t* data, size_t bytes, const char* where);
  void LookAt(uint32_t value, const char* where);

  cosim::InProcessTransport& transport_;
  const driver::FunctionId function_;
  Chaos chaos_;
  const std::vector<const Secret*> secrets_;
  const std::vector<driver::IoAddress> host_addresses_;
  driver::HostBuffer host_;
  const ProgramMaker maker_{kPlaceBytes};
  uint32_t tail_ = 0, seen_ = 0;
  uint32_t stream_ = 1000;  // the last that was taken
  uint64_t quiet_ = 0;      // deeds that leave alone what it has begun
  bool disturbed_ = false;  // its rings or its function are not what they were
  std::string found_;
  std::map<std::string, uint64_t> deeds_;
  std::map<Status, uint64_t> outcomes_;
};

}  // namespace spyre::fuzz
