// SPDX-License-Identifier: Apache-2.0
#include "model/control/timed_control_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/ranges.h"

namespace spyre::model {

TimedControlProcessor::TimedControlProcessor(const sc_core::sc_module_name& name,
                                             const CardConfig& config, const Blocks& blocks,
                                             trace::Recorder* recorder)
    : ControlProcessor(name, config, blocks, recorder),
      functions_(config.num_vfs + 1),
      pools_{FairShare(config.num_vfs + 1), FairShare(config.num_vfs + 1)} {
  SC_HAS_PROCESS(TimedControlProcessor);
  SC_THREAD(Fetch);
  SC_THREAD(Issue);
  SC_THREAD(Respond);
}

// ---------------------------------------------------------------- register side

void TimedControlProcessor::Doorbell(unsigned function, const sc_core::sc_time& arrival) {
  FunctionState& state = functions_[function];
  if (!state.queue.enabled) {  // the queue is off; enabling shows the tail of that moment
    state.doorbells.clear();
    return;
  }
  state.doorbells.emplace_back(state.queue.submission_tail, NowPs() + arrival.value());
  doorbell_.notify(arrival);
}

void TimedControlProcessor::ResponsesConsumed(unsigned function, const sc_core::sc_time& arrival) {
  const FunctionState& state = functions_[function];
  // More responses taken than were posted: there will never be room again.
  if (state.queue.enabled &&
      state.posted - state.queue.response_head > state.queue.response_entries) {
    StopQueue(function, Status::BAD_FIELD);
  }
  space_.notify(arrival);
}

void TimedControlProcessor::DropFunction(unsigned function) {
  FunctionState& state = functions_[function];
  if (state.pending > 0) --pending_functions_;
  const uint64_t generation = state.generation + 1;
  state = FunctionState();
  state.generation = generation;
  const auto of_function = [&](const OperationPtr& operation) {
    return operation->function == function;
  };
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), of_function), pending_.end());
  ForRunning([function](HeldOperation& operation) {
    if (operation.function == function) Stop(operation, Status::ABORTED);
  });
  pending_changed_.notify(sc_core::SC_ZERO_TIME);
  space_.notify(sc_core::SC_ZERO_TIME);
}

bool TimedControlProcessor::busy(unsigned function) const {
  const auto mine = [&](const OperationPtr& operation) { return operation->function == function; };
  const FunctionState& state = functions_[function];
  return state.fetched != state.queue.submission_tail || state.pending > 0 || Runs(function) ||
         AnyFits(finished_, mine);
}

void TimedControlProcessor::StopQueue(unsigned function, Status why) {
  functions_[function].error = why;
  functions_[function].queue.enabled = false;
  Interrupt(function, kCauseError);
}

// ---------------------------------------------------------------- fetch

void TimedControlProcessor::Fetch() {
  for (;;) {
    bool progress = false;
    for (size_t i = 0; i < functions_.size(); ++i) {
      const size_t function = next_function_;
      next_function_ = (next_function_ + 1) % functions_.size();
      progress |= FetchFrom(static_cast<unsigned>(function));
    }
    if (!progress) wait(doorbell_ | answered_ | accepting_changed_);
  }
}

