// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/tenants_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "cosim/config/tenants.h"
#include "cosim/host/child_process.h"
#include "cosim/host/host_programs.h"
#include "cosim/measure/kernel_log.h"
#include "cosim/session/function_run.h"
#include "cosim/session/session_card.h"
#include "cosim/session/session_faults.h"
#include "cosim/session/session_members.h"
#include "cosim/session/session_setup.h"
#include "cosim/session/session_trace.h"
#include "cosim/session/tenant_times.h"
#include "cosim/session/tenants_result.h"
#include "cosim/session/wall_timer.h"
#include "driver/physical_function.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kPsPerUs = 1'000'000;

class TenantsSession {
 public:
  // only: the tenant that runs, with the card as it is for all of them; empty: all run.
  TenantsSession(const RunConfig& config, const std::string& out_dir, const SessionOptions& options,
                 std::optional<size_t> only = std::nullopt)
      : config_(config),
        options_(options),
        alone_(only.has_value()),
        tenants_(TenantsOf(config)),
        trace_(config.trace),
        members_([this](const char* phase, uint64_t done,
                        uint64_t total) { Report(phase, done, total); },
                 trace_.recorder()) {
    RefuseOptions();
    result_.config = config;
    result_.out_dir = out_dir;
    trace_.recorder().TellFunctionsApart();
    result_.tenants.resize(only ? 1 : tenants_.size());
    for (size_t i = 0; i < result_.tenants.size(); ++i) {
      const Tenant& tenant = tenants_[only.value_or(i)];
      TenantResult& result = result_.tenants[i];
      result.name = tenant.name;
      result.function = tenant.function;
      result.start_us = tenant.start_us;
      members_.Add(tenant.name, tenant.config, out_dir, result.run);
      for (const std::string& warning : result.run.warnings)
        result_.warnings.push_back(fmt::format("{}: {}", tenant.name, warning));
    }
    result_.description = fmt::format("{} tenants: {}", members_.size(), members_.Description());
    if (options_.warn != nullptr) options_.warn(result_.warnings);
  }

  RunResult Run() {
    {
      const WallTimer total(result_.wall.total);
      if (config_.tenants.alone) RunAlone();
      members_.MakeDirectories(result_, options_.inputs);
      members_.Compile();
      try {
        Simulate();
      } catch (...) {
        Unplug();
        trace_.End(result_);  // what happened up to the fault can be looked at
        throw;
      }
      faults_.Read(*card_, nullptr, config_.workload.functional);
      Unplug();
      trace_.End(result_);
      // Of a run that others are compared with, the digest is enough.
      for (size_t i = 0; i < members_.size() && !alone_; ++i) End(i);
      AddUp(result_);
      result_.faults = faults_.Settle(FirstError(), Verdict());
      result_.wave_paths = card_->KeepWaves(result_.verification && result_.verification->passed());
    }
    return std::move(result_);
  }

 private:
  void RefuseOptions() const {
    const char* const option = !options_.record.empty()      ? "--record"
                               : !options_.transport.empty() ? "--transport"
                               : options_.monitor != nullptr ? "--smi and --metrics"
                                                             : nullptr;
    if (option == nullptr) return;
    throw BadInput(
        "{}: it is for one function of a card, and this configuration has tenants ([[tenant]]), "
        "each with a function of its own; leave it out",
        option);
  }

  // Null: every tenant has come to its end.
  const Error* FirstError() const {
    for (const TenantResult& tenant : result_.tenants)
      if (tenant.error) return &*tenant.error;
    return nullptr;
  }
  // Null: nothing was compared.
  const Verification* Verdict() const {
    return result_.verification ? &*result_.verification : nullptr;
  }

  void Report(const char* phase, uint64_t done, uint64_t total) {
    ThrowIfInterrupted();
    if (options_.progress != nullptr) options_.progress->Update(phase, done, total);
  }

  void RunAlone() {
    std::vector<ChildWork> works;
    for (size_t i = 0; i < members_.size(); ++i) {
      works.emplace_back([this, i] {
        RunConfig config = config_;
        config.tenants.alone = false;
        config.card.faults.clear();  // a time without them is compared with
        config.trace.enabled = false;
        config.trace.waves = {};
        config.output = {};
        config.output.tensors = false;
        const ScratchDirectory scratch("alone");
        const RunResult result = TenantsSession(config, scratch.path(), {}, i).Run();
        const TenantResult& tenant = result.tenants.front();
        if (tenant.error) throw *tenant.error;
        return ToText(TimesOf(tenant.run));
      });
    }
    Report("tenants alone", 0, works.size());
    const size_t at_once = std::max(1u, std::thread::hardware_concurrency());
    const std::vector<ChildResult> results = TryInChildren(
        works, at_once, [&](size_t done) { Report("tenants alone", done, works.size()); });
    for (size_t i = 0; i < results.size(); ++i) {
      // One that fails alone fails among others too, and says so there.
      if (!results[i].error) result_.tenants[i].alone = TenantTimesOf(results[i].bytes);
    }
  }

