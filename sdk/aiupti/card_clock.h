// SPDX-License-Identifier: Apache-2.0
// The card's simulated time on the axis of the host's time. Both run at speeds of their own, so
// there is no fixed distance: it grows wherever work would begin before the call that has given it
// to the card has returned, and never shrinks. Durations and the order of the card's work are kept,
// and so are distances between works of which the later one was given to the card in time.
// Single thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sdk/flex/activities.h"

namespace spyre::sdk {

struct HostTimes {
  uint64_t queued_ns = 0, fetched_ns = 0, started_ns = 0, finished_ns = 0;
};

class CardClock {
 public:
  void Learn(const std::vector<::flex::activity::Call>& calls);
  // In the order of completions.
  HostTimes Place(const ::flex::activity::CardWork& work);

 private:
  std::map<uint64_t, ::flex::activity::Call> calls_;  // by the last operation of each
  int64_t distance_ns_ = 0;                           // from the card's time to the host's
};

}  // namespace spyre::sdk
