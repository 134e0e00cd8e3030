// SPDX-License-Identifier: Apache-2.0
// ProgramReplicas: a loaded program several times in device memory. Correction patches a program,
// so a program in one place is for one launch after the other; with replicas, the next launch is
// corrected while this one computes.
//
// Made by LoadPlan, shared by the plan's Operations. A replica is an allocation of the program's
// size, made and loaded when a launch first needs it; it stays for later launches and is freed with
// the plan and the last launch that uses it. The plan's own allocation is none of them.
// Threads: caller holds the lock of the runtime. Sizes in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/flex/event.h"
#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_code.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

class ProgramReplica {
 public:
  ProgramReplica(flex::RuntimeContext& context, uint64_t size_bytes)
      : storage_(context, size_bytes, flex::MemoryKind::kProgram) {}

  const DeviceHandle& handle() const { return storage_.handle(); }
  // A use is over when these events are complete or have failed; the last comes after the others.
  void set_ends(std::vector<flex::Event> ends) { ends_ = std::move(ends); }

 private:
  friend class ProgramReplicas;
  bool IsFree() const;
  bool IsUsedBy(uint32_t caller) const;

  DeviceStorage storage_;
  std::optional<flex::Event> loaded_;  // recorded behind the copies that load it
  std::vector<flex::Event> ends_;      // of its last use
  uint32_t caller_ = 0;
  bool taken_ = false;
};

class ProgramReplicas {
 public:
  // `home`: the plan's own allocation, of `size_bytes`.
  ProgramReplicas(std::string name, std::vector<InitPacket> packets, const DeviceHandle& home,
                  uint64_t size_bytes);

  // A replica for work of `caller`, until Return: one that nothing uses, or only what `caller` has
  // enqueued before (not while that is captured: a replay comes after anything), otherwise a new
  // one. What a capture takes stays the captured graph's. BadInput when memory is exhausted.
  std::shared_ptr<ProgramReplica> Take(const flex::FlexStream& caller);
  void Return(const std::shared_ptr<ProgramReplica>& replica);  // freed if it was never loaded

  // What comes before a new use, on the stream of its first operation: waits for the last use, and
  // the copies of the program if it is not there yet. `ends` are those of the new use.
  void Begin(flex::FlexStream& stream, const std::shared_ptr<ProgramReplica>& replica,
             std::vector<flex::Event> ends) const;

  // An Operation of the plan, on a replica, which it keeps. BadInput if it copies to the host:
  // there is one host buffer for all launches.
  Operation On(const Operation& operation, const std::shared_ptr<ProgramReplica>& replica) const;

  uint64_t size_bytes() const { return size_bytes_; }
  size_t count() const { return replicas_.size(); }

 private:
  DeviceHandle Moved(const DeviceHandle& handle, const ProgramReplica& to) const;

  std::string name_;
  std::vector<InitPacket> packets_;
  DeviceHandle home_;
  uint64_t size_bytes_;
  std::vector<std::shared_ptr<ProgramReplica>> replicas_;
};

}  // namespace spyre::runtime
