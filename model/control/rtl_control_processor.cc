// SPDX-License-Identifier: Apache-2.0
#include "model/control/rtl_control_processor.h"

#include <algorithm>
#include <cstring>

#include "base/ranges.h"
#include "model/rtl/rtl_blocks.h"

namespace spyre::model {

namespace {

ControlRtl::Settings SettingsOf(const CardConfig& config, const Clock& clock) {
  ControlRtl::Settings settings;
  settings.serial = config.serial();
  settings.compute_ports = config.concurrent() ? kMaxPartitions : 1;
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
  static_assert(kPorts == ControlRtl::kPorts);
  for (unsigned function = 0; function < functions_.size(); ++function) ShareChanged(function);
}

// ---------------------------------------------------------------- register side

void RtlControlProcessor::Wake() {
  input_ = true;
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void RtlControlProcessor::SetQueue(unsigned function, const QueueRegisters& queue) {
  FunctionState& state = functions_[function];
  const bool changed = !(RingOf(queue) == RingOf(state.queue));
  if (!queue.enabled) state.aside = PutAside();
  state.queue = queue;
  if (!changed) return;
  state.ring = true;
  commands_ = true;
  Wake();
}

void RtlControlProcessor::Doorbell(unsigned function, const sc_core::sc_time& arrival) {
  FunctionState& state = functions_[function];
  commands_ = true;
  if (!state.queue.enabled) {  // the queue is off; enabling shows the tail of that moment
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
  functions_[function] = FunctionState();
  functions_[function].reset = true;
  commands_ = true;
  const auto of_function = [&](const Pending& pending) {
    return pending.node.function == function;
  };
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), of_function), pending_.end());
  ForRunning([function](Operation& operation) {
    if (operation.function == function) Stop(operation, Status::ABORTED);
  });
  Wake();
}

uint32_t RtlControlProcessor::submission_head(unsigned function) const {
  return functions_[function].reset ? 0 : rtl_->submission_head(function);
}

uint32_t RtlControlProcessor::response_tail(unsigned function) const {
  return functions_[function].reset ? 0 : rtl_->response_tail(function);
}

bool RtlControlProcessor::busy(unsigned function) const {
  bool runs = false;
  ForRunning([&](const Operation& operation) { runs |= operation.function == function; });
  if (runs) return true;
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
  const uint64_t wanted = now ? 0 : std::min({rtl_->wake_ps(), NextArrival(), NextAnswer()});
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
  ShowSilent(now_ps);
  if (commands_) {
    const unsigned count = static_cast<unsigned>(functions_.size());
    unsigned function = 0;
    while (function < count && !GiveCommand(function, now_ps)) ++function;
    input_ = function < count;  // there may be more
    commands_ =
        input_ || NextArrival() != UINT64_MAX ||
        AnyFits(functions_, [](const FunctionState& state) { return !state.doorbells.empty(); });
  }
  if (!ended_.empty()) {
    rtl_->EndOperation(ended_.front(), ports_[ended_.front()]->operation.response);
    ended_.pop_front();
    input_ |= !ended_.empty();
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
  operation.engine = EngineOf(taken.port);
  operation.port = taken.port;
  operation.name = OpcodeName(static_cast<Opcode>(taken.block.opcode));
  operation.response.started_ps = operation.response.finished_ps = NowPs();
  operation.response.fault_core = kNoCore;

  const auto mine = [&](const Pending& pending) {
    return pending.node.function == taken.node.function && pending.node.slot == taken.node.slot;
  };
  const auto found = FindIf(pending_, mine);
  if (found != pending_.end()) {  // else its function was reset
    if (operation.engine == kImmediate) {
      operation.block = found->block;
      Trace(operation);
    }
    pending_.erase(found);
  }
  if (operation.engine == kImmediate) return;
  std::unique_ptr<Port>& port = ports_[taken.port];
  if (port == nullptr) {
    port = std::make_unique<Port>();
    sc_core::sc_spawn([this, index = taken.port] { RunPort(index); }, PortName(taken.port).c_str());
  }
  port->operation = std::move(operation);
}

ControlProcessor::Engine RtlControlProcessor::EngineOf(unsigned port) {
  if (port < kDmaOutPort) return kDmaIn;
  if (port < kComputePort) return kDmaOut;
  if (port < kPreparePort) return kCompute;
  return port == kPreparePort ? kPrepare : kImmediate;
}

void RtlControlProcessor::StartOperation(const ControlRtl::Started& started) {
  Port& port = *ports_[started.port];
  Operation& operation = port.operation;
  if (started.aborted || functions_[operation.function].reset) Stop(operation, Status::ABORTED);
  operation.response.started_ps = NowPs();
  port.at_work = true;
  port.start.notify(sc_core::SC_ZERO_TIME);
}

void RtlControlProcessor::RunPort(unsigned index) {
  Port& port = *ports_[index];
  for (;;) {
    sc_core::wait(port.start);
    Run(port.operation);
    port.operation.response.finished_ps = NowPs();
    Trace(port.operation);
    port.at_work = false;
    ended_.push_back(index);
    Wake();
  }
}

void RtlControlProcessor::FlipBit(uint64_t seed) {
  rtl_->FlipBit(seed);
  Wake();
}

void RtlControlProcessor::ShareChanged(unsigned function) {
  rtl_->SetShare(function, shares().cost(function), MostPrograms(function));
}

bool RtlControlProcessor::AttachWaves(Waves* waves) {
  rtl_->SetWaves(waves, clock_.Edge(1));
  return true;
}

void RtlControlProcessor::DescribeHeldOperations(std::vector<std::string>& lines) const {
  ForRunning([&lines](const Operation& operation) { lines.push_back(DescribeRunning(operation)); });
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
