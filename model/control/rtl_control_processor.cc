// SPDX-License-Identifier: Apache-2.0
#include "model/control/rtl_control_processor.h"

#include <algorithm>
#include <cstring>

#include "model/rtl/rtl_blocks.h"

namespace spyre::model {

namespace {

ControlRtl::Settings SettingsOf(const CardConfig& config, const Clock& clock) {
  ControlRtl::Settings settings;
  settings.serial = config.concurrency == Concurrency::kSerial;
  settings.fetch_batch = static_cast<uint32_t>(config.control.fetch_batch);
  settings.decode_ps = config.control.decode_ns * 1000;
  settings.dispatch_ps = config.control.dispatch_ns * 1000;
  settings.respond_ps =
      std::max(config.control.respond_ns * 1000, clock.Edge(ControlRtl::kRespondClocks));
  return settings;
}

ControlRtl::Ring RingOf(const QueueRegisters& queue) {
  return {queue.submission_base, queue.submission_entries, queue.response_base,
          queue.response_entries, queue.enabled};
}

}  // namespace

RtlControlProcessor::RtlControlProcessor(const sc_core::sc_module_name& name,
                                         const CardConfig& config, const Blocks& blocks,
                                         trace::Recorder* recorder)
    : ControlProcessor(name, config, blocks, recorder),
      clock_(config.control.clock_mhz),
      rtl_(MakeControlRtl(SettingsOf(config, clock_))),
      functions_(config.num_vfs + 1) {
  SC_HAS_PROCESS(RtlControlProcessor);
  SC_THREAD(Clock);
  SC_THREAD(ReadEntries);
  SC_THREAD(TranslateMessages);
  static_assert(kEngines == ControlRtl::kEngines);
  for (unsigned engine = 0; engine < kEngines; ++engine) {
    sc_core::sc_spawn([this, engine] { RunEngine(static_cast<Engine>(engine)); },
                      kEngineNames[engine]);
  }
}

// ---------------------------------------------------------------- register side

void RtlControlProcessor::Wake() {
  input_ = true;
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void RtlControlProcessor::SetQueue(unsigned function, const QueueRegisters& queue) {
  FunctionState& state = functions_[function];
  const bool changed = !(RingOf(queue) == RingOf(state.queue));
  state.queue = queue;
  if (!changed) return;
  state.ring = true;
  commands_ = true;
  Wake();
}

void RtlControlProcessor::Doorbell(unsigned function, const sc_core::sc_time& arrival) {
  FunctionState& state = functions_[function];
  commands_ = true;
  if (!state.queue.enabled) {  // nobody listens; enabling shows the tail of that moment
    state.doorbells.clear();
    state.cancel_doorbell = true;
    Wake();
    return;
  }
  state.doorbells.push_back({NowPs() + arrival.value(), state.queue.submission_tail});
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void RtlControlProcessor::ResponsesConsumed(unsigned function, const sc_core::sc_time& arrival) {
  FunctionState& state = functions_[function];
  commands_ = true;
  state.consumed.push_back({NowPs() + arrival.value(), state.queue.response_head});
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void RtlControlProcessor::DropFunction(unsigned function) {
  functions_[function] = {};
  functions_[function].reset = true;
  commands_ = true;
  const auto of_function = [&](const Pending& pending) {
    return pending.node.function == function;
  };
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), of_function), pending_.end());
  for (size_t engine = 0; engine < kEngines; ++engine) {
    if (at_work_[engine] && operations_[engine].function == function) Abort(operations_[engine]);
  }
  Wake();
}

uint32_t RtlControlProcessor::submission_head(unsigned function) const {
  return functions_[function].reset ? 0 : rtl_->submission_head(function);
}

uint32_t RtlControlProcessor::response_tail(unsigned function) const {
  return functions_[function].reset ? 0 : rtl_->response_tail(function);
}

bool RtlControlProcessor::busy(unsigned function) const {
  for (size_t engine = 0; engine < kEngines; ++engine)
    if (at_work_[engine] && operations_[engine].function == function) return true;
  const uint32_t head = submission_head(function);
  return head != functions_[function].queue.submission_tail || head != response_tail(function);
}

Status RtlControlProcessor::error(unsigned function) const {
  const FunctionState& state = functions_[function];
  return state.reset || state.clear_error ? Status::OK : rtl_->error(function);
}

void RtlControlProcessor::ClearError(unsigned function) {
  functions_[function].clear_error = true;
  commands_ = true;
  Wake();
}

// ---------------------------------------------------------------- clock

void RtlControlProcessor::Clock() {
  for (;;) {
    const uint64_t edge = NextEdge();
    if (edge == UINT64_MAX) {
      wait(wake_ | accepting_changed_);
    } else if (edge > NowPs()) {
      wait(Ps(edge - NowPs()), wake_ | accepting_changed_);
    } else {
      Step(edge);
    }
  }
}

uint64_t RtlControlProcessor::NextEdge() const {
  const bool now = input_ || !rtl_->idle();
  const uint64_t wanted = now ? 0 : std::min(rtl_->wake_ps(), NextArrival());
  if (wanted == UINT64_MAX) return wanted;
  return clock_.Edge(std::max(next_cycle_, clock_.CycleAt(std::max(wanted, NowPs()))));
}

uint64_t RtlControlProcessor::NextArrival() const {
  uint64_t next = UINT64_MAX;
  if (!commands_) return next;
  for (unsigned function = 0; function < functions_.size(); ++function) {
    const FunctionState& state = functions_[function];
    if (!state.consumed.empty()) next = std::min(next, state.consumed.front().ps);
    if (!state.doorbells.empty() && rtl_->doorbell_ready(function) && Accepting(function))
      next = std::min(next, state.doorbells.front().ps);
  }
  return next;
}

// The first thing that the function's registers have to say and that has arrived. False: nothing.
bool RtlControlProcessor::GiveCommand(unsigned function, uint64_t now_ps) {
  FunctionState& state = functions_[function];
  if (state.reset) {
    rtl_->Reset(function);
    state.reset = false;
  } else if (state.ring) {
    rtl_->SetRing(function, RingOf(state.queue));
    state.ring = false;
  } else if (state.cancel_doorbell) {
    rtl_->CancelDoorbell(function);
    state.cancel_doorbell = false;
  } else if (state.clear_error) {
    rtl_->ClearError(function);
    state.clear_error = false;
  } else if (!state.consumed.empty() && state.consumed.front().ps <= now_ps) {
    rtl_->ResponsesConsumed(function, state.consumed.front().index);
    state.consumed.pop_front();
  } else if (!state.doorbells.empty() && state.doorbells.front().ps <= now_ps &&
             rtl_->doorbell_ready(function) && Accepting(function)) {
    rtl_->Doorbell(function, state.doorbells.front().index, state.doorbells.front().ps);
    state.doorbells.pop_front();
  } else {
    return false;
  }
  return true;
}

void RtlControlProcessor::Step(uint64_t now_ps) {
  next_cycle_ = clock_.CycleAt(now_ps) + 1;
  input_ = false;
  if (commands_) {
    const unsigned count = static_cast<unsigned>(functions_.size());
    unsigned function = 0;
    while (function < count && !GiveCommand(function, now_ps)) ++function;
    input_ = function < count;  // there may be more
    commands_ = input_ || NextArrival() != UINT64_MAX ||
                std::any_of(functions_.begin(), functions_.end(),
                            [](const FunctionState& state) { return !state.doorbells.empty(); });
  }
  rtl_->Clock(now_ps);
  ControlRtl::Taken taken;
  if (rtl_->TakeOperation(&taken)) TakeOperation(taken);
  ControlRtl::Node node;
  if (rtl_->accepted(&node)) pending_.push_back({node, AsBlock(node.function, entries_[entry_])});
  ServeHost();
  RaiseInterrupts();
}

// ---------------------------------------------------------------- what the block asks for

void RtlControlProcessor::ServeHost() {
  if (rtl_->TakeRead(&read_)) read_asked_.notify(sc_core::SC_ZERO_TIME);
  if (rtl_->message()) message_asked_.notify(sc_core::SC_ZERO_TIME);
  if (rtl_->entries_drop()) {
    rtl_->PresentEntry(nullptr);
  } else if (rtl_->entry_next()) {
    NextEntry();
  }
  for (unsigned engine = 0; engine < kEngines; ++engine)
    if (rtl_->started(engine)) StartOperation(engine);
  ControlRtl::Write write;
  if (rtl_->TakeWrite(&write)) {
    rtl_->EndWrite(functions_[write.function].reset ||
                   WriteResponse(write.function, functions_[write.function].queue, write.address,
                                 write.response));
    input_ = true;
  }
}

void RtlControlProcessor::NextEntry() {
  ++entry_;
  input_ = true;
  if (entry_ < entries_.size()) {
    rtl_->PresentEntry(entries_[entry_].data());
    return;
  }
  rtl_->PresentEntry(nullptr);
  statistics_.busy_ps += NowPs() - read_begin_ps_;
  statistics_.requests += entries_.size();
  statistics_.bytes += entries_.size() * kEntryBytes;
}

void RtlControlProcessor::RaiseInterrupts() {
  const uint32_t errors = rtl_->errors_raised(), responses = rtl_->responses_raised();
  if ((errors | responses) == 0) return;
  for (unsigned function = 0; function < functions_.size(); ++function) {
    FunctionState& state = functions_[function];
    if (state.reset) continue;
    if ((responses >> function & 1) != 0) Interrupt(function, kCauseResponse);
    if ((errors >> function & 1) != 0) {
      state.queue.enabled = false;
      Interrupt(function, kCauseError);
    }
  }
}

// What observers want to know of an entry.
ControlBlock RtlControlProcessor::AsBlock(unsigned function, const Entry& entry) {
  ControlBlock block;
  if (function == 0) {
    std::memcpy(&block, entry.data(), kEntryBytes);
    return block;
  }
  Message message;
  std::memcpy(&message, entry.data(), kEntryBytes);
  block.opcode = message.opcode;
  block.stream = message.stream;
  block.sequence = message.sequence;
  block.size_bytes = message.size_bytes;
  block.value = message.value;
  block.correlation = message.correlation;
  return block;
}

// It waits no more: for its engine it is made ready; without one it is over.
void RtlControlProcessor::TakeOperation(const ControlRtl::Taken& taken) {
  Operation operation;
  operation.block = taken.block;
  operation.function = taken.node.function;
  operation.engine = static_cast<Engine>(taken.engine);
  operation.name = OpcodeName(static_cast<Opcode>(taken.block.opcode));
  operation.response.started_ps = operation.response.finished_ps = NowPs();
  operation.response.fault_core = kNoCore;
  if (operation.engine != kImmediate) operations_[operation.engine] = operation;

  const auto mine = [&](const Pending& pending) {
    return pending.node.function == taken.node.function && pending.node.slot == taken.node.slot;
  };
  const auto found = std::find_if(pending_.begin(), pending_.end(), mine);
  if (found == pending_.end()) return;  // its function was reset
  operation.block = found->block;
  if (operation.engine == kImmediate) Trace(operation);
  pending_.erase(found);
}

void RtlControlProcessor::StartOperation(unsigned engine) {
  Operation& operation = operations_[engine];
  operation.aborted = rtl_->started_aborted(engine) || functions_[operation.function].reset;
  operation.response.started_ps = NowPs();
  at_work_[engine] = true;
  start_[engine].notify(sc_core::SC_ZERO_TIME);
}

void RtlControlProcessor::ReadEntries() {
  for (;;) {
    wait(read_asked_);
    read_begin_ps_ = NowPs();
    entries_.resize(read_.entries);
    entry_ = 0;
    if (ReadHost(read_.function, read_.address, entries_.data(), entries_.size() * kEntryBytes)) {
      rtl_->PresentEntry(entries_.data());
    } else {
      rtl_->FailRead();
    }
    Wake();
  }
}

void RtlControlProcessor::TranslateMessages() {
  for (;;) {
    wait(message_asked_);
    Message message;
    std::memcpy(&message, entries_[entry_].data(), kEntryBytes);
    ControlBlock block;
    uint64_t fault = 0;
    const Status status = Translate(read_.function, message, &block, &fault);
    rtl_->AnswerMessage(status, fault, block);
    Wake();
  }
}

void RtlControlProcessor::RunEngine(Engine engine) {
  for (;;) {
    if (!at_work_[engine]) sc_core::wait(start_[engine]);
    Operation& operation = operations_[engine];
    Run(operation);
    operation.response.finished_ps = NowPs();
    Trace(operation);
    at_work_[engine] = false;
    rtl_->EndOperation(engine, operation.response);
    Wake();
  }
}

void RtlControlProcessor::FlipBit(uint64_t seed) {
  rtl_->FlipBit(seed);
  Wake();
}

bool RtlControlProcessor::AttachWaves(Waves* waves) {
  rtl_->SetWaves(waves, clock_.Edge(1));
  return true;
}

void RtlControlProcessor::DescribeWaits(std::vector<std::string>& lines) const {
  for (size_t engine = 0; engine < kEngines; ++engine)
    if (at_work_[engine]) lines.push_back(DescribeRunning(operations_[engine]));
  for (const Pending& pending : pending_)
    lines.push_back(DescribeHeld(pending.node.function, pending.block));
  for (unsigned function = 0; function < functions_.size(); ++function) {
    const QueueRegisters& queue = functions_[function].queue;
    const uint32_t posted = response_tail(function), held = submission_head(function) - posted;
    if (held > 0 && !HasRoom(queue, posted))
      lines.push_back(DescribeFullRing(function, held, posted, queue));
    if (error(function) != Status::OK) lines.push_back(DescribeStopped(function, error(function)));
  }
}

}  // namespace spyre::model
