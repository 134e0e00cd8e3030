// SPDX-License-Identifier: Apache-2.0
#include "model/dma/dma_engine.h"

#include <algorithm>
#include <cstring>

namespace spyre::model {

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
                     trace::Recorder* recorder)
    : sc_module(name),
      config_(config),
      mmu_(mmu),
      recorder_(recorder),
      in_(config.dma.channels * config.dma.outstanding_per_channel),
      out_(config.dma.channels * config.dma.outstanding_per_channel) {
  SetUp(in_, "dma.in", "dma in");
  SetUp(out_, "dma.out", "dma out");
}

void DmaEngine::SetUp(Direction& direction, const char* unit, const char* track) {
  for (Slot& slot : direction.window) {
    slot.engine = this;
    slot.direction = &direction;
    slot.buffer.resize(config_.pcie.max_read_request_bytes);
    slot.payload.info.client = &slot;
  }
  direction.statistics.name = unit;
  if (recorder_ != nullptr) direction.track = recorder_->AddTrack("card", track);
}

DmaOutcome DmaEngine::Execute(const ControlBlock& block, const bool& aborted) {
  const auto opcode = static_cast<Opcode>(block.opcode);
  const bool outward = opcode == Opcode::DMA_OUT;
  Direction& direction = outward ? out_ : in_;
  // Sizes in device memory are whole sticks; the tail of a copy that is not is padded by the
  // allocation.
  if (!IsStickAligned(block.device_address)) return {Status::MISALIGNED, block.device_address};
  const Status allowed = mmu_.CheckPhysical(block.function, block.device_address, block.size_bytes,
                                            outward ? kPermissionRead : kPermissionWrite);
  if (allowed != Status::OK) return {allowed, block.device_address};

  const uint64_t start = NowPs() + config_.dma.setup_ns * 1000;
  sc_core::wait(Ps(config_.dma.setup_ns * 1000));

  direction.status = Status::OK;
  direction.fault_address = 0;
  direction.aborted = &aborted;
  direction.last_done_ps = NowPs();
  DmaOutcome outcome;
  const uint64_t request = config_.pcie.max_read_request_bytes;
  size_t requests = 0;
  for (uint64_t offset = 0; offset < block.size_bytes; offset += request) {
    const uint64_t bytes = std::min(request, block.size_bytes - offset);
    Slot& slot = direction.window.Next();
    ++requests;
    Await(direction, slot);
    if (aborted) Fail(direction, Status::ABORTED, block.device_address + offset);
    if (direction.status != Status::OK) break;
    // Again for each request: the PF may take a region away in the middle of a copy.
    const Translation still = mmu_.Ask(block.function, block.device_address + offset, bytes,
                                       outward ? kPermissionRead : kPermissionWrite);
    if (still.status != Status::OK) {
      Fail(direction, still.status, block.device_address + offset);
      break;
    }
    (outward ? outcome.device_bytes_read : outcome.device_bytes_written) += bytes;
    Start(direction, slot, block, still.grant);
  }
  // The others have ended with the operations before.
  direction.window.ForLast(requests, [&](Slot& slot) { Await(direction, slot); });
  outcome.status = direction.status;
  outcome.fault_address = direction.fault_address;
  while (direction.last_done_ps > NowPs() && !aborted)
    sc_core::wait(Ps(direction.last_done_ps - NowPs()), woken_);
  direction.statistics.busy_ps += NowPs() - start;
  direction.statistics.bytes += block.size_bytes;
  direction.statistics.requests += 1;
  if (recorder_ != nullptr && recorder_->Wants(trace::kDma)) {
    recorder_->Slice(trace::kDma, direction.track, recorder_->Intern(OpcodeName(opcode)), start,
                     NowPs(), block.correlation, block.size_bytes, block.stream);
  }
  return outcome;
}

void DmaEngine::Start(Direction& direction, Slot& slot, const ControlBlock& block,
                      const Grant& grant) {
  const auto opcode = static_cast<Opcode>(block.opcode);
  const uint64_t bytes = grant.bytes();
  slot.host_address = block.host_address + (grant.address() - block.device_address);
  slot.device_address = grant.address();
  slot.outward = opcode == Opcode::DMA_OUT;
  Transfer& info = slot.payload.info;
  info.function = block.function;
  info.flow = block.correlation;
  info.move_data = (block.flags & kFlagTimingOnly) == 0;
  uint64_t at_memory = NowPs();
  if (opcode == Opcode::DMA_IN) {
    at_memory = HostLeg(slot, tlm::TLM_READ_COMMAND, bytes, NowPs());
    if (direction.status != Status::OK) return;
  }
  if (opcode == Opcode::DMA_FILL) {
    // Sizes that are not whole words end in part of one; the buffer has room for all of it.
    for (uint64_t i = 0; i < bytes; i += sizeof(block.value))
      std::memcpy(&slot.buffer[i], &block.value, sizeof(block.value));
  }
  slot.waiting = true;
  memory.Send(slot.payload, slot.outward ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND, grant,
              slot.buffer.data(), Ps(at_memory - NowPs()));
}

uint64_t DmaEngine::HostLeg(Slot& slot, tlm::tlm_command command, uint64_t bytes,
                            uint64_t start_ps) {
  sc_core::sc_time delay = Ps(start_ps - NowPs());
  auto& payload = slot.payload.Prepare(command, slot.host_address, slot.buffer.data(), bytes);
  host->b_transport(payload, delay);
  const uint64_t done_ps = NowPs() + delay.value();
  if (!payload.is_response_ok()) {
    Fail(*slot.direction, Status::HOST_FAULT, slot.host_address);
    slot.direction->last_done_ps = std::max(slot.direction->last_done_ps, done_ps);
  }
  return done_ps;
}

void DmaEngine::Slot::Complete(tlm::tlm_generic_payload& ended, uint64_t end_ps) {
  engine->DeviceLegDone(*this, ended.is_response_ok(), end_ps);
}

void DmaEngine::DeviceLegDone(Slot& slot, bool ok, uint64_t done_ps) {
  Direction& direction = *slot.direction;
  slot.waiting = false;
  slot.done_ps = done_ps;
  if (!ok) {
    Fail(direction, Status::BUS_ERROR, slot.device_address);
  } else if (slot.outward && *direction.aborted) {
    // Its function has been reset: host memory may be somebody else's by now.
    Fail(direction, Status::ABORTED, slot.device_address);
  } else if (slot.outward) {
    slot.done_ps =
        HostLeg(slot, tlm::TLM_WRITE_COMMAND, slot.payload.Prepared().get_data_length(), done_ps);
  }
  direction.last_done_ps = std::max(direction.last_done_ps, slot.done_ps);
  direction.window.Wake(slot);
}

void DmaEngine::Await(Direction& direction, Slot& slot) {
  direction.window.Await(slot, [](const sc_core::sc_event& event) { sc_core::wait(event); });
  if (slot.done_ps > NowPs()) sc_core::wait(Ps(slot.done_ps - NowPs()));
}

// The first failure decides the outcome; requests already sent still end.
void DmaEngine::Fail(Direction& direction, Status status, uint64_t address) {
  if (direction.status != Status::OK) return;
  direction.status = status;
  direction.fault_address = address;
}

}  // namespace spyre::model
