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
#include "cosim/session/session_setup.h"
#include "cosim/session/session_trace.h"
#include "cosim/session/tenant_times.h"
#include "cosim/session/tenants_result.h"
#include "cosim/session/wall_timer.h"
#include "driver/physical_function.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kPsPerUs = 1'000'000;

// Whatever a program threw, as an error.
std::optional<Error> ErrorOf(const std::exception_ptr& failure, const std::string& name) {
  if (!failure) return std::nullopt;
  try {
    std::rethrow_exception(failure);
  } catch (const Interruption&) {
    throw;  // of everybody
  } catch (const Error& error) {
    return error.Within(name);
  } catch (const std::exception& error) {
    return InternalError("{}: {}", name, error.what());
  }
}

class TenantsSession {
 public:
  // only: the tenant that runs, with the card as it is for all of them; empty: all run.
  TenantsSession(const RunConfig& config, const std::string& out_dir, const SessionOptions& options,
                 std::optional<size_t> only = std::nullopt)
      : config_(config),
        options_(options),
        alone_(only.has_value()),
        tenants_(TenantsOf(config)),
        trace_(config.trace) {
    RefuseOptions();
    result_.config = config;
    result_.out_dir = out_dir;
    trace_.recorder().TellFunctionsApart();
    for (size_t i = 0; i < tenants_.size(); ++i)
      if (!only || *only == i) AddMember(tenants_[i]);
    for (size_t i = 0; i < members_.size(); ++i) Resolve(*members_[i], result_.tenants[i]);
    Summarize();
    if (options_.warn != nullptr) options_.warn(result_.warnings);
  }

  RunResult Run() {
    {
      const WallTimer total(result_.wall.total);
      if (config_.tenants.alone) RunAlone();
      MakeDirectories();
      for (const auto& member : members_) member->run->Compile();
      try {
        Simulate();
      } catch (...) {
        Unplug();
        trace_.End(result_);  // what happened up to the fault can be looked at
        throw;
      }
      Unplug();
      trace_.End(result_);
      // Of a run that others are compared with, the digest is enough.
      for (size_t i = 0; i < members_.size() && !alone_; ++i) End(*members_[i], result_.tenants[i]);
      AddUp(result_);
      result_.wave_paths = card_->KeepWaves(result_.verification && result_.verification->passed());
    }
    return std::move(result_);
  }

 private:
  // A tenant that runs here.
  struct Member {
    const Tenant* tenant = nullptr;
    std::unique_ptr<FunctionRun> run;
    std::unique_ptr<trace::Recorder> recorder;  // of its part of the host
  };

  void RefuseOptions() const {
    const char* const option = !options_.record.empty()      ? "--record"
                               : !options_.transport.empty() ? "--transport"
                                                             : nullptr;
    if (option == nullptr) return;
    throw BadInput(
        "{}: it is for one function of a card, and this configuration has tenants ([[tenant]]), "
        "each with a function of its own; leave it out",
        option);
  }

  void AddMember(const Tenant& tenant) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->tenant = &tenant;
    result_.tenants.emplace_back();
    TenantResult& result = result_.tenants.back();
    result.name = tenant.name;
    result.function = tenant.function;
    result.start_us = tenant.start_us;
  }

  void Resolve(Member& member, TenantResult& result) {
    const Tenant& tenant = *member.tenant;
    const auto report = [this](const char* phase, uint64_t done, uint64_t total) {
      Report(phase, done, total);
    };
    try {
      member.run = std::make_unique<FunctionRun>(tenant.config, result_.out_dir + "/" + tenant.name,
                                                 report, result.run);
    } catch (const Error& error) {
      throw error.Within(tenant.name);
    }
    member.recorder = std::make_unique<trace::Recorder>(trace_.recorder(), tenant.name);
  }

  void Report(const char* phase, uint64_t done, uint64_t total) {
    ThrowIfInterrupted();
    if (options_.progress != nullptr) options_.progress->Update(phase, done, total);
  }

  // What all tenants are together, as far as it is known before anything runs.
  void Summarize() {
    std::vector<std::string> descriptions;
    for (const TenantResult& tenant : result_.tenants) {
      descriptions.push_back(fmt::format("{} ({})", tenant.name, tenant.run.description));
      for (const std::string& warning : tenant.run.warnings)
        result_.warnings.push_back(fmt::format("{}: {}", tenant.name, warning));
    }
    result_.description =
        fmt::format("{} tenants: {}", members_.size(), fmt::join(descriptions, ", "));
  }

  void RunAlone() {
    std::vector<ChildWork> works;
    for (size_t i = 0; i < members_.size(); ++i) {
      works.emplace_back([this, i] {
        RunConfig config = config_;
        config.tenants.alone = false;
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

  void MakeDirectories() {
    result_.directory = std::make_shared<OutputDirectory>(result_.out_dir);
    std::vector<std::string> inputs = options_.inputs;
    for (const auto& member : members_) {
      const std::vector<std::string> paths = member->run->InputPaths();
      inputs.insert(inputs.end(), paths.begin(), paths.end());
    }
    result_.directory->Clear(FilesOfAnyRun(), inputs);
    for (size_t i = 0; i < members_.size(); ++i) {
      RunResult& run = result_.tenants[i].run;
      run.directory = std::make_shared<OutputDirectory>(run.out_dir);
      run.directory->Clear(members_[i]->run->FileNames(), inputs);
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
    for (const auto& member : members_) {
      programs_->Add(member->tenant->name, member->tenant->start_us * kPsPerUs,
                     [this, &member = *member] { Work(member); });
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
      tenant.error = ErrorOf(programs_->Failure(i), tenant.name);
      tenant.host = programs_->TimeOf(i);
    }
    card_->Finish(result_);
  }

  // One tenant's program.
  void Work(Member& member) {
    FunctionRun& run = *member.run;
    try {
      run.Open(programs_->Transport(), static_cast<driver::FunctionId>(member.tenant->function),
               RuntimeOptionsOf(member.tenant->config, member.recorder.get()));
      run.LoadInputs();
      run.Prepare();
      run.Launch();
      run.CopyOutputs();
      run.Finish();
    } catch (...) {
      run.Close();
      throw;
    }
    run.Close();
  }

  // What needs no card.
  void End(Member& member, TenantResult& tenant) {
    if (tenant.error) return;
    member.run->Verify();
    // A full disk costs large files, not the report.
    try {
      member.run->WriteTensors();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      if (result_.unwritten.empty()) result_.unwritten = error.what();
    }
  }

  const RunConfig config_;
  const SessionOptions options_;
  const bool alone_;                   // the run that one beside others is compared with
  const std::vector<Tenant> tenants_;  // all of the configuration
  RunResult result_;
  std::vector<std::unique_ptr<Member>> members_;  // that run here, as result_.tenants
  SessionTrace trace_;

  std::unique_ptr<SessionCard> card_;
  std::optional<HostPrograms> programs_;
  std::unique_ptr<driver::Device> admin_;  // the PF, which set the VFs up
};

}  // namespace

RunResult RunTenants(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  return TenantsSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
