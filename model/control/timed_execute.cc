// SPDX-License-Identifier: Apache-2.0
// The timed control-block processor's second half: choosing what runs, running it, and answering.
#include <algorithm>

#include "model/control/timed_control_processor.h"

namespace spyre::model {

bool TimedControlProcessor::Failed(const FunctionState& state, uint32_t stream) {
  return state.all_failed || state.failed_streams.count(stream) != 0;
}

void TimedControlProcessor::MarkFailed(FunctionState& state, uint32_t stream) {
  if (Failed(state, stream)) return;
  if (state.failed_streams.size() == kHeldOperations) {
    state.all_failed = true;
  } else {
    state.failed_streams.insert(stream);
  }
}

bool TimedControlProcessor::Reached(const FunctionState& state, uint64_t event) {
  return state.events[EventSlot(event)].counter >= EventCounter(event);
}

// The oldest operation that may start: its stream has nothing older, its engine is free, its event
// (if it waits for one) is reached or has failed, and no barrier or fence holds it.
TimedControlProcessor::OperationPtr TimedControlProcessor::NextEligible() const {
  const bool serial = config_.concurrency == Concurrency::kSerial;
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
    const std::pair<unsigned, uint32_t> stream{function, operation->block.stream};
    const bool first_of_stream = taken.count(stream) == 0;
    const bool engine_free =
        operation->engine == kImmediate || running_[operation->engine] == nullptr;
    const FunctionState& state = functions_[function];
    // In a failed stream it waits for nothing: it will be answered ABORTED.
    const uint64_t event = operation->block.value;
    const bool event_decided = operation->refused || opcode != Opcode::EVENT_WAIT ||
                               Reached(state, event) || state.events[EventSlot(event)].poisoned ||
                               Failed(state, operation->block.stream);
    const bool alone = !barrier || functions_with_older.count(function) == 0;
    if (first_of_stream && engine_free && event_decided && alone && fenced.count(function) == 0)
      return operation;
    taken.insert(stream);
    functions_with_older.insert(function);
    if (barrier) fenced.insert(function);
  }
  return nullptr;
}

void TimedControlProcessor::Issue() {
  for (;;) {
    const OperationPtr operation = NextEligible();
    if (operation == nullptr) {
      wait(pending_changed_ | engine_done_);
      continue;
    }
    pending_.erase(std::find(pending_.begin(), pending_.end(), operation));
    operation->name = OpcodeName(static_cast<Opcode>(operation->block.opcode));
    FunctionState& state = functions_[operation->function];
    const bool failed = Failed(state, operation->block.stream);
    if (failed || operation->engine == kImmediate) {
      operation->response.started_ps = NowPs();
      if (!operation->refused && failed) {
        operation->response.status = static_cast<uint16_t>(Status::ABORTED);
        if (static_cast<Opcode>(operation->block.opcode) == Opcode::EVENT_SIGNAL)
          state.events[EventSlot(operation->block.value)].poisoned = true;
      } else if (!operation->refused) {
        RunImmediate(state, *operation);
      }
      Finish(operation);
    } else {
      running_[operation->engine] = operation;
      start_[operation->engine].notify(sc_core::SC_ZERO_TIME);
    }
  }
}

void TimedControlProcessor::RunEngine(Engine engine) {
  for (;;) {
    if (running_[engine] == nullptr) sc_core::wait(start_[engine]);
    const OperationPtr operation = running_[engine];
    sc_core::wait(Ps(config_.control.dispatch_ns * 1000));
    operation->response.started_ps = NowPs();
    Run(*operation);
    running_[engine] = nullptr;
    Finish(operation);
  }
}

void TimedControlProcessor::RunImmediate(FunctionState& state, HeldOperation& operation) {
  const auto opcode = static_cast<Opcode>(operation.block.opcode);
  const uint64_t event = operation.block.value;
  if (opcode == Opcode::EVENT_SIGNAL) {
    uint64_t& counter = state.events[EventSlot(event)].counter;
    counter = std::max(counter, EventCounter(event));
  } else if (opcode == Opcode::EVENT_WAIT && !Reached(state, event)) {
    operation.response.status = static_cast<uint16_t>(Status::EVENT_FAILED);
    operation.response.fault_address = event;
  }
}

void TimedControlProcessor::Finish(const OperationPtr& operation) {
  FunctionState& state = functions_[operation->function];
  operation->response.finished_ps = NowPs();
  if (operation->generation == state.generation) {
    if (static_cast<Status>(operation->response.status) != Status::OK) {
      MarkFailed(state, operation->block.stream);
    }
    finished_.push_back(operation);
    finished_changed_.notify(sc_core::SC_ZERO_TIME);
  }
  Trace(*operation);
  engine_done_.notify(sc_core::SC_ZERO_TIME);
}

bool TimedControlProcessor::InService(const OperationPtr& operation) const {
  return operation->generation == functions_[operation->function].generation;
}

// The oldest finished operation whose function has room for its response: software that does not
// consume responses holds up itself only. Operations of an earlier life are dropped here.
TimedControlProcessor::OperationPtr TimedControlProcessor::NextAnswerable() {
  const auto gone = [this](const OperationPtr& operation) { return !InService(operation); };
  finished_.erase(std::remove_if(finished_.begin(), finished_.end(), gone), finished_.end());
  for (const OperationPtr& operation : finished_) {
    if (HasRoom(functions_[operation->function].queue, functions_[operation->function].posted))
      return operation;
  }
  return nullptr;
}

void TimedControlProcessor::Respond() {
  for (;;) {
    const OperationPtr operation = NextAnswerable();
    if (operation == nullptr) {
      wait(finished_changed_ | space_);
      continue;
    }
    wait(Ps(config_.control.respond_ns * 1000));
    FunctionState& state = functions_[operation->function];
    if (!InService(operation) || !HasRoom(state.queue, state.posted))
      continue;  // changed meanwhile
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
    if (!WriteResponse(operation->function, queue, queue.response_base + slot * kEntryBytes,
                       response)) {
      StopQueue(operation->function, Status::HOST_FAULT);
    } else if ((operation->block.flags & kFlagInterrupt) != 0 ||
               static_cast<Status>(response.status) != Status::OK) {
      Interrupt(operation->function, kCauseResponse);
    }
  }
}

}  // namespace spyre::model
