// SPDX-License-Identifier: Apache-2.0
#include "cosim/trials/run_trials.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/joined.h"
#include "cosim/report/kernel_ranking.h"
#include "cosim/report/report_cards.h"
#include "cosim/report/report_energy.h"
#include "cosim/report/report_fast.h"
#include "cosim/report/report_usage.h"
#include "cosim/session/formula_run.h"
#include "cosim/trials/processes.h"
#include "cosim/verdict/judged_run.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string DivisionText(const compiler::KernelPlan& plan) {
  std::string text;
  for (const auto& [dimension, parts] : plan.split)
    text += fmt::format("{}{} {}", text.empty() ? "" : " x ", dimension, parts);
  return text;
}

// What came of a trial whose process says that it has failed.
TrialStatus StatusOf(int exit_status) {
  switch (exit_status) {
    case kBadInputStatus:
      return TrialStatus::kInfeasible;
    case kFaultStatus:
      return TrialStatus::kFault;
    default:
      return TrialStatus::kError;
  }
}

TrialResult Failed(TrialStatus status, const std::string& reason) {
  TrialResult result;
  result.status = status;
  result.reason = reason.empty() ? "an error without a message" : reason;
  return result;
}

// The figures of a run that has come to its end.
TrialResult FiguresOf(const RunResult& run) {
  const OperationUsage launches = UsageOfLaunches(run);
  const std::optional<LaunchEnergy> energy = EnergyOfLaunches(run);
  const double energy_uj = energy ? energy->TotalUj() : 0;  // 0: nothing was launched
  const auto launch_ps = static_cast<double>(run.launch_end_ps - run.launch_begin_ps);
  double device_ps = 0, kernels = 0, macs = 0, read = 0, written = 0;
  for (const flex::CompletedOperation& operation : run.launches) {
    if (!run.IsKernel(operation)) continue;
    kernels += 1;
    device_ps += static_cast<double>(operation.finished_ps - operation.started_ps);
    macs += static_cast<double>(operation.macs);
    read += static_cast<double>(operation.device_bytes_read);
    written += static_cast<double>(operation.device_bytes_written);
  }
  TrialResult result;
  result.numbers = {launch_ps / 1000,
                    device_ps / 1000,
                    static_cast<double>(run.end_ps - run.begin_ps) / 1000,
                    kernels,
                    macs,
                    device_ps == 0 ? 0 : macs / device_ps,  // MAC/ps are TMAC/s
                    read,
                    written,
                    launches.roofline.compute_share,
                    launches.roofline.memory_share,
                    static_cast<double>(run.plan.cores_used),
                    static_cast<double>(run.plan.lx_bytes_used),
                    energy_uj,
                    energy ? energy->UjPerToken().value_or(NAN) : NAN,
                    energy_uj * launch_ps / 1e6,
                    run.cards.empty() || CollectivePs(run) == 0
                        ? NAN
                        : static_cast<double>(CollectivePs(run)) / 1000,
                    static_cast<double>(ProgramPs(run)) / 1000};
  result.texts = {launches.roofline.bound.resource, DivisionText(run.plan)};
  if (run.formula) {
    const Peaks peaks = PeaksOf(run.config.card, static_cast<uint64_t>(run.plan.cores_used));
    const double s = device_ps * 1e-12;
    result.numbers[NumberFigure("compute_share")] = s == 0 ? 0 : macs / s / peaks.macs_per_s;
    result.numbers[NumberFigure("memory_share")] =
        s == 0 ? 0 : (read + written) / s / peaks.memory_bytes_per_s;
    result.texts.front() = FormulaBound(run);
  }
  return result;
}

std::vector<TrialKernel> TrialKernelsOf(const RunResult& run) {
  std::vector<TrialKernel> kernels;
  for (const RankedKernel& kernel : RankedKernels(run, run.LaunchPs())) {
    kernels.push_back({kernel.total.name, kernel.total.PartsText(), kernel.total.launches,
                       static_cast<double>(kernel.total.device_ps) / 1000, kernel.bound_by,
                       kernel.need == nullptr ? "" : kernel.need->name, kernel.gain});
  }
  return kernels;
}

// What `judged` is told, in its words.
void SetVerdict(const JudgedRun& judged, TrialResult& result) {
  result.status = judged.Status() == kDone ? TrialStatus::kDone : TrialStatus::kWrong;
  result.unmet = judged.Unmet();
  if (!judged.Verified().value_or(true)) {
    result.status = TrialStatus::kWrong;
    const Verification& verification = *judged.result.verification;
    result.reason = fmt::format("{} of {} elements of the outputs are wrong",
                                verification.mismatches, verification.elements);
  } else if (!judged.difference.empty()) {
    result.status = TrialStatus::kWrong;
    result.reason = "it differs from the run that output.compare asks for: " + judged.difference;
  } else if (!result.unmet.empty()) {
    result.status = TrialStatus::kUnmet;
    result.reason = fmt::format("{}", Joined(result.unmet, "; "));
  }
}

