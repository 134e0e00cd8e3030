// SPDX-License-Identifier: Apache-2.0
#include "cosim/fault/fault_outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spyre::cosim {
namespace {

using model::FaultKind;
using model::FaultOutcome;

// Fills in what the host knows of a fault that no block of the card has reported on.
// is_alone: no other fault has struck, so that an error can only come from this one.
void Settle(const model::Injection& injection, const RunEnd& end, bool is_alone,
            FaultRecord* record) {
  const auto settle = [record](FaultOutcome outcome, std::string by) {
    record->outcome = outcome;
    record->by = std::move(by);
  };
  const FaultKind kind = injection.kind();
  record->after_ps = end.time_ps - std::min(end.time_ps, injection.time_ps);
  if (kind == FaultKind::kMsiLost && end.missed_interrupt) {
    settle(FaultOutcome::kCorrected, "the driver, which looks into the response ring");
  } else if (kind == FaultKind::kResponseTorn && end.torn_response && end.error.empty()) {
    settle(FaultOutcome::kCorrected, "the driver, which waits for the checksum to be right");
  } else if (!end.error.empty()) {
    // A wrong bit may be one of an address that the program computes.
    const bool may_stop_it =
        kind != FaultKind::kFirmwareCorrupt && (kind != FaultKind::kCoreWrong || is_alone);
    if (may_stop_it) {
      settle(FaultOutcome::kDetected, "the host: " + end.error);
    } else {
      settle(FaultOutcome::kSilent, "the run ended before anybody could compare results");
    }
  } else if (end.compared) {
    if (end.right) {
      settle(FaultOutcome::kMasked, "results are right");
    } else {
      settle(FaultOutcome::kSilent,
             "results are wrong, as their comparison with a reference shows");
    }
  } else if (end.has_data) {
    settle(FaultOutcome::kSilent, "results were not compared with a reference");
  } else {
    settle(FaultOutcome::kMasked, "the run has times only, and no data");
  }
}

}  // namespace

std::vector<FaultRecord> SettleFaults(const model::FaultInjector& injector, const RunEnd& end) {
  std::vector<FaultRecord> records;
  std::vector<bool> struck(injector.faults().size(), false);
  for (const model::Injection& injection : injector.injections()) {
    struck[injection.number] = true;
    FaultRecord record{injection.number + 1,
                       model::Info(injection.kind()).name,
                       true,
                       injection.place,
                       injection.time_ps,
                       injection.outcome,
                       injection.by,
                       0};
    if (injection.outcome == FaultOutcome::kPending) {
      Settle(injection, end, injector.injections().size() == 1, &record);
    } else {
      record.after_ps = injection.outcome_ps - injection.time_ps;
    }
    records.push_back(std::move(record));
  }
  for (size_t i = 0; i < struck.size(); ++i) {
    if (struck[i]) continue;
    records.push_back({i + 1, model::Info(injector.faults()[i].kind).name, false, "", 0,
                       FaultOutcome::kMasked, "nothing happened where and when it was to strike",
                       0});
  }
  return records;
}

std::string FaultLines(const std::vector<FaultRecord>& faults) {
  const auto us = [](uint64_t ps) { return static_cast<double>(ps) / 1e6; };
  std::string text;
  for (const FaultRecord& fault : faults) {
    if (!text.empty()) text += "\n";
    if (!fault.struck) {
      text += fmt::format("{}: did not strike: {}", fault.kind, fault.by);
      continue;
    }
    text += fmt::format("{} at {}, at {:.3f} us: {}", fault.kind, fault.place, us(fault.time_ps),
                        model::Name(fault.outcome));
    const bool by_somebody =
        fault.outcome == FaultOutcome::kCorrected || fault.outcome == FaultOutcome::kDetected;
    text += fmt::format("{} {}", by_somebody ? " by" : ":", fault.by);
    if (by_somebody) text += fmt::format(" after {:.3f} us", us(fault.after_ps));
  }
  return text;
}

}  // namespace spyre::cosim
