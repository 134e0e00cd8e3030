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
      in_(config.dma.channels * config.dma.outstanding_per_channel, config.num_vfs + 1),
      out_(config.dma.channels * config.dma.outstanding_per_channel, config.num_vfs + 1) {
  SetUp(in_, "dma.in", "dma in");
  SetUp(out_, "dma.out", "dma out");
}

void DmaEngine::SetUp(Direction& direction, const char* unit, const char* track) {
  for (Slot& slot : direction.window) {
    slot.engine = this;
    slot.buffer.resize(config_.pcie.max_read_request_bytes);
    slot.payload.info.client = &slot;
  }
  direction.statistics.name = unit;
  direction.track_name = track;
  if (recorder_ != nullptr) direction.track = recorder_->AddTrack("card", track);
}

DmaOutcome DmaEngine::Execute(const ControlBlock& block, DmaWork& work) {
  const auto opcode = static_cast<Opcode>(block.opcode);
  const bool outward = opcode == Opcode::DMA_OUT;
  Direction& direction = outward ? out_ : in_;
  // Sizes in device memory are whole sticks; the tail of a copy that is not is padded by the
  // allocation.
  if (!IsStickAligned(block.device_address)) return {Status::MISALIGNED, block.device_address};
  const Status allowed = mmu_.CheckPhysical(block.function, block.device_address, block.size_bytes,
                                            outward ? kPermissionRead : kPermissionWrite);
  if (allowed != Status::OK) return {allowed, block.device_address};

  sc_core::wait(Ps(config_.dma.setup_ns * 1000));
  const uint64_t start = NowPs();
  if (faults_.injector != nullptr) {
    FaultEvent event;
    event.function = block.function;
    event.stream = block.stream;
    event.operation = block.correlation;
    if (faults_.injector->Strike(FaultSite::kDma, event, NowPs()) != nullptr) {
      while (work.stop == Status::OK) sc_core::wait(woken_);
    }
  }
  Operation& operation = Begin(direction, block, work);
  trace::TrackId track = direction.track;
  if (recorder_ != nullptr && direction.active > 1) {  // slices of one track follow each other
    track = recorder_->AddTrack(
        "card", std::string(direction.track_name) + ", function " + std::to_string(block.function));
  }
  DmaOutcome outcome;
  const uint64_t request = config_.pcie.max_read_request_bytes;
  for (uint64_t offset = 0; offset < block.size_bytes;) {
    const uint64_t bytes = std::min(request, block.size_bytes - offset);
    while (operation.late != nullptr && !operation.late->here && work.stop == Status::OK)
      sc_core::wait(woken_);
    if (TakeTurn(direction, operation, woken_)) {
      Slot& slot = direction.window.Next();
      Await(direction, slot);
      if (work.stop != Status::OK) Fail(operation, work.stop, block.device_address + offset);
      if (operation.status != Status::OK) break;
      // Again for each request: the PF may take a region away in the middle of a copy.
      const Translation still = mmu_.Ask(block.function, block.device_address + offset, bytes,
                                         outward ? kPermissionRead : kPermissionWrite);
      if (still.status != Status::OK) {
        Fail(operation, still.status, block.device_address + offset);
        break;
      }
      if (operation.late == nullptr) {  // else it was sent before
        (outward ? work.bytes_read : work.bytes_written) += bytes;
        direction.shares.Begin(operation.function);
        direction.shares.Use(operation.function, bytes, work.cost);
      }
      Start(operation, slot, block, still.grant);
      if (operation.late == nullptr) offset += bytes;
    } else {
      Fail(operation, work.stop, block.device_address + offset);
      break;
    }
  }
  if (direction.turn == &operation) PassTurn(direction);
  operation.draining = true;
  while (operation.outstanding > 0) sc_core::wait(operation.drained);
  while (operation.last_done_ps > NowPs() && work.stop == Status::OK)
    sc_core::wait(Ps(operation.last_done_ps - NowPs()), woken_);
  outcome.status = operation.status;
  outcome.fault_address = operation.fault_address;
  End(direction, operation, block);
  if (recorder_ != nullptr && recorder_->Wants(trace::kDma)) {
    recorder_->Slice(trace::kDma, track, recorder_->Intern(OpcodeName(opcode)), start, NowPs(),
                     block.correlation, block.size_bytes, block.stream);
  }
  return outcome;
}

