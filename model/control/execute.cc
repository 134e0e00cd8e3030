// The control-block processor's second half: choosing what runs, running it, and answering.
#include <fmt/format.h>

#include <algorithm>

#include "model/control/control_processor.h"

namespace spyre::model {

ControlProcessor::Engine ControlProcessor::EngineOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::DMA_IN:
    case Opcode::DMA_FILL:
      return kDmaIn;
    case Opcode::DMA_OUT:
      return kDmaOut;
    case Opcode::COMPUTE:
      return kCompute;
    default:
      return kImmediate;
  }
}

// The oldest operation that may start: its stream has nothing older, its engine is free, its event
// (if it waits for one) is set, and no barrier or fence holds it.
ControlProcessor::OperationPtr ControlProcessor::NextEligible() const {
  const bool serial = config_.concurrency == "serial";
  const auto busy = [](const OperationPtr& operation) { return operation != nullptr; };
  if (serial && std::any_of(running_.begin(), running_.end(), busy)) return nullptr;
  std::set<std::pair<unsigned, uint32_t>> taken;  // streams with older work
  std::set<unsigned> functions_with_older;
  std::set<unsigned> fenced;  // functions behind a barrier that has not started
  for (const OperationPtr& operation : running_) {
    if (operation == nullptr) continue;
    taken.emplace(operation->function, operation->block.stream);
    functions_with_older.insert(operation->function);
  }
  for (const OperationPtr& operation : pending_) {
    const unsigned function = operation->function;
    const auto opcode = static_cast<Opcode>(operation->block.opcode);
    const bool barrier = !operation->refused &&
                         (opcode == Opcode::FENCE || (operation->block.flags & kFlagBarrier) != 0);
    const bool first_of_stream = taken.emplace(function, operation->block.stream).second;
    const bool engine_free =
        operation->engine == kImmediate || running_[operation->engine] == nullptr;
    const FunctionState& state = functions_[function];
    // In a failed stream it waits for nothing: it will be answered ABORTED.
    const bool event_set = operation->refused || opcode != Opcode::EVENT_WAIT ||
                           state.events.count(operation->block.value) != 0 ||
                           state.failed_streams.count(operation->block.stream) != 0;
    const bool alone = !barrier || functions_with_older.count(function) == 0;
    if (first_of_stream && engine_free && event_set && alone && fenced.count(function) == 0)
      return operation;
    functions_with_older.insert(function);
    if (barrier) fenced.insert(function);
  }
  return nullptr;
}

void ControlProcessor::Issue() {
  for (;;) {
    const OperationPtr operation = NextEligible();
    if (operation == nullptr) {
      wait(pending_changed_ | engine_done_);
      continue;
    }
    pending_.erase(std::find(pending_.begin(), pending_.end(), operation));
    operation->name = OpcodeName(static_cast<Opcode>(operation->block.opcode));
    const FunctionState& state = functions_[operation->function];
    const bool failed = state.failed_streams.count(operation->block.stream) != 0;
    if (failed || operation->engine == kImmediate) {
      operation->response.started_ps = NowPs();
      if (!operation->refused && failed) {
        operation->response.status = static_cast<uint16_t>(Status::ABORTED);
      } else if (!operation->refused) {
        RunImmediate(*operation);
      }
      Finish(operation);
    } else {
      running_[operation->engine] = operation;
      start_[operation->engine].notify(sc_core::SC_ZERO_TIME);
    }
  }
}

void ControlProcessor::RunEngine(Engine engine) {
  for (;;) {
    if (running_[engine] == nullptr) sc_core::wait(start_[engine]);
    const OperationPtr operation = running_[engine];
    sc_core::wait(Ps(config_.control.dispatch_ns * 1000));
    operation->response.started_ps = NowPs();
    if (engine == kCompute) {
      RunCompute(*operation);
    } else {
      RunDma(*operation);
    }
    running_[engine] = nullptr;
    Finish(operation);
  }
}

void ControlProcessor::RunImmediate(Operation& operation) {
  if (static_cast<Opcode>(operation.block.opcode) == Opcode::EVENT_SIGNAL) {
    functions_[operation.function].events.insert(operation.block.value);
  }
}

