// SPDX-License-Identifier: Apache-2.0
// The timed control-block processor's second half: choosing what runs, running it, and answering.
#include <algorithm>
#include <cstdint>

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

bool TimedControlProcessor::Runs(unsigned function) const {
  bool runs = false;
  ForRunning([&](const HeldOperation& operation) { runs |= operation.function == function; });
  return runs;
}

size_t TimedControlProcessor::PoolOf(const HeldOperation& operation) const {
  if (operation.engine == kImmediate) return kPools;
  if (config_.concurrency == Concurrency::kSerial || operation.engine == kCompute) return 0;
  return operation.engine == kPrepare ? 1 : kPools;
}

unsigned TimedControlProcessor::PortFor(const HeldOperation& operation) const {
  switch (operation.engine) {
    case kDmaIn:
      return operation.function;
    case kDmaOut:
      return kDmaOutPort + operation.function;
    case kPrepare:
      return kPreparePort;
    default:
      return ComputePortFor(operation.function);
  }
}

unsigned TimedControlProcessor::ComputePortFor(unsigned function) const {
  unsigned free = kPorts, programs = 0;
  for (unsigned port = kComputePort + compute_ports(); port-- > kComputePort;) {
    if ((busy_ >> port & 1) == 0) {
      free = port;
    } else if (ports_[port]->running->function == function) {
      ++programs;
    }
  }
  return programs < MostPrograms(function) ? free : kPorts;
}

bool TimedControlProcessor::HasPlace(const HeldOperation& operation) const {
  if (config_.concurrency == Concurrency::kSerial) {
    if (busy_ == 0) return true;
    // Copies of others do not keep it waiting.
    const bool waits_for_nothing = operation.engine != kCompute && operation.engine != kPrepare;
    return waits_for_nothing && (busy_ & ~kDmaPorts) == 0 && !Runs(operation.function);
  }
  if (operation.engine == kImmediate) return true;
  const unsigned port = PortFor(operation);
  return port < kPorts && (busy_ >> port & 1) == 0;
}

// The operation that is to start. One that may: its stream has nothing older, its engine is free,
// its event (if it waits for one) is reached or has failed, and no barrier or fence holds it. Of
// several functions that need the same engine, the first of the one whose turn it is; else the
// oldest.
TimedControlProcessor::OperationPtr TimedControlProcessor::NextEligible() const {
  const bool serial = config_.concurrency == Concurrency::kSerial;
  if (serial && (busy_ & ~kDmaPorts) != 0) return nullptr;
  struct Choice {
    const OperationPtr* operation = nullptr;
    uint64_t turn = 0;
    size_t place = SIZE_MAX;  // in pending_
  };
  std::array<Choice, kPools + 1> choices;         // of each pool, and of what needs no turn
  std::set<std::pair<unsigned, uint32_t>> taken;  // streams with older work
  std::set<unsigned> functions_with_older;
  std::set<unsigned> fenced;  // functions behind a barrier that has not started
  std::set<unsigned> met;     // functions of which one may start
  ForRunning([&](const HeldOperation& operation) {
    taken.emplace(operation.function, operation.block.stream);
    functions_with_older.insert(operation.function);
  });
  for (size_t place = 0; place < pending_.size(); ++place) {
    const OperationPtr& operation = pending_[place];
    const unsigned function = operation->function;
    const auto opcode = static_cast<Opcode>(operation->block.opcode);
    const bool barrier = !operation->refused &&
                         (opcode == Opcode::FENCE || (operation->block.flags & kFlagBarrier) != 0);
    const std::pair<unsigned, uint32_t> stream{function, operation->block.stream};
    const bool first_of_stream = taken.count(stream) == 0;
    const FunctionState& state = functions_[function];
    // In a failed stream it waits for nothing: it will be answered ABORTED.
    const uint64_t event = operation->block.value;
    const bool event_decided = operation->refused || opcode != Opcode::EVENT_WAIT ||
                               Reached(state, event) || state.events[EventSlot(event)].poisoned ||
                               Failed(state, operation->block.stream);
    const bool alone = !barrier || functions_with_older.count(function) == 0;
    bool ready = first_of_stream && event_decided && alone && fenced.count(function) == 0;
    // Serial hardware keeps the order of a function also where its first operation has no turn yet.
    if (serial && ready) ready = met.insert(function).second;
    // A function that has its turn, as something of it is at work, keeps no other one waiting. On
    // serial hardware a program does, as it needs the whole card.
    const size_t pool = PoolOf(*operation);
    if (ready && (serial && pool < kPools ? !Runs(function) : HasPlace(*operation))) {
      if (pending_functions_ == 1 && HasPlace(*operation)) return operation;
      Choice& choice = choices[pool];
      const uint64_t turn = pool < kPools ? pools_[pool].Turn(function) : 0;
      if (choice.operation == nullptr || (pool < kPools && FairShare::Before(turn, choice.turn)))
        choice = {&operation, turn, place};
    }
    taken.insert(stream);
    functions_with_older.insert(function);
    if (barrier) fenced.insert(function);
  }
  const Choice* first = nullptr;
  for (const Choice& choice : choices) {
    if (choice.operation != nullptr && HasPlace(**choice.operation) &&
        (first == nullptr || choice.place < first->place))
      first = &choice;
  }
  return first != nullptr ? *first->operation : nullptr;
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
    if (--state.pending == 0) --pending_functions_;
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
      Start(operation);
    }
  }
}

void TimedControlProcessor::Start(const OperationPtr& operation) {
  const size_t pool = PoolOf(*operation);
  if (pool < kPools) pools_[pool].Begin(operation->function);
  operation->port = PortFor(*operation);
  std::unique_ptr<Port>& port = ports_[operation->port];
  if (port == nullptr) {
    port = std::make_unique<Port>();
    sc_core::sc_spawn([this, made = port.get()] { RunPort(*made); },
                      PortName(operation->port).c_str());
  }
  port->running = operation;
  busy_ |= 1ull << operation->port;
  port->start.notify(sc_core::SC_ZERO_TIME);
}

void TimedControlProcessor::RunPort(Port& port) {
  sc_core::wait(port.start);  // a new thread runs at once, and its first operation starts as others
  for (;;) {
    if (port.running == nullptr) sc_core::wait(port.start);
    const OperationPtr operation = port.running;
    sc_core::wait(Ps(config_.control.dispatch_ns * 1000));
    operation->response.started_ps = NowPs();
    Run(*operation);
    port.running = nullptr;
    busy_ &= ~(1ull << operation->port);
    const size_t pool = PoolOf(*operation);
    if (pool < kPools) {
      pools_[pool].Use(operation->function,
                       FairShare::AmountOf(NowPs() - operation->response.started_ps),
                       shares().cost(operation->function));
    }
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