DmaEngine::Operation& DmaEngine::Begin(Direction& direction, const ControlBlock& block,
                                       DmaWork& work) {
  std::unique_ptr<Operation>& made = direction.operations[block.function];
  if (made == nullptr) made = std::make_unique<Operation>();
  Operation& operation = *made;
  operation.work = &work;
  operation.direction = &direction;
  operation.function = block.function;
  operation.status = Status::OK;
  operation.fault_address = 0;
  operation.last_done_ps = NowPs();
  operation.draining = false;
  operation.late.reset();
  if (direction.active++ == 0) direction.active_since_ps = NowPs();
  return operation;
}

void DmaEngine::End(Direction& direction, Operation& operation, const ControlBlock& block) {
  operation.work = nullptr;
  if (--direction.active == 0) direction.statistics.busy_ps += NowPs() - direction.active_since_ps;
  direction.statistics.bytes += block.size_bytes;
  direction.statistics.requests += 1;
}

// Ties go to who has waited: the one that has just sent goes last.
DmaEngine::Operation* DmaEngine::Next(const Direction& direction) {
  Operation* next = nullptr;
  for (Operation* waiting : direction.waiting) {
    if (next == nullptr || FairShare::Before(direction.shares.Turn(waiting->function),
                                             direction.shares.Turn(next->function)))
      next = waiting;
  }
  return next;
}

bool DmaEngine::TakeTurn(Direction& direction, Operation& operation, sc_core::sc_event& woken) {
  if (direction.turn == nullptr) direction.turn = &operation;
  const Operation* const next = Next(direction);
  if (direction.turn == &operation &&
      (next == nullptr || FairShare::Before(direction.shares.Turn(operation.function),
                                            direction.shares.Turn(next->function))))
    return true;
  direction.waiting.push_back(&operation);
  if (direction.turn == &operation) PassTurn(direction);
  while (direction.turn != &operation) {
    if (operation.work->stop != Status::OK) {
      direction.waiting.erase(
          std::find(direction.waiting.begin(), direction.waiting.end(), &operation));
      return false;
    }
    sc_core::wait(operation.turn | woken);
  }
  return true;
}

void DmaEngine::PassTurn(Direction& direction) {
  direction.turn = Next(direction);
  if (direction.turn == nullptr) return;
  direction.waiting.erase(
      std::find(direction.waiting.begin(), direction.waiting.end(), direction.turn));
  direction.turn->turn.notify();
}

