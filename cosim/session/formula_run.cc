// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/formula_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "cosim/estimate/collective_time.h"
#include "cosim/estimate/kernel_estimate.h"
#include "cosim/session/card_collective.h"
#include "cosim/session/output_directory.h"
#include "cosim/session/tenants_result.h"
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

uint64_t Ps(double ns) { return static_cast<uint64_t>(std::llround(ns * 1000)); }

// Of one card, or of the only one: its clock, and what it does.
class FormulaCard {
 public:
  FormulaCard(const RunConfig& config, RunResult& result) : config_(config), result_(result) {}

  uint64_t now_ps() const { return now_ps_; }
  void WaitUntil(uint64_t ps) { now_ps_ = ps; }

  void Launch(const KernelLaunches& kernel, const KernelEstimate& estimate) {
    result_.kernel_names.insert(kernel.kernel);
    for (uint64_t i = 0; i < kernel.launches; ++i) {
      flex::CompletedOperation& launch = result_.launches.emplace_back();
      launch.opcode = Opcode::COMPUTE;
      launch.status = Status::OK;
      launch.executed = true;
      launch.name = kernel.kernel;
      launch.label = kernel.task;
      launch.correlation = result_.launches.size();
      launch.queued_ps = launch.fetched_ps = launch.started_ps = now_ps_;
      now_ps_ += Ps(estimate.ns);
      launch.finished_ps = launch.posted_ps = now_ps_;
      launch.macs = estimate.macs;
      launch.device_bytes_read = estimate.bytes_read;
      launch.device_bytes_written = estimate.bytes_written;
      result_.kernel_numbers[launch.correlation] = result_.launches.size() - 1;
    }
    result_.launch_end_ps = now_ps_;
  }

  // As runtime::RuntimeContext::ChargeHostOperation.
  void ComputeOnHost(const std::string& result, const HostWork& work) {
    const auto bytes_per_ns = static_cast<double>(config_.host.operation_bytes_per_ns);
    const uint64_t ps = Ps(static_cast<double>(config_.host.operation_ns) +
                           static_cast<double>(work.bytes) / bytes_per_ns);
    result_.tasks->host_operations.push_back({result, work.op, ps});
    now_ps_ += ps;
    result_.launch_end_ps = now_ps_;
  }

  // in_list: between kernels, so that the window of the launch holds it.
  void EndCollective(uint64_t ps, bool in_list) {
    now_ps_ = ps;
    if (in_list) result_.launch_end_ps = ps;
  }

  void Finish() {
    result_.end_ps = now_ps_;
    result_.launch_counts.queued = result_.launch_counts.completed = result_.launches.size();
  }

 private:
  const RunConfig& config_;
  RunResult& result_;
  uint64_t now_ps_ = 0;
};

CollectiveTerms TermsOf(const RunConfig& config) {
  const HostConfig& host = config.host;
  CollectiveTerms terms;
  terms.card = config.card;
  terms.pcie_switch = config.cards.pcie_switch;
  terms.host.register_write_ns = static_cast<double>(host.register_write_ns);
  terms.host.submit_ns = static_cast<double>(host.submit_ns);
  const bool polls = config.runtime.completion == Completion::kPolled;
  terms.host.come_back_ns =
      static_cast<double>((polls ? config.runtime.poll_interval_ns : host.interrupt_ns) +
                          host.completion_ns + host.synchronise_ns);
  terms.host.launch_ns = static_cast<double>(host.dispatch_ns + host.launch_ns + host.map_ns);
  terms.addition_ns = [&config, known = std::map<uint64_t, double>()](uint64_t bytes) mutable {
    double& ns = known[bytes];
    if (ns == 0) {
      const WorkloadWork work = ResolveWorkload(AdditionOf(config, bytes))->Work();
      ns = Estimate(work.kernels.front(), config.card).ns;
    }
    return ns;
  };
  return terms;
}

class FormulaRun {
 public:
  FormulaRun(const Workload& workload, RunResult& result)
      : config_(result.config), result_(result), terms_(TermsOf(config_)) {
    result_.formula.emplace();
    if (config_.cards.count <= 1) {
      cards_.emplace_back(config_, result_);
      return;
    }
    planned_ = CollectivesOf(config_, workload);
    result_.cards.resize(config_.cards.count);
    for (size_t i = 0; i < result_.cards.size(); ++i) {
      CardResult& card = result_.cards[i];
      card.name = fmt::format("card{}", i);
      card.run.plan = result_.plan;
      cards_.emplace_back(config_, card.run);
    }
  }

