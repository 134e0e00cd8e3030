// SPDX-License-Identifier: Apache-2.0
// A card in another process, served by `spyre-cosim serve` (docs/serve.md): the client's side of
// the vfio-user protocol. Driver and runtime work on it as on any Transport; in lockstep they see
// the times that they would see in one process with the card.
//
// Host memory stays where it is: the card reaches it by messages, which a thread of each connection
// or one that waits for the server answers, so that memory which is mapped may be read and written
// at any time.
// Errors: Error(kBadInput) if no server listens there, or it does not serve a card with a clock
// (spyre_time); Error(kDeviceFault) once the server has gone, as for a card that was removed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "driver/transport.h"
#include "driver/vfio_user_protocol.h"

namespace spyre::driver {

class VfioUserLink;

class VfioUserTransport : public Transport {
 public:
  // path: the directory of the sockets, or one socket in it, spyre.F.sock. Connects to F, with a
  // directory to 0; to other functions of the card when they are used first.
  // A monitor only reads registers: its coming and going resets nothing.
  enum class Role { kDriver, kMonitor };
  explicit VfioUserTransport(const std::string& path, Role role = Role::kDriver);
  // One of several programs that drive a card each. name: for people, in the server's messages;
  // programs: how many there are, for which the clock waits in lockstep.
  struct Program {
    std::string name;
    unsigned programs = 1;
  };
  VfioUserTransport(const std::string& path, const Program& program);
  ~VfioUserTransport() override;

  uint32_t ConfigRead(FunctionId function, uint32_t offset) override;
  void ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) override;
  uint32_t Read32(FunctionId function, int bar, uint64_t offset) override;
  void Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) override;
  IoAddress MapHost(FunctionId function, void* host, size_t size) override;
  void UnmapHost(FunctionId function, IoAddress address) override;
  IoAddress PeerWindow() const override;
  IoAddress MapPeer(FunctionId function, unsigned peer, uint64_t offset, uint64_t size) override;
  void UnmapPeer(FunctionId function, IoAddress address) override;
  WaitResult WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) override;
  uint64_t NowPs() override;
  void Advance(uint64_t host_ps) override;
  std::string Diagnose() override;

  // Messages to other programs of the server, by numbers that they have agreed on. Those of a
  // sender come in the order in which they were posted, of several senders those of the lowest
  // number first. A message has at most kMaxMessageBytes (vfio_user_protocol.h). Receive sleeps
  // until one has come for number `to`, which takes the card's time; empty: nothing is left to
  // happen, so none can come. Error(kBadInput) if the server refuses.
  struct Mail {
    uint32_t from = 0;
    std::string text;
  };
  void Post(uint32_t from, uint32_t to, std::string_view message);
  std::optional<Mail> Receive(uint32_t to);
  // For the server's trace: what the COMPUTE of this correlation is called, and what the program
  // did with others. Takes no time.
  void NameCompute(uint64_t correlation, std::string_view name);
  void Trace(const vfio_user::HostSlice& slice, std::string_view name);
  // The program goes as it should. One that goes without is taken for dead.
  void TakeLeave() noexcept;

  // The function that the path names; 0 of a directory.
  FunctionId function() const { return function_; }
  // "free", "lockstep" or "paced"
  const std::string& time_mode() const;

 private:
  VfioUserTransport(const std::string& path, Role role, const Program& program);
  VfioUserLink& Link(FunctionId function) const;
  std::optional<std::string> Read(FunctionId function, uint32_t region, uint64_t offset,
                                  uint32_t count);
  bool Write(FunctionId function, uint32_t region, uint64_t offset, std::string_view data);
  void Took(const VfioUserLink& link);
  uint32_t ReadWord(FunctionId function, uint32_t region, uint64_t offset);
  void WriteWord(FunctionId function, uint32_t region, uint64_t offset, uint32_t value);

  mutable std::mutex mutex_;
  std::string directory_;
  FunctionId function_ = 0;
  Role role_ = Role::kDriver;
  std::string name_;  // of this client, for the card's clock
  unsigned programs_ = 1;
  mutable std::map<FunctionId, std::unique_ptr<VfioUserLink>> links_;
  IoAddress next_address_;
  // Lockstep: known until the next call that takes time, as long as nobody can have taken this
  // program for one that sleeps.
  std::optional<uint64_t> now_ps_;
  std::chrono::steady_clock::time_point known_since_;
};

}  // namespace spyre::driver
