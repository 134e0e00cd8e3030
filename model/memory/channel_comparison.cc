// SPDX-License-Identifier: Apache-2.0
// Third part of ChannelController: whether two channels will do the same from now on.
//
// Times that have passed differ between channels for ever and no longer matter: every decision
// takes the later of such a time and its own. So times are compared from a horizon on, before which
// no decision and no counter looks back; ages are compared by their order.
#include <algorithm>

#include "model/memory/channel_controller.h"

namespace spyre::model {

class ChannelController::Comparison {
 public:
  Comparison(const ChannelController& a, const ChannelController& b, uint64_t now_ps)
      : a_(a),
        b_(b),
        // A gap on the bus is counted from when its lane became free, and a refresh that has not
        // been made up for looks back to when it was due.
        horizon_(std::min({now_ps, a.next_refresh_, a.NextLane().free})),
        a_older_by_(b.age_ - a.age_) {}

  // What mostly differs, if anything does.
  bool SameAtAGlance() const {
    // The order of the lanes makes no difference.
    return a_.NextLane().free == b_.NextLane().free &&
           std::max(a_.lanes_[0].free, a_.lanes_[1].free) ==
               std::max(b_.lanes_[0].free, b_.lanes_[1].free) &&
           a_.next_refresh_ == b_.next_refresh_ && a_.refresh_number_ == b_.refresh_number_ &&
           a_.waiting_banks_ == b_.waiting_banks_ && a_.NextColumn() == b_.NextColumn();
  }

  bool SameBus() const {
    for (uint32_t group = 0; group < a_.map_.groups(); ++group) {
      if (!Same(a_.group_free_[group], b_.group_free_[group]) ||
          !Same(a_.group_read_from_[group], b_.group_read_from_[group]))
        return false;
    }
    // Beyond the end of a turn its length does not matter.
    const uint64_t turn = a_.writing_ ? a_.write_high_ - a_.write_low_ : a_.reads_per_turn_;
    return a_.writing_ == b_.writing_ && a_.merged_writes_ == b_.merged_writes_ &&
           std::min(a_.turn_requests_, turn) == std::min(b_.turn_requests_, turn) &&
           Same(a_.now_, b_.now_) && Same(a_.last_read_, b_.last_read_) &&
           Same(a_.last_write_, b_.last_write_) && Same(a_.waiting_since_, b_.waiting_since_) &&
           Same(a_.read_idle_since_ + a_.write_idle_, b_.read_idle_since_ + b_.write_idle_);
  }

  bool SameBanks() const {
    for (uint32_t bank = 0; bank < a_.banks_.size(); ++bank) {
      if (!SameBank(a_.banks_[bank], b_.banks_[bank]) || !SameCandidate(bank)) return false;
    }
    return a_.window_.SameFuture(b_.window_, horizon_);
  }

  bool SameRequests() const {
    if (a_.door_waits_ != b_.door_waits_ || a_.reads_.size() != b_.reads_.size() ||
        a_.writes_.size() != b_.writes_.size() || !SameDoor(kRead) || !SameDoor(kWrite))
      return false;
    for (uint32_t bank = 0; bank < a_.banks_.size(); ++bank) {
      // Whoever waited for a queued write has heard of it already.
      if (!SameQueue(a_.reads_, b_.reads_, bank, true) ||
          !SameQueue(a_.writes_, b_.writes_, bank, false))
        return false;
    }
    return true;
  }

 private:
  bool Same(uint64_t a, uint64_t b) const { return std::max(a, horizon_) == std::max(b, horizon_); }

  bool SameBank(const Bank& a, const Bank& b) const {
    if (a.row != b.row || !Same(a.activate_from, b.activate_from) ||
        !Same(a.refresh_from, b.refresh_from) || !Same(a.refresh_until, b.refresh_until))
      return false;
    if (a.row == kClosed) return true;
    return Same(a.activate, b.activate) && Same(a.column_from, b.column_from) &&
           Same(a.precharge_from, b.precharge_from) && a.used == b.used &&
           (a.used || a.conflict == b.conflict);
  }

  bool SameCandidate(uint32_t bank) const {
    constexpr int64_t kNone = BankCandidates::kNone;
    const int64_t from_a = a_.candidates_.from[bank], from_b = b_.candidates_.from[bank];
    if (from_a == kNone || from_b == kNone) return from_a == from_b;
    return Same(static_cast<uint64_t>(from_a), static_cast<uint64_t>(from_b)) &&
           static_cast<uint64_t>(a_.candidates_.key[bank]) + a_older_by_ * kMaxBanks ==
               static_cast<uint64_t>(b_.candidates_.key[bank]);
  }

  bool SameDoor(Direction d) const {
    const Door &a = a_.doors_[d], &b = b_.doors_[d];
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].id != b[i].id || a[i].arrival_ps != b[i].arrival_ps || a[i].bank != b[i].bank ||
          a[i].row != b[i].row || a[i].column != b[i].column || a[i].bytes != b[i].bytes)
        return false;
    }
    return true;
  }

  bool SameQueue(const RequestQueue& queue_a, const RequestQueue& queue_b, uint32_t bank,
                 bool awaited) const {
    uint16_t i = queue_a.Head(bank), k = queue_b.Head(bank);
    for (; i != RequestQueue::kNone && k != RequestQueue::kNone;
         i = queue_a.Next(i), k = queue_b.Next(k)) {
      const QueuedRequest &a = queue_a[i], &b = queue_b[k];
      if (a.row != b.row || a.column != b.column || a.bytes != b.bytes ||
          a.age + a_older_by_ != b.age || a.arrival_ps != b.arrival_ps ||
          !Same(a.admitted_ps, b.admitted_ps) || (awaited && a.id != b.id))
        return false;
    }
    return i == k;
  }

  const ChannelController& a_;
  const ChannelController& b_;
  const uint64_t horizon_;
  const uint64_t a_older_by_;  // wraps around
};

bool ChannelController::SameFuture(const ChannelController& other, uint64_t now_ps) const {
  const Comparison comparison(*this, other, now_ps);
  return comparison.SameAtAGlance() && comparison.SameBus() && comparison.SameBanks() &&
         comparison.SameRequests();
}

}  // namespace spyre::model
