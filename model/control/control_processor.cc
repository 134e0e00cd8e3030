// SPDX-License-Identifier: Apache-2.0
#include "model/control/control_processor.h"

#include <fmt/format.h>

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
      resets_(config.num_vfs + 1, 0) {
  statistics_.name = "control";
  if (recorder != nullptr && recorder->Wants(trace::kFirmware)) {
    messages_ = {recorder, trace::kFirmware, recorder->AddTrack("card", "management"),
                 recorder->Intern("message")};
  }
  blocks_.management.OnAccepting([this] { accepting_changed_.notify(sc_core::SC_ZERO_TIME); });
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
  DropFunction(function);
  reset_.notify();
  blocks_.dma.Wake();
}

bool ControlProcessor::ReadHost(unsigned function, uint64_t address, void* data, uint64_t bytes) {
  read_payload_.info.function = static_cast<uint16_t>(function);
  auto& payload =
      read_payload_.Prepare(tlm::TLM_READ_COMMAND, address, static_cast<uint8_t*>(data), bytes);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  host->b_transport(payload, delay);
  if (payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE) {
    wait(delay);
    return payload.is_response_ok();
  }
  const uint64_t end_ps = NowPs() + delay.value();
  const uint64_t resets = resets_[function];
  while (NowPs() < end_ps && resets_[function] == resets) wait(Ps(end_ps - NowPs()), reset_);
  return false;
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
  if (operation.engine == kCompute) {
    RunCompute(operation, blocks_.dispatcher);
  } else if (operation.engine == kPrepare) {
    RunCompute(operation, *blocks_.prepare);
  } else {
    RunDma(operation);
  }
}

void ControlProcessor::RunDma(Operation& operation) {
  const DmaOutcome outcome = blocks_.dma.Execute(operation.block, operation.aborted);
  operation.response.status = static_cast<uint16_t>(outcome.status);
  operation.response.fault_address = outcome.fault_address;
  operation.response.device_bytes_read = outcome.device_bytes_read;
  operation.response.device_bytes_written = outcome.device_bytes_written;
}

void ControlProcessor::RunCompute(Operation& operation, ComputeDispatcher& dispatcher) {
  Job job;
  operation.job = &job;
  if (operation.aborted) job.Fault(Status::ABORTED, 0, kNoCore);
  dispatcher.Execute(operation.block, job);
  operation.job = nullptr;
  if (job.program != nullptr) operation.name = fmt::format("COMPUTE {}", job.program->name);
  operation.response.status = static_cast<uint16_t>(job.status);
  operation.response.fault_address = job.status == Status::OK ? 0 : job.fault_address;
  operation.response.fault_core = job.fault_core;
  operation.response.device_bytes_read = job.bytes_read;
  operation.response.device_bytes_written = job.bytes_written;
  operation.response.macs = job.macs;
}

void ControlProcessor::Abort(Operation& operation) {
  operation.aborted = true;
  if (operation.job != nullptr) operation.job->Fault(Status::ABORTED, 0, kNoCore);
}

void ControlProcessor::Trace(const Operation& operation) const {
  if (recorder_ == nullptr) return;
  const Response& response = operation.response;
  const auto track = recorder_->AddTrack("card", fmt::format("stream {}", operation.block.stream));
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
