// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/function_run.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/session/wall_timer.h"
#include "cosim/tensors/input_data.h"
#include "cosim/tensors/npy.h"
#include "cosim/workload/resolve.h"
#include "model/contract/control_block.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::cosim {

namespace fs = std::filesystem;

FunctionRun::FunctionRun(const RunConfig& config, std::string out_dir, Report report,
                         RunResult& result)
    : config_(config),
      out_dir_(std::move(out_dir)),
      report_(std::move(report)),
      result_(result),
      workload_(ResolveWorkload(config_)) {
  result_.config = config_;
  result_.description = workload_->description();
  result_.warnings = workload_->warnings();
  result_.decisions = workload_->decisions();
  result_.out_dir = out_dir_;
}

FunctionRun::~FunctionRun() { Close(); }

void FunctionRun::Tell(const char* phase, uint64_t done, uint64_t total) const {
  if (report_) report_(phase, done, total);
}

std::vector<std::string> FunctionRun::FileNames() const {
  std::vector<std::string> names = {"spyrecode"};
  for (const WorkloadTensor& tensor : workload_->tensors()) {
    // An input that is read from there is no file of an earlier run.
    std::error_code error;
    const std::string path = PathOf(tensor.name + ".npy");
    if (IsWritten(tensor) || tensor.file.empty() || !fs::equivalent(path, tensor.file, error))
      names.push_back(tensor.name + ".npy");
  }
  return names;
}

std::vector<std::string> FunctionRun::InputPaths() const {
  std::vector<std::string> inputs;
  RunConfig config = config_;  // fields are to be written to
  for (const Field& field : Fields(config)) {
    if (!field.is_path) continue;
    if (const auto* path = std::get_if<std::string*>(&field.value)) inputs.push_back(**path);
    if (const auto* list = std::get_if<std::vector<std::string>*>(&field.value))
      inputs.insert(inputs.end(), (*list)->begin(), (*list)->end());
  }
  for (const WorkloadTensor& tensor : workload_->tensors()) inputs.push_back(tensor.file);
  return inputs;
}

bool FunctionRun::IsWritten(const WorkloadTensor& tensor) const {
  if (!config_.workload.functional) return false;
  if (tensor.is_output) return config_.output.tensors;
  return tensor.is_input && !tensor.constant && config_.output.inputs && tensor.file.empty();
}

void FunctionRun::Compile() {
  const WallTimer timer(result_.wall.compile);
  Tell("compile");
  result_.spyrecode_dir = PathOf("spyrecode");
  compiled_ = workload_->Compile(result_.spyrecode_dir);
  result_.kernel_names = compiled_.kernel_names;
  result_.plan = compiled_.plan;
  result_.lx = compiled_.lx;
  result_.steps = compiled_.steps;
}

void FunctionRun::Open(driver::Transport& card, driver::FunctionId function,
                       const flex::RuntimeOptions& options) {
  context_ = std::make_unique<flex::RuntimeContext>(card, function, options);
  // Device memory first: what does not fit fails before host memory is taken.
  if (!config_.workload.repeat.addresses.empty()) {
    std::vector<StickLayout> layouts;
    for (const WorkloadTensor& tensor : workload_->tensors()) layouts.push_back(tensor.layout);
    tensors_.device = PlaceTensors(*context_, layouts, config_.workload.repeat, places_);
    return;
  }
  for (size_t i = 0; i < compiled_.chunks.size(); ++i) {
    const Chunks& chunks = compiled_.chunks[i];
    tensors_.device.push_back(runtime::AllocateTensorInterleaved(
        *context_, workload_->tensors()[i].layout, chunks.count, chunks.granularity));
  }
}

void FunctionRun::LoadInputs() {
  if (!config_.workload.functional) return;
  const WallTimer timer(result_.wall.generate);
  const uint64_t card = config_.cards.number;
  const InputOptions options{config_.workload.distribution, config_.workload.seed,
                             config_.workload.seed - card, card, config_.cards.count};
  for (const WorkloadTensor& tensor : workload_->tensors()) {
    Tell("inputs", tensors_.inputs.size(), workload_->tensors().size());
    tensors_.inputs.push_back(tensor.is_input ? LoadInput(options, tensor) : HostData());
    tensors_.outputs.emplace_back(tensor.is_output ? tensor.host_bytes() : 0);
  }
}

void FunctionRun::Prepare() {
  constexpr const char* kPhase = "copy inputs and programs";
  run_ = workload_->Open(*context_, tensors_);
  Tell(kPhase);
  run_->CopyInputs();
  const uint64_t before = context_->Counts().queued;
  run_->LoadPrograms();
  result_.program_loads = context_->Counts().queued - before;
  Wait(kPhase);
}