  void Plug() {
    card_ = std::make_unique<SessionCard>(config_, options_, result_.out_dir, &trace_.recorder());
    programs_.emplace(std::vector<InProcessTransport*>{card_->inprocess()});
    const flex::RuntimeOptions options = RuntimeOptionsOf(config_, &trace_.recorder());
    admin_ = std::make_unique<driver::Device>(programs_->Transport(), 0, options.device);
    driver::PhysicalFunction physical(*admin_);
    physical.EnableVirtualFunctions(static_cast<int>(config_.card.num_vfs));
    std::vector<uint64_t> functions;
    for (const Tenant& tenant : tenants_) functions.push_back(tenant.function);
    AssignRegions(physical, PlanEqualRegions(config_.card.usable_bytes(), functions));
    for (const Tenant& tenant : tenants_) {
      const auto vf = static_cast<driver::FunctionId>(tenant.function);
      if (tenant.weight != 1) physical.SetWeight(vf, static_cast<uint32_t>(tenant.weight));
      if (tenant.cores != 0) physical.SetCores(vf, static_cast<uint32_t>(tenant.cores));
    }
  }

  void Unplug() {
    admin_.reset();
    programs_.reset();
    if (card_) card_->Close();
  }

  void Simulate() {
    trace_.Start(result_);
    Report("open the card", 0, 0);
    const WallTimer timer(result_.wall.model);
    Plug();
    const HostTime host = card_->host_time();
    const std::vector<model::UnitStatistics> before = UnitsOf(card_->model());
    std::optional<KernelLog> log;
    log.emplace(*card_->model(), &trace_.recorder(), std::vector<std::string>(), false);
    for (size_t i = 0; i < members_.size(); ++i) {
      const TenantResult& tenant = result_.tenants[i];
      programs_->Add(tenant.name, tenant.start_us * kPsPerUs, [this, i] { Work(i); });
    }
    programs_->Run();
    result_.kernel_usages = log->Take();
    log.reset();
    result_.launch_host = card_->host_time().Since(host);
    result_.launch_units = UnitsOf(card_->model());
    for (size_t i = 0; i < before.size(); ++i)
      result_.launch_units[i] = result_.launch_units[i].Since(before[i]);
    for (size_t i = 0; i < members_.size(); ++i) {
      TenantResult& tenant = result_.tenants[i];
      tenant.error = ErrorOfProgram(programs_->Failure(i), tenant.name);
      tenant.host = programs_->TimeOf(i);
    }
    card_->Finish(result_);
  }

  // One tenant's program.
  void Work(size_t i) {
    SessionMember& member = members_[i];
    FunctionRun& run = *member.run;
    try {
      run.Open(programs_->Transport(), static_cast<driver::FunctionId>(result_.tenants[i].function),
               RuntimeOptionsOf(member.config, member.recorder.get()));
      run.LoadInputs();
      run.Prepare();
      const model::CardTelemetry& telemetry = card_->model()->telemetry();
      if (!done_before_) done_before_ = telemetry.Done();
      run.Launch();
      result_.launch_activity = telemetry.Done() - *done_before_;
      run.CopyOutputs();
      run.Finish();
    } catch (...) {
      run.Close();
      throw;
    }
    run.Close();
  }

  // What needs no card.
  void End(size_t i) {
    if (result_.tenants[i].error) return;
    members_[i].run->Verify();
    members_.WriteTensors(i, result_.unwritten);
  }

  const RunConfig config_;
  const SessionOptions options_;
  const bool alone_;                   // the run that one beside others is compared with
  const std::vector<Tenant> tenants_;  // all of the configuration
  RunResult result_;
  SessionTrace trace_;
  SessionMembers members_;  // that run here, as result_.tenants

  std::unique_ptr<SessionCard> card_;
  std::optional<HostPrograms> programs_;
  std::optional<model::Activity> done_before_;  // by the card, before the first launch of all
  SessionFaults faults_;
  std::unique_ptr<driver::Device> admin_;  // the PF, which set the VFs up
};

}  // namespace

RunResult RunTenants(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  return TenantsSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