void ControlProcessor::RunDma(Operation& operation) {
  const DmaOutcome outcome = dma_.Execute(operation.block, operation.aborted);
  operation.response.status = static_cast<uint16_t>(outcome.status);
  operation.response.fault_address = outcome.fault_address;
  operation.response.device_bytes_read = outcome.device_bytes_read;
  operation.response.device_bytes_written = outcome.device_bytes_written;
}

void ControlProcessor::RunCompute(Operation& operation) {
  Job job;
  operation.job = &job;
  if (operation.aborted) job.Fault(Status::ABORTED, 0, kNoCore);
  dispatcher_.Execute(operation.block, job);
  operation.job = nullptr;
  if (job.program != nullptr) operation.name = fmt::format("COMPUTE {}", job.program->name);
  operation.response.status = static_cast<uint16_t>(job.status);
  operation.response.fault_address = job.status == Status::OK ? 0 : job.fault_address;
  operation.response.fault_core = job.fault_core;
  operation.response.device_bytes_read = job.bytes_read;
  operation.response.device_bytes_written = job.bytes_written;
  operation.response.macs = job.macs;
}

void ControlProcessor::Finish(const OperationPtr& operation) {
  FunctionState& state = functions_[operation->function];
  operation->response.finished_ps = NowPs();
  if (operation->generation == state.generation) {
    if (static_cast<Status>(operation->response.status) != Status::OK) {
      state.failed_streams.insert(operation->block.stream);
    }
    finished_.push_back(operation);
    finished_changed_.notify(sc_core::SC_ZERO_TIME);
  }
  if (recorder_ != nullptr) {
    const Response& response = operation->response;
    const auto track =
        recorder_->AddTrack("card", fmt::format("stream {}", operation->block.stream));
    const uint64_t bytes = operation->engine == kCompute
                               ? response.device_bytes_read + response.device_bytes_written
                               : operation->block.size_bytes;
    recorder_->Slice(trace::kControl, track, recorder_->Intern(operation->name),
                     response.started_ps, response.finished_ps, operation->block.correlation, bytes,
                     operation->block.stream);
  }
  engine_done_.notify(sc_core::SC_ZERO_TIME);
}

bool ControlProcessor::InService(const OperationPtr& operation) const {
  return operation->generation == functions_[operation->function].generation;
}

bool ControlProcessor::HasRoom(const FunctionState& state) {
  return state.posted - state.queue.response_head < state.queue.response_entries;
}

// The oldest finished operation whose function has room for its response: software that does not
// consume responses holds up itself only. Operations of an earlier life are dropped here.
ControlProcessor::OperationPtr ControlProcessor::NextAnswerable() {
  const auto gone = [this](const OperationPtr& operation) { return !InService(operation); };
  finished_.erase(std::remove_if(finished_.begin(), finished_.end(), gone), finished_.end());
  for (const OperationPtr& operation : finished_) {
    if (HasRoom(functions_[operation->function])) return operation;
  }
  return nullptr;
}

void ControlProcessor::Respond() {
  for (;;) {
    const OperationPtr operation = NextAnswerable();
    if (operation == nullptr) {
      wait(finished_changed_ | space_);
      continue;
    }
    wait(Ps(config_.control.respond_ns * 1000));
    FunctionState& state = functions_[operation->function];
    if (!InService(operation) || !HasRoom(state)) continue;  // changed meanwhile
    const QueueRegisters& queue = state.queue;
    Response& response = operation->response;
    response.phase = (state.posted / queue.response_entries) % 2 == 0 ? 1 : 0;
    response.posted_ps = NowPs();
    Seal(response);
    const uint64_t slot = state.posted % queue.response_entries;
    ++state.posted;
    finished_.erase(std::find(finished_.begin(), finished_.end(), operation));
    --state.held;
    answered_.notify(sc_core::SC_ZERO_TIME);
    if (!HostAccess(tlm::TLM_WRITE_COMMAND, operation->function,
                    queue.response_base + slot * kEntryBytes, &response, kEntryBytes)) {
      StopQueue(operation->function, Status::HOST_FAULT);
    } else if ((operation->block.flags & kFlagInterrupt) != 0 ||
               static_cast<Status>(response.status) != Status::OK) {
      on_interrupt_(operation->function, 1u << 0);
    }
  }
}

}  // namespace spyre::model
