// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_faults.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "cosim/session/session.h"

namespace spyre::cosim {

bool SessionFaults::Read(SessionCard& card, const flex::RuntimeContext* context, bool has_data) {
  if (card.model() == nullptr || card.model()->faults() == nullptr) return false;
  faults_.emplace(*card.model()->faults());
  end_.time_ps = card.transport().NowPs();
  end_.has_data = has_data;
  if (context == nullptr) return true;
  const driver::QueueStatistics queue = context->QueueStatistics();
  end_.missed_interrupt = queue.missed_interrupts > 0;
  end_.torn_response = queue.torn_responses > 0;
  return true;
}

std::vector<FaultRecord> SessionFaults::Settle(const Error* error,
                                               const Verification* verification) {
  if (!faults_) return {};
  if (error != nullptr) {
    const std::string what = error->what();
    end_.error = what.substr(0, what.find('\n'));
  }
  end_.compared = verification != nullptr;
  end_.right = end_.compared && verification->passed();
  return SettleFaults(*faults_, end_);
}

void ThrowFaulted(const Error& error, RunResult result) {
  const std::string text = fmt::format("{}\nfaults that the configuration declares:\n{}",
                                       error.what(), FaultLines(result.faults));
  throw FaultedRun(error, text, std::make_shared<const RunResult>(std::move(result)));
}

}  // namespace spyre::cosim
