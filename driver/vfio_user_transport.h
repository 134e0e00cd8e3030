// SPDX-License-Identifier: Apache-2.0
// A card in another process, served by `spyre-cosim serve` (docs/serve.md): the client's side of
// the vfio-user protocol. Driver and runtime work on it as on any Transport; in lockstep they see
// the times that they would see in one process with the card.
//
// Host memory stays where it is: the card reaches it by messages, which a thread of each connection
// answers, so that memory which is mapped may be read and written at any time.
// Errors: Error(kBadInput) if no server listens there, or it does not serve a card with a clock
// (spyre_time); Error(kDeviceFault) once the server has gone, as for a card that was removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "driver/transport.h"

namespace spyre::driver {

class VfioUserLink;

class VfioUserTransport : public Transport {
 public:
  // path: the directory of the sockets, or one socket in it, spyre.F.sock. Connects to F, with a
  // directory to 0; to other functions of the card when they are used first.
  // A monitor only reads registers: its coming and going resets nothing.
  enum class Role { kDriver, kMonitor };
  explicit VfioUserTransport(const std::string& path, Role role = Role::kDriver);
  ~VfioUserTransport() override;

  uint32_t ConfigRead(FunctionId function, uint32_t offset) override;
  void ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) override;
  uint32_t Read32(FunctionId function, int bar, uint64_t offset) override;
  void Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) override;
  IoAddress MapHost(FunctionId function, void* host, size_t size) override;
  void UnmapHost(FunctionId function, IoAddress address) override;
  WaitResult WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) override;
  uint64_t NowPs() override;
  void Advance(uint64_t host_ps) override;
  std::string Diagnose() override;

  // The function that the path names; 0 of a directory.
  FunctionId function() const { return function_; }
  // "free", "lockstep" or "paced"
  const std::string& time_mode() const;

 private:
  VfioUserLink& Link(FunctionId function);
  uint32_t ReadWord(FunctionId function, uint32_t region, uint64_t offset);
  void WriteWord(FunctionId function, uint32_t region, uint64_t offset, uint32_t value);

  std::mutex mutex_;
  std::string directory_;
  FunctionId function_ = 0;
  Role role_ = Role::kDriver;
  std::string name_;  // of this client, for the card's clock
  std::map<FunctionId, std::unique_ptr<VfioUserLink>> links_;
  IoAddress next_address_;
  std::optional<uint64_t> now_ps_;  // lockstep: known until the next call that takes time
};

}  // namespace spyre::driver
