#include "cosim/session.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cosim/inprocess_transport.h"
#include "cosim/issue_run.h"
#include "cosim/kernel_log.h"
#include "cosim/launch_settings.h"
#include "cosim/npy.h"
#include "cosim/recording_transport.h"
#include "cosim/session_setup.h"
#include "cosim/workload.h"
#include "cosim/workload_run.h"
#include "driver/physical_function.h"
#include "model/contract/control_block.h"
#include "model/contract/error.h"
#include "model/rtl/waves.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tensor_copy.h"
#include "traces/trace_file.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPsPerNs = 1000;

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

class Session {
 public:
  Session(const RunConfig& config, std::string out_dir, const SessionOptions& options)
      : config_(config),
        options_(options),
        workload_(ResolveWorkload(config)),
        recorder_(config.trace.capacity,
                  config.trace.enabled ? trace::CategoryMask(config.trace.categories) : 0) {
    result_.config = config;
    result_.description = workload_.description;
    result_.out_dir = std::move(out_dir);
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
        WriteTraceFile();  // up to the fault, so that it can be looked at
        throw;
      }
      Unplug();
      WriteTraceFile();
      VerifyOutput();
      KeepWaves();
      WriteTensors();
    }
    return std::move(result_);
  }

 private:
  void Report(const char* phase, uint64_t done = 0, uint64_t total = 0) {
    if (options_.progress != nullptr) options_.progress->Update(phase, done, total);
  }
  std::string PathOf(const std::string& name) const { return result_.out_dir + "/" + name; }
  std::string WavesPath(const std::string& block) const {
    return PathOf("waves_" + block + ".fst");
  }

  void MakeOutputDirectory() const {
    std::error_code error;
    fs::create_directories(result_.out_dir, error);
    if (error || !fs::is_directory(result_.out_dir)) {
      throw BadInput(
          "--out {}: cannot make the directory: {}", result_.out_dir,
          fs::exists(result_.out_dir) ? "there is a file of that name" : error.message());
    }
    // What an earlier run left would be taken for this one's.
    for (const char* name : {"report.json", "trace.sctrace"}) fs::remove(PathOf(name), error);
    for (const char* block : {"control", "management", "pt"})
      model::Waves(WavesPath(block), {}).Discard();
    for (const WorkloadTensor& tensor : workload_.tensors)
      fs::remove(PathOf(tensor.name + ".npy"), error);
    fs::remove_all(PathOf("spyrecode"), error);
  }

  void Compile() {
    const WallTimer timer(result_.wall.compile);
    Report("compile");
    result_.spyrecode_dir = PathOf("spyrecode");
    if (workload_.issue != nullptr) {
      chunks_.resize(workload_.tensors.size());
      for (const compiler::Kernel& kernel : CompileIssue(*workload_.issue, result_.spyrecode_dir)) {
        result_.kernel_names.insert(kernel.name);
        if (kernel.plan.cores_used > result_.plan.cores_used) result_.plan = kernel.plan;
      }
      return;
    }
    const compiler::Kernel kernel = CompileWorkload(workload_);
    compiler::WriteSpyreCode(kernel, result_.spyrecode_dir);
    compiler::WriteTileKernels(CompileTileKernels(config_.workload.launch, workload_),
                               result_.spyrecode_dir);
    chunks_ = ChunksOf(config_.workload.launch, workload_, kernel);
    result_.kernel_names = {kernel.name};
    result_.plan = kernel.plan;
    if (workload_.bundle != nullptr)
      result_.steps = StepsOf(workload_.bundle->bundle, workload_.bundle->dimensions);
    steps_ = kernel.steps;
    if (workload_.bundle == nullptr)
      workload_.problem.slice_ends = ReducedSliceEnds(workload_, kernel.plan);
  }

  void Plug() {
    const HostTiming timing{config_.host.register_write_ns, config_.host.register_read_ns,
                            config_.host.interrupt_ns};
    transport_ = std::make_unique<InProcessTransport>(config_.card, timing, &recorder_);
    if (options_.debugger != nullptr) transport_->card().SetDebugger(options_.debugger);
    AttachWaves();
    driver::Transport& card = Record();
    const bool virtual_function = config_.mode == "vf";
    const flex::RuntimeOptions options = RuntimeOptionsOf(config_, &recorder_);
    if (virtual_function) {
      admin_ = std::make_unique<driver::Device>(card, 0, options.device);
      driver::PhysicalFunction physical(*admin_);
      physical.EnableVirtualFunctions(static_cast<int>(config_.card.num_vfs));
      AssignRegions(physical, config_.card.usable_bytes(), config_.card.num_vfs);
    }
    context_ = std::make_unique<flex::RuntimeContext>(card, virtual_function ? 1 : 0, options);
  }

  // What the driver is to use: the card itself, or a recording of it.
  driver::Transport& Record() {
    if (options_.record.empty()) return *transport_;
    RunConfig config = config_;
    config.preset = RunConfig().preset;  // its values are in the keys; its file may not be there
    recording_ = std::make_unique<RecordingTransport>(*transport_, options_.record, ToToml(config));
    return *recording_;
  }

  void AttachWaves() {
    const WavesConfig& waves = config_.trace.waves;
    if (waves.block == "none") return;
    model::WaveWindow window;
    window.from_ps = waves.from * kPsPerNs;
    if (waves.to != 0) window.to_ps = waves.to * kPsPerNs;
    if (waves.on_error) window.rolling_dumps = 2 * waves.cycles;  // both edges
    waves_ = std::make_unique<model::Waves>(WavesPath(waves.block), window);
    transport_->card().AttachWaves(waves.block, waves_.get());
  }

  // Of a run that reached its end.
  void KeepWaves() {
    if (waves_ == nullptr) return;
    const bool passed = !result_.verification || result_.verification->passed();
    if (config_.trace.waves.on_error && passed) waves_->Discard();
    result_.wave_paths = waves_->Files();
  }

  // Tensors go first: the context must outlive them.
  void Unplug() {
    tensors_.clear();
    kernels_.reset();
    issue_.reset();
    context_.reset();
    admin_.reset();
    if (recording_) recording_->Finish();
    recording_.reset();
    transport_.reset();
    if (waves_ != nullptr) waves_->Close();
  }

  void Simulate() {
    Report("open the card");
    {
      const WallTimer timer(result_.wall.model);
      Plug();
      // Device memory first: what does not fit fails before host memory is taken.
      for (size_t i = 0; i < chunks_.size(); ++i) {
        tensors_.push_back(runtime::AllocateTensorInterleaved(
            *context_, workload_.tensors[i].layout, chunks_[i].count, chunks_[i].granularity));
      }
    }
    if (config_.workload.functional) LoadInputs();

    const WallTimer timer(result_.wall.model);
    if (workload_.issue != nullptr) {
      RunIssue();
    } else {
      RunKernel();
    }
    Finish();
  }

  // One kernel, between the copies of its tensors.
  void RunKernel() {
    runtime::SpyreStream stream = runtime::SpyreStream::Default(*context_);
    Report("copy inputs and program");
    CopyInputs(stream);
    kernels_ = std::make_unique<runtime::KernelSet>(fs::path(result_.spyrecode_dir));
    Load([&] { runtime::LoadKernels(stream, *kernels_); });
    Wait("copy inputs and program");
    const BundleWork* bundle = workload_.bundle.get();
    Launch([&] {
      runtime::LaunchKernel(stream, *kernels_, tensors_, LaunchOptionsOf(config_.workload.launch),
                            bundle == nullptr ? std::vector<int64_t>() : bundle->dimensions);
    });
    CopyOutputs(stream);
  }

  // Many kernels: their programs are there before, copies of tensors are among the launches.
  void RunIssue() {
    Report("copy programs");
    issue_ = std::make_unique<IssueRun>(*context_, workload_, config_.workload.issue,
                                        result_.spyrecode_dir);
    Load([&] { issue_->Load(); });
    Wait("copy programs");
    Launch([&] { issue_->Enqueue(tensors_, inputs_, outputs_); });
    result_.issue = issue_->summary();
    result_.transfers = result_.issue->copies;
  }

  void LoadInputs() {
    const WallTimer timer(result_.wall.generate);
    Report("inputs");
    for (const WorkloadTensor& tensor : workload_.tensors) {
      inputs_.push_back(tensor.is_input ? LoadInput(config_, tensor) : HostData());
      outputs_.emplace_back(tensor.is_output ? tensor.host_bytes() : 0);
    }
  }

  void CopyInputs(runtime::SpyreStream& stream) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const WorkloadTensor& tensor = workload_.tensors[i];
      if (!tensor.is_input) continue;
      const void* host = inputs_.empty() ? nullptr : inputs_[i].data();
      runtime::CopyTensorToDevice(stream, tensors_[i], host, tensor.host_format, tensor.name);
      result_.transfers += runtime::PiecesOf(tensors_[i]).size();
    }
  }

  template <class Enqueue>
  void Load(Enqueue enqueue) {
    const uint64_t before = context_->Counts().queued;
    enqueue();
    result_.program_loads = context_->Counts().queued - before;
  }

  template <class Enqueue>
  void Launch(Enqueue enqueue) {
    const flex::OperationCounts before = context_->Counts();
    const driver::QueueStatistics queue = context_->QueueStatistics();
    const HostTime host = transport_->host_time();
    const size_t first = context_->CompletedOperations().size();
    std::vector<model::UnitStatistics> units_before = transport_->card().Statistics();
    KernelLog log(transport_->card(), &recorder_, steps_);
    enqueue();
    Wait("launch");
    result_.kernel_usages = log.Take();
    const flex::OperationCounts after = context_->Counts();
    result_.launch_counts = {after.queued - before.queued, after.completed - before.completed,
                             after.failed - before.failed,
                             after.not_executed - before.not_executed};
    const driver::QueueStatistics queue_after = context_->QueueStatistics();
    result_.launch_doorbells = queue_after.submission_doorbells - queue.submission_doorbells;
    result_.launch_interrupts = queue_after.interrupts - queue.interrupts;
    result_.launch_host = transport_->host_time().Since(host);
    const auto completed = context_->CompletedOperations();
    result_.launches.assign(completed.begin() + static_cast<ptrdiff_t>(first), completed.end());
    result_.launch_units = transport_->card().Statistics();
    for (size_t i = 0; i < units_before.size(); ++i) {
      result_.launch_units[i] = result_.launch_units[i].Since(units_before[i]);
    }
  }

  void CopyOutputs(runtime::SpyreStream& stream) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const WorkloadTensor& tensor = workload_.tensors[i];
      if (!tensor.is_output) continue;
      void* host = outputs_.empty() ? nullptr : outputs_[i].data();
      runtime::CopyTensorFromDevice(stream, tensors_[i], host, tensor.host_format, tensor.name);
      result_.transfers += runtime::PiecesOf(tensors_[i]).size();
    }
    Wait("copy output");
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
    transport_->card().CheckRtl();
    for (const flex::CompletedOperation& operation : completed) {
      result_.responses.push_back(fmt::format("stream {}: {} {} {}", operation.stream,
                                              OpcodeName(operation.opcode), operation.name,
                                              StatusName(operation.status)));
    }
    for (const HostData& output : outputs_) {
      result_.output_digest =
          XXH3_64bits_withSeed(output.data(), output.size(), result_.output_digest);
    }
    const auto& log = transport_->card().management().log();
    result_.firmware_log.assign(log.begin(), log.end());
    result_.units = transport_->card().Statistics();
    result_.sim_ps = transport_->NowPs();
  }

  void WriteTraceFile() {
    result_.trace_digest = recorder_.Digest();
    result_.trace_dropped = recorder_.dropped();
    if (!config_.trace.enabled) return;
    Report("write the trace");
    const std::string metadata =
        fmt::format("{{\"workload\": \"{}\", \"mode\": \"{}\", \"config\": {}}}",
                    result_.description, config_.mode, ToJson(config_));
    const trace::Trace trace = trace::Snapshot(recorder_, metadata);
    result_.trace_records = trace.records.size();
    result_.trace_path = PathOf("trace.sctrace");
    trace::WriteTrace(trace, result_.trace_path);
  }

  void VerifyOutput() {
    if (!config_.workload.functional || config_.workload.verify == "none") return;
    const WallTimer timer(result_.wall.verify);
    Report("verify");
    result_.verification = VerifyWorkload(config_.workload, workload_, inputs_, outputs_);
  }

  void WriteTensors() {
    if (!config_.workload.functional) return;
    for (size_t i = 0; i < workload_.tensors.size(); ++i) {
      const WorkloadTensor& tensor = workload_.tensors[i];
      const bool wanted =
          tensor.is_output ? config_.output.tensors : config_.output.inputs && tensor.file.empty();
      if (!wanted) continue;
      const std::string path = PathOf(tensor.name + ".npy");
      const HostData& data = tensor.is_output ? outputs_[i] : inputs_[i];
      WriteNpy(path, HostFormatOf(tensor.host_format).npy, tensor.shape, data.data());
      result_.tensor_paths[tensor.name] = path;
    }
  }

  RunConfig config_;
  const SessionOptions options_;
  Workload workload_;
  RunResult result_;
  trace::Recorder recorder_;
  std::vector<Chunks> chunks_;      // of the tensors
  std::vector<std::string> steps_;  // names of the program's marks

  std::unique_ptr<model::Waves> waves_;
  std::unique_ptr<InProcessTransport> transport_;
  std::unique_ptr<RecordingTransport> recording_;  // null: not asked for
  std::unique_ptr<driver::Device> admin_;          // VF mode: the PF, which set the VFs up
  std::unique_ptr<flex::RuntimeContext> context_;
  std::vector<runtime::SpyreTensor> tensors_;
  std::unique_ptr<runtime::KernelSet> kernels_;
  std::unique_ptr<IssueRun> issue_;         // of a workload of many launches
  std::vector<HostData> inputs_, outputs_;  // as tensors; empty in a timing-only run
};

}  // namespace

RunResult RunSession(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  return Session(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