bool TimedControlProcessor::FetchFrom(unsigned function) {
  FunctionState& state = functions_[function];
  // Only entries whose doorbell has arrived.
  while (state.doorbells.size() > 1 && state.doorbells[0].first == state.fetched)
    state.doorbells.pop_front();
  if (!state.queue.enabled || state.doorbells.empty() || state.held >= kHeldOperations ||
      !Accepting(function)) {
    return false;
  }
  const auto [tail, arrival] = state.doorbells.front();
  if (arrival > NowPs()) {
    doorbell_.notify(Ps(arrival - NowPs()));  // an event keeps only its earliest notification
    return false;
  }
  if (tail == state.fetched) return false;
  if (!state.aside.Over()) {
    if (state.aside.asked == nullptr) doorbell_.notify(Ps(state.aside.EndPs() - NowPs()));
    return false;
  }
  const QueueRegisters queue = state.queue;
  if (!ValidEntries(queue.submission_entries) || !ValidEntries(queue.response_entries) ||
      !IsStickAligned(queue.submission_base) || !IsStickAligned(queue.response_base) ||
      tail - state.fetched > queue.submission_entries ||
      state.posted - queue.response_head > queue.response_entries) {
    StopQueue(function, Status::BAD_FIELD);
    return false;
  }
  const uint32_t slot = state.fetched % queue.submission_entries;
  const auto count = static_cast<uint32_t>(
      std::min<uint64_t>({tail - state.fetched, config_.control.fetch_batch,
                          queue.submission_entries - slot, kHeldOperations - state.held}));
  std::vector<uint8_t>& entries = entries_;
  entries.resize(count * kEntryBytes);
  const uint64_t generation = state.generation;
  const uint64_t begin = NowPs();
  const Fetched fetched =
      FetchEntries(function, queue.submission_base + slot * kEntryBytes, entries, state.aside);
  if (state.generation != generation) return true;  // reset while the read was on its way
  if (fetched == Fetched::kNothing) StopQueue(function, Status::HOST_FAULT);
  // Time has passed, in which the doorbells of others may have been missed.
  if (fetched != Fetched::kEntries) return true;
  for (uint32_t i = 0; i < count; ++i) {
    wait(Ps(config_.control.decode_ns * 1000));
    if (state.generation != generation) return true;
    const OperationPtr operation = Decode(function, &entries[i * kEntryBytes], arrival);
    if (operation == nullptr) return true;  // reset while its message was looked at
    ++state.fetched;
    ++state.held;
    if (state.pending++ == 0) ++pending_functions_;
    pending_.push_back(operation);
    pending_changed_.notify(sc_core::SC_ZERO_TIME);
  }
  statistics_.busy_ps += NowPs() - begin;
  statistics_.requests += count;
  statistics_.bytes += entries.size();
  return true;
}

TimedControlProcessor::OperationPtr TimedControlProcessor::Decode(unsigned function,
                                                                  const uint8_t* entry,
                                                                  uint64_t queued_ps) {
  FunctionState& state = functions_[function];
  auto operation = std::make_shared<HeldOperation>();
  operation->function = function;
  operation->generation = state.generation;
  uint64_t fault = 0;
  Status status;
  if (function == 0) {
    std::memcpy(&operation->block, entry, kEntryBytes);
    status = Check(operation->block, &fault);
    if (status == Status::OK && operation->block.function != 0) {
      status = Status::BAD_FIELD;
      fault = offsetof(ControlBlock, function);
    }
  } else {
    Message message;
    std::memcpy(&message, entry, kEntryBytes);
    status = Translate(function, message, &operation->block, &fault);
    if (state.generation != operation->generation) return nullptr;
    operation->block.opcode = message.opcode;
    operation->block.stream = message.stream;
    operation->block.sequence = message.sequence;
    operation->block.flags = message.flags;
    operation->block.correlation = message.correlation;
  }
  const uint64_t expected = state.next_sequence++;
  if (status == Status::OK && operation->block.sequence != expected) {
    status = Status::BAD_SEQUENCE;
    fault = expected;
  }
  const ControlBlock& block = operation->block;
  operation->refused = status != Status::OK;
  operation->engine = operation->refused ? kImmediate : EngineOf(block);
  Response& response = operation->response;
  response.opcode = block.opcode;
  response.status = static_cast<uint16_t>(status);
  response.fault_core = kNoCore;
  response.stream = block.stream;
  // A damaged entry answers under the number that was due, so that software can find it.
  response.sequence = expected;
  response.fault_address = fault;
  response.queued_ps = queued_ps;
  response.fetched_ps = NowPs();
  response.correlation = block.correlation;
  return operation;
}

void TimedControlProcessor::DescribeHeldOperations(std::vector<std::string>& lines) const {
  ForRunning(
      [&lines](const HeldOperation& operation) { lines.push_back(DescribeRunning(operation)); });
  for (const OperationPtr& operation : pending_)
    lines.push_back(DescribeHeld(operation->function, operation->block));
  for (size_t function = 0; function < functions_.size(); ++function) {
    const FunctionState& state = functions_[function];
    if (state.held > 0 && !HasRoom(state.queue, state.posted)) {
      lines.push_back(
          DescribeFullRing(static_cast<unsigned>(function), state.held, state.posted, state.queue));
    }
    if (state.error != Status::OK)
      lines.push_back(DescribeStopped(static_cast<unsigned>(function), state.error));
  }
}

}  // namespace spyre::model
