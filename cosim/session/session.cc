// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/build_info/build_info.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "cosim/measure/kernel_log.h"
#include "cosim/session/output_directory.h"
#include "cosim/session/session_card.h"
#include "cosim/session/session_paths.h"
#include "cosim/session/session_setup.h"
#include "cosim/tensors/npy.h"
#include "cosim/workload/input_data.h"
#include "cosim/workload/resolve.h"
#include "cosim/workload/workload.h"
#include "driver/physical_function.h"
#include "model/contract/control_block.h"
#include "runtime/spyre/spyre_tensor.h"
#include "traces/run_results.h"
#include "traces/trace_writer.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

// Adds the wall time of its life to `seconds`.
class WallTimer {
 public:
  explicit WallTimer(double& seconds) : seconds_(seconds) {}
  ~WallTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  WallTimer(const WallTimer&) = delete;
  WallTimer& operator=(const WallTimer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<model::UnitStatistics> UnitsOf(const model::Card* card) {
  return card == nullptr ? std::vector<model::UnitStatistics>() : card->Statistics();
}

class Session {
 public:
  Session(const RunConfig& config, std::string out_dir, const SessionOptions& options)
      : config_(config),
        options_(options),
        workload_(ResolveWorkload(config)),
        recorder_(0, config.trace.enabled ? trace::CategoryMask(config.trace.categories) : 0) {
    result_.config = config;
    result_.description = workload_->description();
    result_.warnings = workload_->warnings();
    result_.decisions = workload_->decisions();
    if (options_.warn != nullptr) options_.warn(result_.warnings);
    result_.out_dir = std::move(out_dir);
    result_.transport = options_.transport;
  }

  RunResult Run() {
    {
      const WallTimer total(result_.wall.total);
      MakeOutputDirectory();
      Compile();
      try {
        Simulate();
      } catch (...) {
        Unplug();
        EndTrace();  // what happened up to the fault can be looked at
        throw;
      }
      Unplug();
      EndTrace();
      VerifyOutput();
      result_.wave_paths =
          card_->KeepWaves(!result_.verification || result_.verification->passed());
      // A full disk costs large files, not the report.
      try {
        WriteTensors();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kBadInput) throw;
        if (result_.unwritten.empty()) result_.unwritten = error.what();
      }
    }
    return std::move(result_);
  }

 private:
  void Report(const char* phase, uint64_t done = 0, uint64_t total = 0) {
    ThrowIfInterrupted();
    if (options_.progress != nullptr) options_.progress->Update(phase, done, total);
  }
  std::string PathOf(const std::string& name) const { return result_.out_dir + "/" + name; }
  // What an earlier run left would be taken for this one's.
  void MakeOutputDirectory() {
    result_.directory = std::make_shared<OutputDirectory>(result_.out_dir);
    std::vector<std::string> names = {"report.json", "trace.sctrace", "spyrecode"};
    for (const char* block : {"control", "management", "pt"}) {
      names.push_back(fmt::format("waves_{}.fst", block));
      names.push_back(fmt::format("waves_{}_earlier.fst", block));
    }
    std::vector<std::string> inputs = options_.inputs;
    for (const Field& field : Fields(config_)) {
      if (!field.is_path) continue;
      if (const auto* path = std::get_if<std::string*>(&field.value)) inputs.push_back(**path);
      if (const auto* list = std::get_if<std::vector<std::string>*>(&field.value))
        inputs.insert(inputs.end(), (*list)->begin(), (*list)->end());
    }
    for (const WorkloadTensor& tensor : workload_->tensors()) {
      inputs.push_back(tensor.file);
      // An input that is read from there is no file of an earlier run.
      std::error_code error;
      const std::string path = PathOf(tensor.name + ".npy");
      if (IsWritten(tensor) || tensor.file.empty() || !fs::equivalent(path, tensor.file, error))
        names.push_back(tensor.name + ".npy");
    }
    result_.directory->Clear(names, inputs);
    if (!options_.record.empty()) RefuseToOverwrite(options_.record, inputs);
  }

  bool IsWritten(const WorkloadTensor& tensor) const {
    if (!config_.workload.functional) return false;
    return tensor.is_output ? config_.output.tensors : config_.output.inputs && tensor.file.empty();
  }

  void Compile() {
    const WallTimer timer(result_.wall.compile);
    Report("compile");
    result_.spyrecode_dir = PathOf("spyrecode");
    compiled_ = workload_->Compile(result_.spyrecode_dir);
    result_.kernel_names = compiled_.kernel_names;
    result_.plan = compiled_.plan;
    result_.steps = compiled_.steps;
  }

  void StartTrace() {
    if (!config_.trace.enabled) return;
    const std::string metadata =
        fmt::format("{{\"workload\": \"{}\", \"mode\": \"{}\", \"build\": {}, \"config\": {}}}",
                    result_.description, Name(config_.mode), ToJson(ThisBuild()), ToJson(config_));
    trace_ = std::make_unique<trace::TraceWriter>(PathOf("trace.sctrace"), metadata,
                                                  config_.trace.capacity);
    recorder_.HandTo(*trace_, trace_->block_records());
  }

  void Plug() {
    card_ = std::make_unique<SessionCard>(config_, options_, result_.out_dir, &recorder_);
    card_->LogWaits(&host_waits_);
    driver::Transport& card = card_->transport();
    const bool virtual_function = config_.mode == FunctionMode::kVirtual;
    const flex::RuntimeOptions options = RuntimeOptionsOf(config_, &recorder_);
    if (virtual_function) {
      admin_ = std::make_unique<driver::Device>(card, 0, options.device);
      driver::PhysicalFunction physical(*admin_);
      physical.EnableVirtualFunctions(static_cast<int>(config_.card.num_vfs));
      AssignRegions(physical, config_.card.usable_bytes(), config_.card.num_vfs);
    }
    context_ = std::make_unique<flex::RuntimeContext>(card, virtual_function ? 1 : 0, options);
    card_->Check(context_->identity());
  }

  // Tensors go first: the context must outlive them.
  void Unplug() {
    tensors_.device.clear();
    run_.reset();
    context_.reset();
    admin_.reset();
    if (card_) card_->Close();
  }

  void Simulate() {
    StartTrace();
    Report("open the card");
    {
      const WallTimer timer(result_.wall.model);
      Plug();
      // Device memory first: what does not fit fails before host memory is taken.
      for (size_t i = 0; i < compiled_.chunks.size(); ++i) {
        const Chunks& chunks = compiled_.chunks[i];
        tensors_.device.push_back(runtime::AllocateTensorInterleaved(
            *context_, workload_->tensors()[i].layout, chunks.count, chunks.granularity));
      }
    }
    if (config_.workload.functional) LoadInputs();

    const WallTimer timer(result_.wall.model);
    run_ = workload_->Open(*context_, tensors_);
    Prepare();
    Launch();
    const uint64_t queued = context_->Counts().queued;
    run_->CopyOutputs();
    if (context_->Counts().queued != queued) Wait("copy outputs");
    Finish();
  }

  // What must be on the device before the launch.
  void Prepare() {
    constexpr const char* kPhase = "copy inputs and programs";
    Report(kPhase);
    run_->CopyInputs();
    const uint64_t before = context_->Counts().queued;
    run_->LoadPrograms();
    result_.program_loads = context_->Counts().queued - before;
    Wait(kPhase);
  }

  void LoadInputs() {
    const WallTimer timer(result_.wall.generate);
    const InputOptions options{config_.workload.distribution, config_.workload.seed};
    for (const WorkloadTensor& tensor : workload_->tensors()) {
      Report("inputs", tensors_.inputs.size(), workload_->tensors().size());
      tensors_.inputs.push_back(tensor.is_input ? LoadInput(options, tensor) : HostData());
      tensors_.outputs.emplace_back(tensor.is_output ? tensor.host_bytes() : 0);
    }
  }

  void Launch() {
    const flex::OperationCounts before = context_->Counts();
    const driver::QueueStatistics queue = context_->QueueStatistics();
    const HostTime host = card_->host_time();
    const size_t first = context_->CompletedOperations().size();
    model::Card* const model = card_->model();
    std::vector<model::UnitStatistics> units_before = UnitsOf(model);
    // A model launches the same few kernels so often that their steps would fill the memory.
    const bool with_steps = workload_->model() == nullptr || config_.trace.enabled;
    std::optional<KernelLog> log;
    if (model != nullptr) log.emplace(*model, &recorder_, compiled_.marks, with_steps);
    run_->Launch();
    Wait("launch");
    if (log) result_.kernel_usages = log->Take();
    log.reset();
    const flex::OperationCounts after = context_->Counts();
    result_.launch_counts = {after.queued - before.queued, after.completed - before.completed,
                             after.failed - before.failed,
                             after.not_executed - before.not_executed};
    const driver::QueueStatistics queue_after = context_->QueueStatistics();
    result_.launch_doorbells = queue_after.submission_doorbells - queue.submission_doorbells;
    result_.launch_interrupts = queue_after.interrupts - queue.interrupts;
    result_.launch_host = card_->host_time().Since(host);
    const auto completed = context_->CompletedOperations();
    result_.launches.assign(completed.begin() + static_cast<ptrdiff_t>(first), completed.end());
    result_.launch_units = UnitsOf(model);
    for (size_t i = 0; i < units_before.size(); ++i) {
      result_.launch_units[i] = result_.launch_units[i].Since(units_before[i]);
    }
  }

  // Waits for every stream, telling the listener of every response on the way.
  void Wait(const char* phase) {
    {
      const auto lock = context_->Lock();
      flex::Scheduler& scheduler = context_->scheduler();
      const flex::OperationCounts start = scheduler.Counts();
      const uint64_t base = start.completed + start.failed + start.not_executed;
      while (!scheduler.Idle()) {
        scheduler.Progress();
        const flex::OperationCounts now = scheduler.Counts();
        Report(phase, now.completed + now.failed + now.not_executed - base, now.queued - base);
      }
    }
    context_->Synchronize();
  }

  void Finish() {
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
    model::Card* const model = card_->model();
    if (model != nullptr) model->CheckRtl();
    for (const flex::CompletedOperation& operation : completed) {
      result_.responses.push_back(fmt::format("stream {}: {} {} {}", operation.stream,
                                              OpcodeName(operation.opcode), operation.name,
                                              StatusName(operation.status)));
    }
    for (const HostData& output : tensors_.outputs) {
      result_.output_digest =
          XXH3_64bits_withSeed(output.data(), output.size(), result_.output_digest);
    }
    result_.units = UnitsOf(model);
    result_.sim_ps = card_->transport().NowPs();
    if (model == nullptr) return;
    results_ = FollowPaths(result_, completed, host_waits_);
    const auto& log = model->management().log();
    result_.firmware_log.assign(log.begin(), log.end());
    if (const model::FastStatistics* fast = model->fast()) result_.fast = *fast;
  }

  void EndTrace() {
    result_.trace_digest = recorder_.Digest();
    if (trace_ == nullptr) return;
    recorder_.Flush();
    result_.trace_records = trace_->records();
    result_.trace_dropped = trace_->dropped();
    try {
      trace_->Finish(results_.known() ? trace::EncodeRunResults(results_) : "{}");
      result_.trace_path = PathOf("trace.sctrace");
      result_.trace_bytes = trace_->file_bytes();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      result_.unwritten = error.what();
    }
  }

  void VerifyOutput() {
    if (!config_.workload.functional || config_.workload.verify == VerifyMode::kNone) return;
    const WallTimer timer(result_.wall.verify);
    Report("verify");
    const CheckOptions options{config_.workload.verify == VerifyMode::kSample,
                               config_.workload.seed, config_.workload.tolerance};
    result_.verification = workload_->Verify(tensors_.inputs, tensors_.outputs, options);
  }

  void WriteTensors() {
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

  RunConfig config_;
  const SessionOptions options_;
  const std::unique_ptr<Workload> workload_;
  CompiledWorkload compiled_;
  RunResult result_;
  std::unique_ptr<trace::TraceWriter> trace_;  // null: not asked for
  trace::Recorder recorder_;

  std::vector<HostWait> host_waits_;
  trace::RunResults results_;  // for the trace
  std::unique_ptr<SessionCard> card_;
  std::unique_ptr<driver::Device> admin_;  // VF mode: the PF, which set the VFs up
  std::unique_ptr<flex::RuntimeContext> context_;
  RunTensors tensors_;
  std::unique_ptr<WorkloadRun> run_;
};

}  // namespace

RunResult RunSession(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  return Session(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
