// SPDX-License-Identifier: Apache-2.0
#include "model/control/control_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "model/control/rtl_control_processor.h"
#include "model/control/timed_control_processor.h"

namespace spyre::model {

static_assert(sizeof(Message) == sizeof(ControlBlock) && sizeof(Response) == sizeof(ControlBlock));

ControlProcessor::ControlProcessor(const sc_core::sc_module_name& name, const CardConfig& config,
                                   const Blocks& blocks, trace::Recorder* recorder)
    : sc_module(name),
      config_(config),
      blocks_(blocks),
      recorder_(recorder != nullptr && recorder->Wants(trace::kControl) ? recorder : nullptr),
      resets_(config.num_vfs + 1, 0),
      timed_out_(config.num_vfs + 1) {
  statistics_.name = "control";
  if (recorder != nullptr && recorder->Wants(trace::kFirmware)) {
    messages_ = {recorder, trace::kFirmware, recorder->AddTrack("card", "management"),
                 recorder->Intern("message")};
  }
  blocks_.management.OnAccepting([this] { accepting_changed_.notify(sc_core::SC_ZERO_TIME); });
  blocks_.management.shares().OnChange([this](unsigned function) {
    ShareChanged(function);
    if (blocks_.placement != nullptr) blocks_.placement->CoresChanged();
    if (!shares().stopped(function)) return;
    for (Operation* operation : at_work_)
      if (operation->function == function) Stop(*operation, Status::ABORTED);
    blocks_.dma.Wake();
  });
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.dont_initialize();
  options.set_sensitivity(&limit_);
  sc_core::sc_spawn([this] { CheckLimits(); }, "limits", &options);
}

std::string ControlProcessor::PortName(unsigned port) {
  if (port < kDmaOutPort) return fmt::format("{}_{}", kEngineNames[kDmaIn], port);
  if (port < kComputePort) return fmt::format("{}_{}", kEngineNames[kDmaOut], port - kDmaOutPort);
  if (port == kPreparePort) return kEngineNames[kPrepare];
  return fmt::format("{}_{}", kEngineNames[kCompute], port - kComputePort);
}

ControlProcessor::Engine ControlProcessor::EngineOf(const ControlBlock& block) const {
  switch (static_cast<Opcode>(block.opcode)) {
    case Opcode::DMA_IN:
    case Opcode::DMA_FILL:
      return kDmaIn;
    case Opcode::DMA_OUT:
      return kDmaOut;
    case Opcode::COMPUTE:
      return blocks_.prepare != nullptr && (block.flags & kFlagPrepare) != 0 ? kPrepare : kCompute;
    default:
      return kImmediate;
  }
}

bool ControlProcessor::ValidEntries(uint32_t entries) {
  return entries >= 2 && entries <= 65536 && (entries & (entries - 1)) == 0;
}

void ControlProcessor::ResetFunction(unsigned function) {
  ++resets_[function];
  timed_out_[function].clear();
  DropFunction(function);
  reset_.notify();
  blocks_.dma.Wake();
}

bool ControlProcessor::WriteHost(unsigned function, uint64_t address, const void* data,
                                 uint64_t bytes) {
  write_payload_.info.function = static_cast<uint16_t>(function);
  auto& payload = write_payload_.Prepare(tlm::TLM_WRITE_COMMAND, address,
                                         static_cast<uint8_t*>(const_cast<void*>(data)), bytes);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  host->b_transport(payload, delay);
  return payload.is_response_ok();
}

bool ControlProcessor::WriteResponse(unsigned function, const QueueRegisters& queue,
                                     uint64_t address, const Response& response) {
  if (faults_.injector != nullptr && SpoilResponse(function, queue, address, response)) return true;
  return WriteHost(function, address, &response, kEntryBytes);
}

bool ControlProcessor::SpoilResponse(unsigned function, const QueueRegisters& queue,
                                     uint64_t address, const Response& response) {
  FaultEvent event;
  event.function = function;
  event.stream = response.stream;
  event.operation = response.correlation;
  const Injection* const injection = faults_.injector->Strike(FaultSite::kResponse, event, NowPs());
  if (injection == nullptr) return false;
  if (injection->kind() == FaultKind::kResponseTorn) {
    // The half that says that it is there comes first.
    constexpr size_t kHalf = kEntryBytes / 2;
    Response torn = response;
    const size_t other = offsetof(Response, phase) < kHalf ? kHalf : 0;
    std::memset(reinterpret_cast<uint8_t*>(&torn) + other, 0, kHalf);
    const bool sent = WriteHost(function, address, &torn, kEntryBytes);
    const uint64_t lasts_ps = injection->fault->lasts_ps;
    if (lasts_ps == 0) return sent;
    sc_core::sc_spawn([this, function, address, response, lasts_ps, resets = resets_[function]] {
      wait(Ps(lasts_ps));
      if (resets_[function] == resets) WriteHost(function, address, &response, kEntryBytes);
    });
    return sent;
  }
  if (injection->kind() == FaultKind::kResponseDuplicated) {
    Response again = response;
    uint64_t next = address + kEntryBytes;
    if (next == queue.response_base + uint64_t{queue.response_entries} * kEntryBytes) {
      next = queue.response_base;
      again.phase ^= 1;
      Seal(again);
    }
    WriteHost(function, address, &response, kEntryBytes);
    return WriteHost(function, next, &again, kEntryBytes);
  }
  return true;  // lost
}

Status ControlProcessor::Translate(unsigned function, const Message& message, ControlBlock* block,
                                   uint64_t* fault) {
  const uint64_t begin = NowPs();
  const Status status = blocks_.management.TranslateMessage(function, message, block, fault);
  if (messages_.recorder != nullptr) {
    messages_.recorder->Slice(messages_.category, messages_.track, messages_.name, begin, NowPs(),
                              message.correlation, kEntryBytes, function);
  }
  return status;
}

void ControlProcessor::Run(Operation& operation) {
  // Whatever its block says: an operation acts for the function from whose ring it came.
  operation.block.function = static_cast<uint16_t>(operation.function);
  if (shares().stopped(operation.function)) Stop(operation, Status::ABORTED);
  at_work_.push_back(&operation);
  SetDeadline(operation);
  if (ComputeDispatcher* const dispatcher = DispatcherOf(operation)) {
    RunCompute(operation, *dispatcher);
  } else {
    RunDma(operation);
  }
  at_work_.erase(std::find(at_work_.begin(), at_work_.end(), &operation));
  if (at_work_.empty()) limit_.cancel();
}

ComputeDispatcher* ControlProcessor::DispatcherOf(const Operation& operation) const {
  if (operation.engine == kPrepare) return blocks_.prepare;
  return operation.engine == kCompute ? blocks_.dispatchers[operation.port - kComputePort]
                                      : nullptr;
}

// ---------------------------------------------------------------- limits

void ControlProcessor::SetDeadline(Operation& operation) {
  const uint64_t limit_ps = shares().limit_us(operation.function) * 1'000'000;
  operation.answered = operation.work.answered;
  operation.watched_since_ps = NowPs();
  operation.deadline_ps = limit_ps == 0 ? UINT64_MAX : NowPs() + limit_ps;
  // An event keeps its earliest notification.
  if (limit_ps != 0 && limit_ps <= 2 * kWatchPs) limit_.notify(Ps(limit_ps));
}

bool ControlProcessor::WatchLimits(bool starving) {
  bool comes = false;
  for (const Operation* operation : at_work_) {
    const bool due = starving || NowPs() - operation->watched_since_ps >= kWatchPs;
    if (!due || operation->deadline_ps == UINT64_MAX) continue;
    limit_.notify(Ps(operation->deadline_ps - std::min(operation->deadline_ps, NowPs())));
    comes = true;
  }
  return comes;
}

// A long copy is not what a limit is for, but one that does not get on; and a program has its time
// from when it has its cores.
void ControlProcessor::CheckLimits() {
  uint64_t next_ps = UINT64_MAX;
  bool stopped = false;
  for (Operation* operation : at_work_) {
    if (operation->deadline_ps <= NowPs()) {
      const Job* const job = operation->job;
      if (operation->work.answered != operation->answered ||
          (job != nullptr && job->waits_for_cores)) {
        SetDeadline(*operation);
      } else if (job != nullptr && job->placed_ps > operation->watched_since_ps) {
        operation->deadline_ps += job->placed_ps - operation->watched_since_ps;
        operation->watched_since_ps = job->placed_ps;
      } else {
        stopped = true;
        operation->deadline_ps = UINT64_MAX;
        KeepDiagnosis(*operation);
        Stop(*operation, Status::TIMED_OUT);
      }
    }
    next_ps = std::min(next_ps, operation->deadline_ps);
  }
  if (stopped) blocks_.dma.Wake();
  if (next_ps != UINT64_MAX) limit_.notify(Ps(next_ps - NowPs()));
}

void ControlProcessor::KeepDiagnosis(const Operation& operation) {
  constexpr size_t kLines = 24;
  const uint64_t limit_us = shares().limit_us(operation.function);
  std::vector<std::string> lines;
  if (const ComputeDispatcher* const dispatcher = DispatcherOf(operation)) {
    dispatcher->DescribeWaits(lines);
  } else {
    lines.push_back(fmt::format("dma: {} requests answered", operation.work.answered));
  }
  if (lines.size() > kLines) {
    const size_t more = lines.size() - kLines;
    lines.resize(kLines);
    lines.push_back(fmt::format("and {} more units", more));
  }
  for (std::string& line : lines) line.insert(0, "  ");
  const std::string name = operation.job != nullptr && operation.job->program != nullptr
                               ? fmt::format("COMPUTE {}", operation.job->program->name)
                               : operation.name;
  lines.insert(lines.begin(),
               fmt::format("control: function {} stream {}: {} (sequence {}) was stopped after its "
                           "limit of {} us, at which there was",
                           operation.function, operation.block.stream, name,
                           operation.block.sequence, limit_us));
  timed_out_[operation.function] = std::move(lines);
  blocks_.management.Report({RasCode::TIME_LIMIT,
                             RasSeverity::NON_FATAL,
                             static_cast<uint16_t>(operation.function),
                             {operation.block.stream, static_cast<uint32_t>(limit_us)}});
}

void ControlProcessor::DescribeWaits(std::vector<std::string>& lines) const {
  DescribeHeldOperations(lines);
  for (const std::vector<std::string>& diagnosis : timed_out_)
    lines.insert(lines.end(), diagnosis.begin(), diagnosis.end());
}

// ---------------------------------------------------------------- engines

void ControlProcessor::RunDma(Operation& operation) {
  operation.work.cost = shares().cost(operation.function);
  blocks_.counters.Begin(operation.function, operation.work, NowPs());
  const DmaOutcome outcome = blocks_.dma.Execute(operation.block, operation.work);
  blocks_.counters.End(operation.work, NowPs());
  operation.response.status = static_cast<uint16_t>(outcome.status);
  operation.response.fault_address = outcome.fault_address;
  operation.response.device_bytes_read = operation.work.bytes_read;
  operation.response.device_bytes_written = operation.work.bytes_written;
}

void ControlProcessor::Hold(Operation& operation) {
  if (!held_ || held_->before-- > 0) return;
  const HeldCompute held = std::move(*held_);
  held_.reset();
  const uint64_t now_ps = NowPs(), period = held.period_ps;
  // The first such time from now on.
  const uint64_t start_ps =
      held.start_ps >= now_ps
          ? held.start_ps - (held.start_ps - now_ps) / period * period
          : held.start_ps + (now_ps - held.start_ps + period - 1) / period * period;
  wait(Ps(start_ps - now_ps));
  operation.response.started_ps = start_ps;
  held.at_start();
}

void ControlProcessor::RunCompute(Operation& operation, ComputeDispatcher& dispatcher) {
  Hold(operation);
  Job job;
  operation.job = &job;
  if (operation.work.stop != Status::OK) job.Fault(operation.work.stop, 0, kNoCore);
  blocks_.counters.Begin(operation.function, job, NowPs());
  dispatcher.Execute(operation.block, job, shares().cost(operation.function));
  blocks_.counters.End(job, NowPs());
  operation.job = nullptr;
  std::string name = namer_ ? namer_(operation.block.correlation) : "";
  if (name.empty() && job.program != nullptr) name = job.program->name;
  if (!name.empty()) operation.name = fmt::format("COMPUTE {}", name);
  operation.response.status = static_cast<uint16_t>(job.status);
  operation.response.fault_address = job.status == Status::OK ? 0 : job.fault_address;
  operation.response.fault_core = job.fault_core;
  operation.response.device_bytes_read = job.bytes_read;
  operation.response.device_bytes_written = job.bytes_written;
  operation.response.macs = job.macs;
}

void ControlProcessor::Stop(Operation& operation, Status why) {
  if (operation.work.stop != Status::OK) return;
  operation.work.stop = why;
  if (operation.job != nullptr) operation.job->Fault(why, 0, kNoCore);
}

void ControlProcessor::Trace(const Operation& operation) const {
  if (recorder_ == nullptr) return;
  const Response& response = operation.response;
  const auto track = recorder_->StreamTrack("card", operation.block.stream, operation.function);
  const bool compute = operation.engine == kCompute || operation.engine == kPrepare;
  const uint64_t bytes = compute ? response.device_bytes_read + response.device_bytes_written
                                 : operation.block.size_bytes;
  recorder_->Slice(trace::kControl, track, recorder_->Intern(operation.name), response.started_ps,
                   response.finished_ps, operation.block.correlation, bytes,
                   operation.block.stream);
}

std::string ControlProcessor::DescribeRunning(const Operation& operation) {
  return fmt::format("control: function {} stream {} runs {} (sequence {})", operation.function,
                     operation.block.stream, operation.name, operation.block.sequence);
}

std::string ControlProcessor::DescribeHeld(unsigned function, const ControlBlock& block) {
  const auto opcode = static_cast<Opcode>(block.opcode);
  const std::string event = opcode == Opcode::EVENT_WAIT
                                ? fmt::format(" until event slot {} has reached {}",
                                              EventSlot(block.value), EventCounter(block.value))
                                : "";
  return fmt::format("control: function {} stream {} holds {}{} (sequence {})", function,
                     block.stream, OpcodeName(opcode), event, block.sequence);
}

std::string ControlProcessor::DescribeFullRing(unsigned function, uint32_t held, uint32_t posted,
                                               const QueueRegisters& queue) {
  return fmt::format(
      "control: function {} holds {} operations; its response ring of {} has no room (posted {}, "
      "taken {})",
      function, held, queue.response_entries, posted, queue.response_head);
}

std::string ControlProcessor::DescribeStopped(unsigned function, Status why) {
  return fmt::format("control: queue of function {} stopped: {}", function, StatusName(why));
}

std::unique_ptr<ControlProcessor> MakeControlProcessor(const sc_core::sc_module_name& name,
                                                       const CardConfig& config,
                                                       const ControlProcessor::Blocks& blocks,
                                                       trace::Recorder* recorder) {
  if (config.control.fidelity == BlockFidelity::kRtl)
    return std::make_unique<RtlControlProcessor>(name, config, blocks, recorder);
  return std::make_unique<TimedControlProcessor>(name, config, blocks, recorder);
}

}  // namespace spyre::model