// Of a trial, as its options ask for it.
void Prepare(const TrialOptions& options, RunConfig& trial) {
  const ExpectConfig& expect = trial.expect;
  const bool judged_by_trace = options.judge && (!expect.rules.empty() || !expect.digest.empty());
  trial.trace.enabled = options.traces || judged_by_trace;
  trial.output.tensors = false;
  trial.output.inputs = false;
  if (!options.verify) {
    trial.workload.functional = false;
    trial.output.compare = Comparison::kNone;
  }
  if (!options.judge) trial.expect = {};
}

// Where the files of a trial go; gone with this object if nobody wants to keep them.
class TrialDirectory {
 public:
  TrialDirectory(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}
  ~TrialDirectory() {
    std::error_code ignored;
    if (!keep_) fs::remove_all(path_, ignored);  // many trials would fill the disk
  }
  TrialDirectory(const TrialDirectory&) = delete;
  TrialDirectory& operator=(const TrialDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const bool keep_;
};

// The trials of one process: as many by the closed form as a moment allows, or one that is
// simulated, because SystemC has one card in a process.
class TrialsOfProcess {
 public:
  TrialsOfProcess(const TrialConfig& config, const TrialOptions& options, const std::string& root)
      : config_(config), options_(options), root_(root) {}

  std::vector<Json> Run(size_t first, size_t end) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kMoment{200};
    std::vector<Json> answers;
    const auto begin = Clock::now();
    for (size_t number = first; number < end; ++number) {
      const auto start = Clock::now();
      if (number > first && start - begin > kMoment) break;
      Json answer = AnswerOrFailure([&] {
        const std::optional<TrialResult> result = RunOne(number, number == first);
        return result ? ToJson(*result) : Json();
      });
      if (answer.is_null()) break;
      answer["wall_s"] = std::chrono::duration<double>(Clock::now() - start).count();
      answers.push_back(std::move(answer));
      if (is_simulated_) break;
    }
    return answers;
  }

 private:
  // Nothing if it has to be simulated, and may not.
  std::optional<TrialResult> RunOne(size_t number, bool may_be_simulated) {
    try {
      is_simulated_ = false;
      RunConfig trial = config_(number);
      Prepare(options_, trial);
      is_simulated_ = !IsByFormula(trial) || trial.output.compare != Comparison::kNone;
      if (is_simulated_ && !may_be_simulated) return std::nullopt;
      const bool keeps = !options_.directory.empty();
      // The closed form itself needs no directory.
      const TrialDirectory directory(
          keeps || is_simulated_ ? fmt::format("{}/{}", root_, NameOf(number)) : "", keeps);
      const JudgedRun judged = RunAndJudge(trial, directory.path());
      if (keeps) WriteReport(judged);
      TrialResult result = FiguresOf(judged.result);
      if (options_.kernels) result.kernels = TrialKernelsOf(judged.result);
      SetVerdict(judged, result);
      return result;
    } catch (const std::bad_alloc&) {  // another machine, or fewer at a time, may do better
      return Failed(TrialStatus::kError, "not enough host memory");
    } catch (const std::system_error& error) {
      return Failed(TrialStatus::kError, error.what());
    }
  }

  std::string NameOf(size_t number) const {
    return options_.name_of ? options_.name_of(number) : std::to_string(number);
  }

  const TrialConfig& config_;
  const TrialOptions& options_;
  const std::string& root_;
  bool is_simulated_ = false;  // the last one
};

TrialResult ResultOf(const Json& answer) {
  const auto failure = answer.find("error");
  if (failure == answer.end()) return TrialResultOf(answer);
  if ((*failure)["type"] == "Interrupted") throw Interruption(SIGINT, "a trial was interrupted");
  TrialResult result =
      Failed(StatusOf(answer["exit_status"].get<int>()), (*failure)["message"].get<std::string>());
  result.wall_s = answer.value("wall_s", 0.0);  // not of one whose process has died
  return result;
}

}  // namespace

void RunTrials(size_t count, const TrialConfig& config, const TrialOptions& options,
               const std::function<void(size_t number, TrialResult result)>& ended) {
  std::optional<ScratchDirectory> scratch;
  if (options.directory.empty()) scratch.emplace("trials");
  const std::string& root = scratch ? scratch->path() : options.directory;
  RunInFewProcesses(
      count, options.jobs,
      [&](size_t first, size_t end) {
        return TrialsOfProcess(config, options, root).Run(first, end);
      },
      [&](size_t number, const Json& answer) { ended(number, ResultOf(answer)); });
}

std::vector<TrialResult> RunTrials(const std::vector<RunConfig>& configs,
                                   const TrialOptions& options,
                                   const std::function<void(size_t done)>& progress) {
  std::vector<TrialResult> results(configs.size());
  size_t done = 0;
  RunTrials(
      configs.size(), [&](size_t number) { return configs[number]; }, options,
      [&](size_t number, TrialResult result) {
        results[number] = std::move(result);
        ++done;
        if (progress) progress(done);
      });
  return results;
}

}  // namespace spyre::cosim
