// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/interrupt.h"
#include "cosim/measure/kernel_log.h"
#include "cosim/session/card_reading.h"
#include "cosim/session/cards_session.h"
#include "cosim/session/function_run.h"
#include "cosim/session/output_directory.h"
#include "cosim/session/session_card.h"
#include "cosim/session/session_faults.h"
#include "cosim/session/session_paths.h"
#include "cosim/session/session_setup.h"
#include "cosim/session/session_trace.h"
#include "cosim/session/tenants_session.h"
#include "cosim/session/wall_timer.h"
#include "driver/physical_function.h"
#include "traces/run_results.h"

namespace spyre::cosim {
namespace {

class Session {
 public:
  Session(const RunConfig& config, std::string out_dir, const SessionOptions& options)
      : config_(config),
        options_(options),
        function_(
            config, std::move(out_dir),
            [this](const char* phase, uint64_t done, uint64_t total) {
              Report(phase, done, total);
            },
            result_),
        trace_(config.trace) {
    if (!config.card.faults.empty() && config.card.fidelity == model::Fidelity::kFast) {
      result_.warnings.emplace_back(
          "card.fidelity = \"fast\": with [[fault]] every launch is simulated whole, as with "
          "\"timed\"");
    }
    if (options_.warn != nullptr) options_.warn(result_.warnings);
    result_.transport = options_.transport;
  }

  RunResult Run() {
    {
      const WallTimer total(result_.wall.total);
      MakeOutputDirectory();
      function_.Compile();
      try {
        Simulate();
      } catch (const Error& error) {
        EndInFault(error);
        throw;
      } catch (...) {
        Unplug();
        trace_.End(result_, results_);  // what happened up to the fault can be looked at
        throw;
      }
      ReadFaults();
      Unplug();
      trace_.End(result_, results_);
      function_.Verify();
      result_.faults =
          faults_.Settle(nullptr, result_.verification ? &*result_.verification : nullptr);
      result_.wave_paths =
          card_->KeepWaves(!result_.verification || result_.verification->passed());
      // A full disk costs large files, not the report.
      try {
        function_.WriteTensors();
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

  // What an earlier run left would be taken for this one's.
  void MakeOutputDirectory() {
    result_.directory = std::make_shared<OutputDirectory>(result_.out_dir);
    std::vector<std::string> names = function_.FileNames(), inputs = function_.InputPaths();
    for (const std::string& name : FilesOfAnyRun()) names.push_back(name);
    inputs.insert(inputs.end(), options_.inputs.begin(), options_.inputs.end());
    result_.directory->Clear(names, inputs);
    if (!options_.record.empty()) RefuseToOverwrite(options_.record, inputs);
  }

  void Plug() {
    card_ = std::make_unique<SessionCard>(config_, options_, result_.out_dir, &trace_.recorder());
    card_->LogWaits(&host_waits_);
    Watch();
    driver::Transport& card = card_->transport();
    const bool virtual_function = config_.mode == FunctionMode::kVirtual;
    const flex::RuntimeOptions options = RuntimeOptionsOf(config_, &trace_.recorder());
    if (virtual_function) {
      admin_ = std::make_unique<driver::Device>(card, 0, options.device);
      driver::PhysicalFunction physical(*admin_);
      physical.EnableVirtualFunctions(static_cast<int>(config_.card.num_vfs));
      AssignRegions(physical, config_.card.usable_bytes(), config_.card.num_vfs);
    }
    function_.Open(card, virtual_function ? 1 : 0, options);
    card_->Check(function_.context().identity());
  }

  // What happened up to the fault can be looked at.
  void EndInFault(const Error& error) {
    ReadFaults();
    result_.faults = faults_.Settle(&error, nullptr);
    Unplug();
    trace_.End(result_, results_);
    if (error.kind() == ErrorKind::kDeviceFault && !result_.faults.empty())
      ThrowFaulted(error, std::move(result_));
  }

  void ReadFaults() {
    flex::RuntimeContext* const context = function_.is_open() ? &function_.context() : nullptr;
    if (card_ != nullptr && faults_.Read(*card_, context, config_.workload.functional))
      result_.sim_ps = card_->transport().NowPs();
  }

  // Readings of the card, for those who asked for them.
  void Watch() {
    if (options_.monitor == nullptr) return;
    card_->SampleEvery(options_.monitor->interval_ps(), [this] { TakeReading(); });
    TakeReading();
  }
  void TakeReading() {
    SmiReading reading = ReadCard(*card_->model());
    reading.host_busy_ps = card_->host_time().busy_ps;
    if (function_.is_open()) {
      const flex::RuntimeContext& context = function_.context();
      const flex::MemoryStatistics tensors = context.Statistics(flex::MemoryKind::kTensor);
      const flex::MemoryStatistics programs = context.Statistics(flex::MemoryKind::kProgram);
      reading.active_bytes = tensors.used_bytes + programs.used_bytes;
      reading.peak_bytes = tensors.peak_bytes + programs.peak_bytes;
    }
    options_.monitor->Take(reading);
  }

  void Unplug() {
    function_.Close();
    admin_.reset();
    if (card_) card_->Close();
  }

  void Simulate() {
    trace_.Start(result_);
    Report("open the card");
    {
      const WallTimer timer(result_.wall.model);
      Plug();
    }
    function_.LoadInputs();
    const WallTimer timer(result_.wall.model);
    function_.Prepare();
    Launch();
    function_.CopyOutputs();
    Finish();
  }

  void Launch() {
    const HostTime host = card_->host_time();
    model::Card* const model = card_->model();
    const std::vector<model::UnitStatistics> before = UnitsOf(model);
    const model::Activity done = model == nullptr ? model::Activity() : model->telemetry().Done();
    // A model launches the same few kernels so often that their steps would fill the memory.
    const bool with_steps = function_.workload().model() == nullptr || config_.trace.enabled;
    std::optional<KernelLog> log;
    if (model != nullptr)
      log.emplace(*model, &trace_.recorder(), function_.compiled().marks, with_steps);
    function_.Launch();
    if (log) result_.kernel_usages = log->Take();
    log.reset();
    result_.launch_host = card_->host_time().Since(host);
    result_.launch_units = UnitsOf(model);
    if (model != nullptr) result_.launch_activity = model->telemetry().Done() - done;
    for (size_t i = 0; i < before.size(); ++i)
      result_.launch_units[i] = result_.launch_units[i].Since(before[i]);
  }

  void Finish() {
    function_.Finish();
    if (options_.monitor != nullptr) TakeReading();
    card_->Finish(result_);
    if (card_->model() != nullptr)
      results_ = FollowPaths(result_, function_.context().CompletedOperations(), host_waits_);
  }

  const RunConfig config_;
  const SessionOptions options_;
  RunResult result_;
  FunctionRun function_;
  SessionTrace trace_;

  std::vector<HostWait> host_waits_;
  trace::RunResults results_;  // for the trace
  std::unique_ptr<SessionCard> card_;
  std::unique_ptr<driver::Device> admin_;  // VF mode: the PF, which set the VFs up
  SessionFaults faults_;
};

}  // namespace

RunResult RunSession(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  if (config.cards.count > 1) return RunCards(config, out_dir, options);
  if (!config.tenants.list.json.empty()) return RunTenants(config, out_dir, options);
  return Session(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