void DmaEngine::Start(Operation& operation, Slot& slot, const ControlBlock& block, Grant grant) {
  const auto opcode = static_cast<Opcode>(block.opcode);
  const uint64_t bytes = grant.bytes();
  slot.operation = &operation;
  slot.host_address = block.host_address + (grant.address() - block.device_address);
  slot.device_address = grant.address();
  slot.outward = opcode == Opcode::DMA_OUT;
  Transfer& info = slot.payload.info;
  info.function = block.function;
  info.flow = block.correlation;
  info.move_data = (block.flags & kFlagTimingOnly) == 0;
  uint64_t at_memory = NowPs();
  if (opcode == Opcode::DMA_IN) {
    info.transient = false;
    info.late = std::move(operation.late);
    at_memory = HostLeg(slot, tlm::TLM_READ_COMMAND, bytes, NowPs());
    for (uint64_t again = 0;
         info.transient && !info.unanswered() && again < config_.pcie.read_retries; ++again) {
      slot.waiting = true;  // it stays this request's, while others send
      if (operation.direction->turn == &operation) PassTurn(*operation.direction);
      while (NowPs() < at_memory && operation.work->stop == Status::OK)
        sc_core::wait(Ps(at_memory - NowPs()), woken_);
      if (!TakeTurn(*operation.direction, operation, woken_)) {
        Fail(operation, operation.work->stop, slot.device_address);
        break;
      }
      at_memory = HostLeg(slot, tlm::TLM_READ_COMMAND, bytes, NowPs());
    }
    if (info.unanswered()) {  // until then others send, by every slot
      operation.late = std::move(info.late);
      operation.late->told = [this] { woken_.notify(sc_core::SC_ZERO_TIME); };
      slot.waiting = false;
      operation.direction->window.Wake(slot);
      if (operation.direction->turn == &operation) PassTurn(*operation.direction);
      return;
    }
    if (!slot.payload.Prepared().is_response_ok()) {
      Fail(operation, Status::HOST_FAULT, slot.host_address);
      operation.last_done_ps = std::max(operation.last_done_ps, at_memory);
    }
    if (operation.status == Status::OK && !grant.stands()) {  // something was taken away meanwhile
      const Translation still =
          mmu_.Ask(operation.function, slot.device_address, bytes, kPermissionWrite);
      if (still.status == Status::OK) {
        grant = still.grant;
      } else {
        Fail(operation, still.status, slot.device_address);
      }
    }
    if (operation.status != Status::OK) {
      slot.waiting = false;
      operation.direction->window.Wake(slot);
      return;
    }
  }
  if (opcode == Opcode::DMA_FILL) {
    // Sizes that are not whole words end in part of one; the buffer has room for all of it.
    for (uint64_t i = 0; i < bytes; i += sizeof(block.value))
      std::memcpy(&slot.buffer[i], &block.value, sizeof(block.value));
  }
  slot.waiting = true;
  ++operation.outstanding;
  memory.Send(slot.payload, slot.outward ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND, grant,
              slot.buffer.data(), Ps(at_memory - NowPs()));
}

uint64_t DmaEngine::HostLeg(Slot& slot, tlm::tlm_command command, uint64_t bytes,
                            uint64_t start_ps) {
  sc_core::sc_time delay = Ps(start_ps - NowPs());
  auto& payload = slot.payload.Prepare(command, slot.host_address, slot.buffer.data(), bytes);
  host->b_transport(payload, delay);
  return NowPs() + delay.value();
}

void DmaEngine::Slot::Complete(tlm::tlm_generic_payload& ended, uint64_t end_ps) {
  engine->DeviceLegDone(*this, ended.is_response_ok(), end_ps);
}

void DmaEngine::DeviceLegDone(Slot& slot, bool ok, uint64_t done_ps) {
  Operation& operation = *slot.operation;
  slot.waiting = false;
  slot.done_ps = done_ps;
  if (!ok) {
    Fail(operation, Status::BUS_ERROR, slot.device_address);
  } else if (slot.outward && operation.work->stop != Status::OK) {
    // Its function may have been reset: host memory may be somebody else's by now.
    Fail(operation, operation.work->stop, slot.device_address);
  } else if (slot.outward) {
    slot.done_ps =
        HostLeg(slot, tlm::TLM_WRITE_COMMAND, slot.payload.Prepared().get_data_length(), done_ps);
    if (!slot.payload.Prepared().is_response_ok())
      Fail(operation, Status::HOST_FAULT, slot.host_address);
  }
  operation.last_done_ps = std::max(operation.last_done_ps, slot.done_ps);
  ++operation.work->answered;
  --operation.outstanding;
  operation.direction->window.Wake(slot);
  if (operation.draining && operation.outstanding == 0) operation.drained.notify();
}

void DmaEngine::Await(Direction& direction, Slot& slot) {
  direction.window.Await(slot, [](const sc_core::sc_event& event) { sc_core::wait(event); });
  if (slot.done_ps > NowPs()) sc_core::wait(Ps(slot.done_ps - NowPs()));
}

// The first failure decides the outcome; requests already sent still end.
void DmaEngine::Fail(Operation& operation, Status status, uint64_t address) {
  if (operation.status != Status::OK) return;
  operation.status = status;
  operation.fault_address = address;
}

}  // namespace spyre::model
