// SPDX-License-Identifier: Apache-2.0
#include "sdk/aiupti/card_clock.h"

#include <algorithm>

namespace spyre::sdk {

using ::flex::activity::Call;
using ::flex::activity::CardWork;

void CardClock::Learn(const std::vector<Call>& calls) {
  calls_.clear();
  for (const Call& call : calls)
    if (call.last > call.first) calls_.emplace(call.last, call);
}

HostTimes CardClock::Place(const CardWork& work) {
  constexpr uint64_t kPsInNs = 1000;
  const auto start = static_cast<int64_t>(work.started_ps / kPsInNs);
  const auto call = calls_.lower_bound(work.correlation);
  if (call != calls_.end() && call->second.first < work.correlation)
    distance_ns_ = std::max(distance_ns_, static_cast<int64_t>(call->second.end_ns) - start);
  const auto on_host = [this](uint64_t ps) {
    return static_cast<uint64_t>(static_cast<int64_t>(ps / kPsInNs) + distance_ns_);
  };
  return {on_host(work.queued_ps), on_host(work.fetched_ps), on_host(work.started_ps),
          on_host(work.finished_ps)};
}

}  // namespace spyre::sdk
