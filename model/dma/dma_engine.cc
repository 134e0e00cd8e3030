#include "model/dma/dma_engine.h"

#include <algorithm>
#include <cstring>

namespace spyre::model {

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
                     trace::Recorder* recorder)
    : sc_module(name), config_(config), mmu_(mmu), recorder_(recorder) {
  const auto setup = [&](Direction& direction, const char* unit, const char* track) {
    direction.in_flight.assign(config.dma.channels * config.dma.outstanding_per_channel, 0);
    direction.buffer.resize(config.pcie.max_read_request_bytes);
    direction.statistics.name = unit;
    if (recorder != nullptr) direction.track = recorder->AddTrack("card", track);
  };
  setup(in_, "dma.in", "dma in");
  setup(out_, "dma.out", "dma out");
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

  direction.payload.info.function = block.function;
  direction.payload.info.flow = block.correlation;
  direction.payload.info.move_data = (block.flags & kFlagTimingOnly) == 0;
  const uint64_t start = NowPs() + config_.dma.setup_ns * 1000;
  sc_core::wait(Ps(config_.dma.setup_ns * 1000));
  if (opcode == Opcode::DMA_FILL) {
    for (size_t i = 0; i < direction.buffer.size(); i += sizeof(block.value)) {
      std::memcpy(&direction.buffer[i], &block.value, sizeof(block.value));
    }
  }

  DmaOutcome outcome;
  uint64_t last_done = NowPs();
  const uint64_t request = config_.pcie.max_read_request_bytes;
  const uint64_t quantum = config_.core.quantum_ns * 1000;
  uint64_t issue = NowPs();
  for (uint64_t offset = 0; offset < block.size_bytes; offset += request) {
    const uint64_t bytes = std::min(request, block.size_bytes - offset);
    issue = std::max(issue, direction.in_flight[direction.next]);
    if (issue > NowPs() + quantum) sc_core::wait(Ps(issue - NowPs()));
    if (aborted) return {Status::ABORTED, block.device_address + offset};
    // Again for each request: the PF may take a region away in the middle of a copy.
    outcome.status = mmu_.CheckPhysical(block.function, block.device_address + offset, bytes,
                                        outward ? kPermissionRead : kPermissionWrite);
    if (outcome.status != Status::OK) {
      outcome.fault_address = block.device_address + offset;
      break;
    }
    uint64_t done = issue;
    outcome.status = Move(direction, block, offset, bytes, &done);
    if (outcome.status != Status::OK) {
      outcome.fault_address =
          (outcome.status == Status::HOST_FAULT ? block.host_address : block.device_address) +
          offset;
      break;
    }
    direction.in_flight[direction.next] = done;
    direction.next = (direction.next + 1) % direction.in_flight.size();
    last_done = std::max(last_done, done);
    (outward ? outcome.device_bytes_read : outcome.device_bytes_written) += bytes;
  }
  if (last_done > NowPs()) sc_core::wait(Ps(last_done - NowPs()));
  direction.statistics.busy_ps += NowPs() - start;
  direction.statistics.bytes += block.size_bytes;
  direction.statistics.requests += 1;
  if (recorder_ != nullptr && recorder_->Wants(trace::kDma)) {
    recorder_->Slice(trace::kDma, direction.track, recorder_->Intern(OpcodeName(opcode)), start,
                     NowPs(), block.correlation, block.size_bytes, block.stream);
  }
  return outcome;
}

Status DmaEngine::Move(Direction& direction, const ControlBlock& block, uint64_t offset,
                       uint64_t bytes, uint64_t* done_ps) {
  sc_core::sc_time delay = Ps(*done_ps - std::min(*done_ps, NowPs()));
  const uint64_t host_address = block.host_address + offset;
  const uint64_t device_address = block.device_address + offset;
  switch (static_cast<Opcode>(block.opcode)) {
    case Opcode::DMA_IN:
      if (!Leg(host, direction, tlm::TLM_READ_COMMAND, host_address, bytes, delay))
        return Status::HOST_FAULT;
      if (!Leg(memory, direction, tlm::TLM_WRITE_COMMAND, device_address, bytes, delay))
        return Status::BUS_ERROR;
      break;
    case Opcode::DMA_OUT:
      if (!Leg(memory, direction, tlm::TLM_READ_COMMAND, device_address, bytes, delay))
        return Status::BUS_ERROR;
      if (!Leg(host, direction, tlm::TLM_WRITE_COMMAND, host_address, bytes, delay))
        return Status::HOST_FAULT;
      break;
    default:
      if (!Leg(memory, direction, tlm::TLM_WRITE_COMMAND, device_address, bytes, delay))
        return Status::BUS_ERROR;
      break;
  }
  *done_ps = NowPs() + delay.value();
  return Status::OK;
}

bool DmaEngine::Leg(tlm_utils::simple_initiator_socket<DmaEngine>& socket, Direction& direction,
                    tlm::tlm_command command, uint64_t address, uint64_t bytes,
                    sc_core::sc_time& delay) {
  auto& payload = direction.payload.Prepare(command, address, direction.buffer.data(), bytes);
  socket->b_transport(payload, delay);
  return payload.is_response_ok();
}

}  // namespace spyre::model
