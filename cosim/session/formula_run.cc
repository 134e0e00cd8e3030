// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/formula_run.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "cosim/estimate/kernel_estimate.h"
#include "cosim/session/output_directory.h"
#include "cosim/session/wall_timer.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim {
namespace {

void Refuse(const RunConfig& config, const SessionOptions& options) {
  const auto refuse = [](bool asked, const char* what) {
    if (!asked) return;
    throw BadInput(
        "card.fidelity = \"fast\" works out times by a closed form, which has no {}; "
        "card.fidelity = \"timed\" simulates the card",
        what);
  };
  refuse(config.card.concurrency != model::Concurrency::kSerial,
         "overlap of copies and kernels (card.concurrency)");
  refuse(config.trace.waves.block != WavesBlock::kNone, "waves (trace.waves.block)");
  refuse(config.trace.enabled && config.given.count("trace.enabled") != 0,
         "trace (trace.enabled = true)");
  refuse(!config.expect.rules.empty() || !config.expect.digest.empty(),
         "trace to judge ([expect] rules and digest)");
  refuse(!options.record.empty(), "accesses to record (--record)");
  refuse(!options.transport.empty(), "card in another process (--transport)");
  refuse(options.monitor != nullptr, "sensors to read");
  refuse(options.debugger != nullptr, "management controller to debug");
}

class FormulaRun {
 public:
  explicit FormulaRun(RunResult& result) : result_(result) {}

  void Add(const KernelLaunches& kernel) {
    const KernelEstimate estimate = Estimate(kernel, result_.config.card);
    const auto ps = static_cast<uint64_t>(std::llround(estimate.ns * 1000));
    result_.kernel_names.insert(kernel.kernel);
    result_.formula->kernels.push_back(
        {kernel.kernel, kernel.task, kernel.launches, ps, Name(estimate.bound)});
    for (uint64_t i = 0; i < kernel.launches; ++i) {
      flex::CompletedOperation& launch = result_.launches.emplace_back();
      launch.opcode = Opcode::COMPUTE;
      launch.status = Status::OK;
      launch.executed = true;
      launch.name = kernel.kernel;
      launch.label = kernel.task;
      launch.correlation = result_.launches.size();
      launch.queued_ps = launch.fetched_ps = launch.started_ps = now_ps_;
      now_ps_ += ps;
      launch.finished_ps = launch.posted_ps = now_ps_;
      launch.macs = estimate.macs;
      launch.device_bytes_read = estimate.bytes_read;
      launch.device_bytes_written = estimate.bytes_written;
      result_.kernel_numbers[launch.correlation] = result_.launches.size() - 1;
    }
  }

  void Finish() {
    result_.sim_ps = result_.end_ps = result_.launch_end_ps = now_ps_;
    result_.launch_counts.queued = result_.launch_counts.completed = result_.launches.size();
  }

 private:
  RunResult& result_;
  uint64_t now_ps_ = 0;
};

}  // namespace

bool IsByFormula(const RunConfig& config) {
  return config.card.fidelity == model::Fidelity::kFast && !config.workload.functional &&
         config.cards.count <= 1 && config.tenants.list.json.empty() &&
         config.card.faults.empty() && config.card.power.throttle == model::Throttle::kNone;
}

RunResult RunByFormula(const RunConfig& config, const std::string& out_dir,
                       const SessionOptions& options) {
  Refuse(config, options);
  RunResult result;
  {
    const WallTimer total(result.wall.total);
    result.config = config;
    result.config.trace.enabled = false;
    result.out_dir = out_dir;
    const std::unique_ptr<Workload> workload = ResolveWorkload(config);
    result.description = workload->description();
    result.warnings = workload->warnings();
    result.decisions = workload->decisions();
    if (workload->model() != nullptr) result.model = *workload->model();
    if (options.warn != nullptr) options.warn(result.warnings);
    WorkloadWork work = workload->Work();
    result.directory = std::make_shared<OutputDirectory>(out_dir);
    result.directory->Clear(FilesOfAnyRun(), options.inputs);
    result.plan = std::move(work.plan);
    result.formula.emplace();
    const WallTimer timer(result.wall.model);
    FormulaRun run(result);
    for (const KernelLaunches& kernel : work.kernels) run.Add(kernel);
    run.Finish();
  }
  return result;
}

}  // namespace spyre::cosim
