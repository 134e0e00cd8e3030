// SPDX-License-Identifier: Apache-2.0
#include "model/memory/channel_controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace spyre::model {

ChannelController::ChannelController(const MemoryConfig& config)
    : timing_(config),
      map_(config),
      write_high_(config.write_high),
      write_low_(config.write_low),
      reads_per_turn_(config.reads_per_turn),
      write_idle_(timing_.RoundUp(config.write_idle_ns * 1000)),
      starvation_(config.starvation_ns * 1000),
      refresh_kind_(config.refresh),
      refresh_commands_(refresh_kind_ == RefreshKind::kPerBank ? RefreshCommands(config) : 1),
      lane_count_(timing_.ccd_l > timing_.ccd_s ? 2 : 1),
      reads_(config.read_queue, map_.banks()),
      writes_(config.write_queue, map_.banks()),
      banks_(map_.banks()),
      window_(timing_.rrd, timing_.faw) {
  if (lane_count_ == 1) lanes_[1].free = kNever;
  if (refresh_kind_ != RefreshKind::kNone) {
    refresh_number_ = 1;
    next_refresh_ = timing_.refresh_interval / refresh_commands_;
  }
}

QueuedRequest ChannelController::Locate(const MemoryRequest& request) const {
  const BankAddress at = map_.Locate(request.address);
  const uint64_t block = map_.block_bytes();
  if (request.bytes == 0 || at.column % block + request.bytes > block) {
    throw InternalError(
        "memory request {} of {} bytes at channel address {:#x} does not lie "
        "inside one block of {} bytes",
        request.id, request.bytes, request.address, block);
  }
  return {request.id,
          timing_.RoundUp(request.arrival_ps),
          0,
          0,
          at.bank,
          at.row,
          at.column,
          request.bytes,
          static_cast<uint16_t>(timing_.DataBursts(at.column, request.bytes)),
          static_cast<uint16_t>(timing_.CheckBursts(at.column, request.bytes)),
          request.write && timing_.ReadsCheckFirst(at.column, request.bytes)};
}

uint64_t ChannelController::NextAdmission(Direction d) const {
  const Door& door = doors_[d];
  if (door.empty() || door_waits_[d] || (d == kRead ? reads_ : writes_).full()) return kNever;
  return std::max(now_, door.front().arrival_ps);
}

uint64_t ChannelController::NextIdleTurn() const {
  if (writing_ || writes_.empty() || !reads_.empty()) return kNever;
  return std::max(now_, read_idle_since_ + write_idle_);
}

uint64_t ChannelController::NextDecisionPs() const {
  const uint64_t next =
      std::min({NextAdmission(kRead), NextAdmission(kWrite), NextIdleTurn(), NextColumn()});
  // Refresh by itself is nothing to do: it is made up for when the next request comes.
  return waiting_banks_ != 0 ? std::min(next, next_refresh_) : next;
}

uint64_t ChannelController::Advance(uint64_t now_ps, std::vector<MemoryCompletion>& done) {
  for (;;) {
    const uint64_t read = NextAdmission(kRead);
    const uint64_t write = NextAdmission(kWrite);
    const uint64_t idle = NextIdleTurn();
    const uint64_t column = NextColumn();
    const uint64_t next = std::min({read, write, idle, column});
    if (next_refresh_ <= std::min(next, now_ps) && (next != kNever)) {
      Refresh(next);
      continue;
    }
    if (next > now_ps) return waiting_banks_ != 0 ? std::min(next, next_refresh_) : next;
    now_ = std::max(now_, next);
    if (next == read) {
      Admit(kRead, next, done);
    } else if (next == write) {
      Admit(kWrite, next, done);
    } else if (next == column) {
      Issue(next, done);
    } else {
      Turn(true);
    }
    UpdateDirection();
  }
}

ChannelStatistics ChannelController::OnTheBus(ChannelStatistics counted) const {
  for (uint64_t* lost : {&counted.lost_row_ps, &counted.lost_bank_group_ps,
                         &counted.lost_turnaround_ps, &counted.lost_refresh_ps, &counted.idle_ps})
    *lost /= lane_count_;
  return counted;
}

void ChannelController::Admit(Direction d, uint64_t now, std::vector<MemoryCompletion>& done) {
  const QueuedRequest& request = doors_[d].front();
  const uint32_t bank = request.bank;
  const Direction other = d == kRead ? kWrite : kRead;
  if (queue(other).Head(bank) != RequestQueue::kNone) {
    const auto overlap = queue(other).Find(bank, request.row, request.column, request.bytes);
    if (d == kRead && overlap == RequestQueue::Overlap::kAll) {
      done.push_back({request.id, now + request.data_bursts * timing_.ccd_s, now_});
      ++counted_.reads;
      ++counted_.forwarded;
      counted_.read_bytes += request.bytes;
      doors_[d].Pop();
      return;
    }
    if (overlap != RequestQueue::Overlap::kNone) {
      door_waits_[d] = true;
      return;
    }
  }
  queue(d).Push(request, now, age_++);
  if (d == kWrite) {
    done.push_back({request.id, now, now_});
    ++counted_.writes;
    counted_.write_bytes += request.bytes;
  }
  doors_[d].Pop();
  if (d != direction()) return;
  if (waiting_banks_ == 0) waiting_since_ = now;
  if ((waiting_banks_ >> bank & 1) == 0) ChooseCandidate(bank);
}

void ChannelController::UpdateDirection() {
  if (writing_) {
    if (reads_.empty() && !door_waits_[kRead]) return;
    if (door_waits_[kRead] && !writes_.empty()) return;
    const bool turn_over =
        writes_.size() <= write_low_ || turn_requests_ >= write_high_ - write_low_;
    if (turn_over && !reads_.empty()) Turn(false);
    return;
  }
  if (writes_.empty()) return;
  const bool full = writes_.size() >= write_high_ || door_waits_[kRead];
  const bool reads_served = reads_.empty() || turn_requests_ >= reads_per_turn_;
  if ((full && reads_served) || (door_waits_[kRead] && !door_waits_[kWrite])) Turn(true);
}

void ChannelController::Turn(bool writing) {
  writing_ = writing;
  turn_requests_ = 0;
  merged_writes_ = 0;
  waiting_since_ = now_;
  if (!writing) read_idle_since_ = now_;
  ++counted_.turnarounds;
  SetGroupsFrom();
  ChooseCandidates();
}

}  // namespace spyre::model