void FunctionRun::Launch() {
  const flex::OperationCounts before = context_->Counts();
  const driver::QueueStatistics queue = context_->QueueStatistics();
  const size_t first = context_->CompletedOperations().size();
  run_->Launch();
  Wait("launch");
  const flex::OperationCounts after = context_->Counts();
  result_.launch_counts = {after.queued - before.queued, after.completed - before.completed,
                           after.failed - before.failed, after.not_executed - before.not_executed};
  const driver::QueueStatistics queue_after = context_->QueueStatistics();
  result_.launch_doorbells = queue_after.submission_doorbells - queue.submission_doorbells;
  result_.launch_interrupts = queue_after.interrupts - queue.interrupts;
  const auto completed = context_->CompletedOperations();
  result_.launches.assign(completed.begin() + static_cast<ptrdiff_t>(first), completed.end());
}

void FunctionRun::CopyOutputs() {
  const uint64_t queued = context_->Counts().queued;
  run_->CopyOutputs();
  if (context_->Counts().queued != queued) Wait("copy outputs");
}

// Tells the listener of every response on the way.
void FunctionRun::Wait(const char* phase) {
  {
    const auto lock = context_->Lock();
    flex::Scheduler& scheduler = context_->scheduler();
    const flex::OperationCounts start = scheduler.Counts();
    const uint64_t base = start.completed + start.failed + start.not_executed;
    while (!scheduler.Idle()) {
      scheduler.Progress();
      const flex::OperationCounts now = scheduler.Counts();
      Tell(phase, now.completed + now.failed + now.not_executed - base, now.queued - base);
    }
  }
  context_->Synchronize();
}

void FunctionRun::Finish() {
  result_.transfers = run_->transfers();
  if (run_->tasks() != nullptr) result_.tasks = *run_->tasks();
  if (workload_->model() != nullptr) result_.model = *workload_->model();
  result_.hazards = context_->Hazards();
  const auto completed = context_->CompletedOperations();
  const auto window = [](const auto& operations, uint64_t& begin, uint64_t& end) {
    if (operations.empty()) return;
    begin = operations.front().queued_ps;
    for (const flex::CompletedOperation& operation : operations) {
      begin = std::min(begin, operation.queued_ps);
      end = std::max(end, operation.finished_ps);
    }
  };
  window(completed, result_.begin_ps, result_.end_ps);
  window(result_.launches, result_.launch_begin_ps, result_.launch_end_ps);
  result_.tensor_memory = context_->Statistics(flex::MemoryKind::kTensor);
  result_.program_memory = context_->Statistics(flex::MemoryKind::kProgram);
  for (const flex::CompletedOperation& operation : completed) {
    result_.responses.push_back(fmt::format("stream {}: {} {} {}", operation.stream,
                                            OpcodeName(operation.opcode), operation.name,
                                            StatusName(operation.status)));
  }
  for (const HostData& output : tensors_.outputs) {
    result_.output_digest =
        XXH3_64bits_withSeed(output.data(), output.size(), result_.output_digest);
  }
}

// Tensors go first: the context must outlive them.
void FunctionRun::Close() {
  tensors_.device.clear();
  run_.reset();
  places_.clear();
  context_.reset();
}

void FunctionRun::Verify(const std::vector<HostData>* outputs,
                         const std::vector<CollectiveImages>* collectives) {
  if (!config_.workload.functional || config_.workload.verify == VerifyMode::kNone) return;
  const std::vector<WorkloadTensor>& tensors = workload_->tensors();
  const bool is_any_written =
      AnyFits(tensors, [](const WorkloadTensor& tensor) { return tensor.is_output; });
  if (!is_any_written) {
    result_.not_verified = "nothing that it writes is an argument";
    return;
  }
  const WallTimer timer(result_.wall.verify);
  Tell("verify");
  const CheckOptions options{config_.workload.verify == VerifyMode::kSample,
                             config_.workload.seed,
                             config_.workload.tolerance,
                             {},
                             config_.cards.number,
                             collectives};
  result_.verification =
      workload_->Verify(tensors_.inputs, outputs == nullptr ? tensors_.outputs : *outputs, options);
}

void FunctionRun::WriteTensors() {
  if (!config_.workload.functional) return;
  for (size_t i = 0; i < workload_->tensors().size(); ++i) {
    const WorkloadTensor& tensor = workload_->tensors()[i];
    if (!IsWritten(tensor)) continue;
    const std::string path = PathOf(tensor.name + ".npy");
    const HostData& data = tensor.is_output ? tensors_.outputs[i] : tensors_.inputs[i];
    WriteNpy(path, HostFormatOf(tensor.host_format).npy, tensor.shape, data.data());
    result_.tensor_paths[tensor.name] = path;
  }
}

}  // namespace spyre::cosim
