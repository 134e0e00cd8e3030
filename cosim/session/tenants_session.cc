// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/tenants_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cosim/config/tenants.h"
#include "cosim/host/child_process.h"
#include "cosim/session/session_run.h"
#include "cosim/session/session_setup.h"
#include "cosim/session/tenant_times.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kPsPerUs = 1'000'000;

class TenantsSession : public SessionRun {
 public:
  // only: the tenant that runs, with the card as it is for all of them; empty: all run.
  TenantsSession(const RunConfig& config, const std::string& out_dir, const SessionOptions& options,
                 std::optional<size_t> only = std::nullopt)
      : SessionRun(config, out_dir, options), tenants_(TenantsOf(config)) {
    RefuseOptions();
    is_judged_ = !only;
    trace_.recorder().TellFunctionsApart();
    result_.tenants.resize(only ? 1 : tenants_.size());
    std::string names;
    for (size_t i = 0; i < result_.tenants.size(); ++i) {
      const Tenant& tenant = tenants_[only.value_or(i)];
      TenantResult& result = result_.tenants[i];
      result.name = tenant.name;
      result.function = tenant.function;
      result.start_us = tenant.start_us;
      Member& member = Add(tenant.config, result);
      member.function = static_cast<driver::FunctionId>(tenant.function);
      member.start_ps = tenant.start_us * kPsPerUs;
      for (const std::string& warning : result.run.warnings)
        result_.warnings.push_back(fmt::format("{}: {}", tenant.name, warning));
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", tenant.name,
                           member.run->workload().description());
    }
    result_.description = fmt::format("{} tenants: {}", members_.size(), names);
    Warn();
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

  // Each alone, in a process of its own.
  void BeforeCards() override {
    if (!config_.tenants.alone) return;
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

  void Plug() override {
    PlugOne();
    programs_.emplace(std::vector<InProcessTransport*>{cards_.front()->inprocess()});
    driver::PhysicalFunction physical = OpenAdmin(programs_->Transport());
    std::vector<uint64_t> functions;
    for (const Tenant& tenant : tenants_) functions.push_back(tenant.function);
    AssignRegions(physical, PlanEqualRegions(config_.card.usable_bytes(), functions));
    for (const Tenant& tenant : tenants_) {
      const auto vf = static_cast<driver::FunctionId>(tenant.function);
      if (tenant.weight != 1) physical.SetWeight(vf, static_cast<uint32_t>(tenant.weight));
      if (tenant.cores != 0) physical.SetCores(vf, static_cast<uint32_t>(tenant.cores));
    }
  }

  const std::vector<Tenant> tenants_;  // all of the configuration
};

}  // namespace

RunResult RunTenants(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  return TenantsSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
