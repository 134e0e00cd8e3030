// SPDX-License-Identifier: Apache-2.0
// The faults that a session's configuration declares: what card and driver know of them when the
// run ends, and what came of each once results have been compared. Single thread.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "cosim/fault/fault_outcomes.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session_card.h"
#include "cosim/verify/verification.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::cosim {

class SessionFaults {
 public:
  // While there is a card. context: null if it was not opened. False: no faults are declared.
  bool Read(SessionCard& card, const flex::RuntimeContext* context, bool has_data);
  // After the run, which has ended in `error` if that is not null. verification: null if nothing
  // was compared. Empty without faults.
  std::vector<FaultRecord> Settle(const Error* error, const Verification* verification);

 private:
  std::optional<model::FaultInjector> faults_;  // as they were at the end
  RunEnd end_;
};

// Throws FaultedRun (session.h).
[[noreturn]] void ThrowFaulted(const Error& error, RunResult result);

}  // namespace spyre::cosim