  void Run(const WorkloadWork& work) {
    for (const WorkBetween& between : work.between)
      if (std::holds_alternative<HostWork>(between.what)) result_.tasks = SummaryOf(work);
    for (CardResult& card : result_.cards) card.run.tasks = result_.tasks;
    auto next = work.between.begin();
    for (size_t i = 0; i <= work.kernels.size(); ++i) {
      for (; next != work.between.end() && next->kernels == i; ++next) Between(*next);
      if (i == work.kernels.size()) break;
      const KernelEstimate estimate = Estimate(work.kernels[i], config_.card);
      result_.formula->kernels.push_back({work.kernels[i].kernel, work.kernels[i].task,
                                          work.kernels[i].launches, Ps(estimate.ns),
                                          Name(estimate.bound)});
      for (FormulaCard& card : cards_) card.Launch(work.kernels[i], estimate);
    }
    if (!planned_.in_list)
      for (const NamedCollective& of_output : planned_.all) Together(of_output);
    for (FormulaCard& card : cards_) {
      card.Finish();
      result_.sim_ps = std::max(result_.sim_ps, card.now_ps());
    }
    if (result_.cards.empty()) return;
    result_.tasks = result_.cards.front().run.tasks;
    AddUp(result_);
  }

 private:
  // Of a list with operations of the host, whose kernels are launched on one stream.
  TaskListSummary SummaryOf(const WorkloadWork& work) const {
    TaskListSummary tasks;
    tasks.mode = Name(config_.workload.issue.mode);
    tasks.streams = {0};
    std::set<std::string> kernels;
    for (const KernelLaunches& kernel : work.kernels) {
      tasks.tasks += kernel.launches;
      kernels.insert(kernel.kernel);
      tasks.tasks_of[0].insert(tasks.tasks_of[0].end(), kernel.launches, kernel.task);
    }
    tasks.kernels = kernels.size();
    return tasks;
  }

  void Between(const WorkBetween& between) {
    if (const auto* call = std::get_if<runtime::CollectiveCall>(&between.what)) {
      Together({between.result, *call});
      return;
    }
    for (FormulaCard& card : cards_)
      card.ComputeOnHost(between.result, std::get<HostWork>(between.what));
  }

  // All cards come, and each goes on when its own part is done.
  void Together(const NamedCollective& named) {
    const runtime::CollectivePlan plan = runtime::PlanCollective(named.call, cards_.size());
    uint64_t begin_ps = 0;
    for (const FormulaCard& card : cards_) begin_ps = std::max(begin_ps, card.now_ps());
    const std::vector<RankTime> times = TimesOf(plan, terms_);
    ListCollective collective{named.result, plan.call, {}, {}};
    for (size_t i = 0; i < cards_.size(); ++i) {
      const uint64_t end_ps = begin_ps + Ps(times[i].end_ns);
      cards_[i].EndCollective(end_ps, planned_.in_list);
      const runtime::CollectiveTimes parts{Ps(times[i].send_ns), Ps(times[i].wait_ns),
                                           Ps(times[i].compute_ns), plan.BytesFrom(i),
                                           plan.StepsFrom(i)};
      collective.parts.push_back({begin_ps, end_ps, parts});
      CardResult& card = result_.cards[i];
      if (card.collective_ps == 0) card.collective_begin_ps = begin_ps;
      card.collective_end_ps = end_ps;
      card.collective_ps += end_ps - begin_ps;
      card.communication += parts;
      card.peer_written_bytes += parts.bytes_sent;
    }
    if (planned_.in_list) {
      result_.list_collectives.push_back(std::move(collective));
    } else {
      result_.collective_call = plan.call;
    }
  }

  const RunConfig& config_;
  RunResult& result_;
  CollectiveTerms terms_;
  CardCollectivesOf planned_;
  std::vector<FormulaCard> cards_;
};

std::string DescriptionOf(const RunConfig& config, const Workload& workload) {
  if (config.cards.count <= 1) return workload.description();
  const runtime::Collective collective = config.cards.collective;
  return CardsDescription(config.cards.count, workload.description(), collective);
}

}  // namespace

bool IsByFormula(const RunConfig& config) {
  return config.card.fidelity == model::Fidelity::kFast && !config.workload.functional &&
         config.tenants.list.json.empty() && config.card.faults.empty() &&
         config.card.power.throttle == model::Throttle::kNone;
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
    result.description = DescriptionOf(config, *workload);
    result.warnings = workload->warnings();
    result.decisions = workload->decisions();
    if (workload->model() != nullptr) result.model = *workload->model();
    if (options.warn != nullptr) options.warn(result.warnings);
    WorkloadWork work = workload->Work();
    if (!out_dir.empty()) {
      result.directory = std::make_shared<OutputDirectory>(out_dir);
      result.directory->Clear(FilesOfAnyRun(), options.inputs);
    }
    result.plan = std::move(work.plan);
    const WallTimer timer(result.wall.model);
    FormulaRun(*workload, result).Run(work);
  }
  return result;
}

}  // namespace spyre::cosim
