// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session.h"

#include <memory>
#include <utility>
#include <vector>

#include "cosim/session/card_reading.h"
#include "cosim/session/cards_session.h"
#include "cosim/session/formula_run.h"
#include "cosim/session/session_paths.h"
#include "cosim/session/session_run.h"
#include "cosim/session/session_setup.h"
#include "cosim/session/tenants_session.h"

namespace spyre::cosim {
namespace {

// One function of one card, in this process or in another one's.
class FunctionSession : public SessionRun {
 public:
  FunctionSession(const RunConfig& config, const std::string& out_dir,
                  const SessionOptions& options)
      : SessionRun(config, out_dir, options) {
    AddOnly(config.mode == FunctionMode::kVirtual ? 1 : 0);
    if (!config.card.faults.empty() && config.card.fidelity == model::Fidelity::kFast) {
      result_.warnings.emplace_back(
          "card.fidelity = \"fast\": with [[fault]] every launch is simulated whole, as with "
          "\"timed\"");
    }
    Warn();
  }

 private:
  void Plug() override {
    PlugOne();
    SessionCard& card = *cards_.front();
    card.LogWaits(&host_waits_);
    if (options_.monitor != nullptr) {
      card.SampleEvery(options_.monitor->interval_ps(), [this] { TakeReading(); });
      TakeReading();
    }
    if (config_.mode == FunctionMode::kPhysical) return;
    driver::PhysicalFunction physical = OpenAdmin(card.transport());
    AssignRegions(physical, config_.card.usable_bytes(), config_.card.num_vfs);
  }

  // A reading of the card, for those who asked for them.
  void TakeReading() {
    SessionCard& card = *cards_.front();
    FunctionRun& run = *members_.front()->run;
    SmiReading reading = ReadCard(*card.model());
    reading.host_busy_ps = card.host_time().busy_ps;
    if (run.is_open()) {
      const flex::MemoryStatistics tensors = run.context().Statistics(flex::MemoryKind::kTensor);
      const flex::MemoryStatistics programs = run.context().Statistics(flex::MemoryKind::kProgram);
      reading.active_bytes = tensors.used_bytes + programs.used_bytes;
      reading.peak_bytes = tensors.peak_bytes + programs.peak_bytes;
    }
    options_.monitor->Take(reading);
  }

  void Finish() override {
    if (options_.monitor != nullptr) TakeReading();
    SessionRun::Finish();
    if (cards_.front()->model() == nullptr) return;
    FunctionRun& run = *members_.front()->run;
    results_ = FollowPaths(result_, run.context().CompletedOperations(), host_waits_);
  }

  std::vector<HostWait> host_waits_;
};

}  // namespace

RunResult RunSession(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options) {
  if (IsByFormula(config)) return RunByFormula(config, out_dir, options);
  if (config.cards.count > 1) return RunCards(config, out_dir, options);
  if (!config.tenants.list.json.empty()) return RunTenants(config, out_dir, options);
  return FunctionSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
