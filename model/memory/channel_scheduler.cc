// SPDX-License-Identifier: Apache-2.0
// Second part of ChannelController: rows, column slots and refresh.
#include <algorithm>
#include <array>

#include "model/memory/channel_controller.h"

namespace spyre::model {

// Every bank again, the oldest first, so that its row is the first to be opened.
void ChannelController::ChooseCandidates() {
  const RequestQueue& pending = queue(direction());
  for (uint64_t mask = waiting_banks_; mask != 0; mask &= mask - 1)
    candidates_.from[static_cast<size_t>(__builtin_ctzll(mask))] = BankCandidates::kNone;
  waiting_banks_ = 0;
  next_column_known_ = false;
  uint64_t to_choose = pending.waiting_banks();
  for (uint16_t slot = pending.Oldest(); to_choose != 0; slot = pending.Younger(slot)) {
    const uint32_t bank = pending[slot].bank;
    if ((to_choose >> bank & 1) == 0) continue;
    to_choose &= ~(1ull << bank);
    ChooseCandidate(bank);
  }
}

// The oldest request to the open row, or else, or when it has waited too long, the oldest one.
void ChannelController::ChooseCandidate(uint32_t bank) {
  next_column_known_ = false;
  const RequestQueue& pending = queue(direction());
  uint16_t slot = pending.Head(bank);
  if (slot == RequestQueue::kNone) {
    waiting_banks_ &= ~(1ull << bank);
    candidates_.from[bank] = BankCandidates::kNone;
    return;
  }
  Bank& state = banks_[bank];
  if (pending[slot].row != state.row) {
    const bool starved = now_ > pending[slot].arrival_ps + starvation_;
    uint16_t hit = RequestQueue::kNone;
    if (!starved && state.row != kClosed) {
      hit = pending.Next(slot);
      while (hit != RequestQueue::kNone && pending[hit].row != state.row) hit = pending.Next(hit);
    }
    if (hit != RequestQueue::kNone) {
      slot = hit;
    } else {
      OpenRow(bank, pending[slot].row, now_);
    }
  }
  waiting_banks_ |= 1ull << bank;
  candidates_.from[bank] =
      static_cast<int64_t>(std::max(state.column_from, pending[slot].admitted_ps));
  candidates_.key[bank] = static_cast<int64_t>(pending[slot].age * kMaxBanks + bank);
  candidates_.slot[bank] = slot;
}

void ChannelController::OpenRow(uint32_t index, uint32_t row, uint64_t not_before) {
  Bank& bank = banks_[index];
  uint64_t earliest = std::max(not_before, bank.activate_from);
  bank.conflict = bank.row != kClosed;
  if (bank.conflict)
    earliest = std::max(earliest, std::max(not_before, bank.precharge_from) + timing_.rp);
  bank.row = row;
  bank.used = false;
  bank.activate = window_.Plan(earliest, now_);
  bank.column_from = bank.activate + timing_.rcd;
  bank.precharge_from = bank.activate + timing_.ras;
  bank.activate_from = bank.activate + timing_.rc;
  ++counted_.activates;
}

// When a bank group takes a column command, in all the places that scans of banks look at.
void ChannelController::SetGroupFrom(uint32_t group) {
  const uint64_t turned = writing_ ? last_read_ : std::max(last_write_, group_read_from_[group]);
  const auto from = static_cast<int64_t>(std::max(group_free_[group], turned));
  for (uint32_t i = group; i < kMaxBankGroups; i += map_.groups()) group_from_[i] = from;
}

void ChannelController::SetGroupsFrom() {
  for (uint32_t group = 0; group < map_.groups(); ++group) SetGroupFrom(group);
}

// With a run of another bank group in flight, the slots between its bursts.
uint64_t ChannelController::Align(uint64_t column) const {
  if (lane_count_ == 1) return column;
  const Lane& other = &NextLane() == lanes_.data() ? lanes_[1] : lanes_[0];
  if (column + timing_.ccd_l >= other.free + timing_.ccd_s) return column;
  return column + timing_.ccd_l_slots.Divide(other.free + timing_.ccd_s - column).rest;
}

uint64_t ChannelController::NextColumn() const {
  if (next_column_known_) return next_column_;
  next_column_known_ = true;
  next_column_ = kNever;
  if (waiting_banks_ == 0) return kNever;
  const auto find = [this](uint64_t column) {
    return FindReady(candidates_, group_from_, banks_.size(), static_cast<int64_t>(column));
  };
  // While requests wait, most often one is ready when the bus is, and often the oldest of all.
  next_column_ = Align(std::max(NextLane().free, now_));
  const uint16_t oldest = queue(direction()).Oldest();
  next_bank_ = queue(direction())[oldest].bank;
  if (candidates_.slot[next_bank_] == oldest && ReadyFrom(next_bank_) <= next_column_)
    return next_column_;
  ReadyBanks ready = find(next_column_);
  const auto first = static_cast<uint64_t>(ready.first_ps);
  if (first > next_column_) {
    next_column_ = Align(first);
    ready = find(next_column_);
  }
  next_bank_ = static_cast<uint32_t>(static_cast<uint64_t>(ready.oldest) % kMaxBanks);
  return next_column_;
}

void ChannelController::Issue(uint64_t column, std::vector<MemoryCompletion>& done) {
  const uint32_t index = next_bank_;
  const uint32_t group = map_.GroupOf(index);
  const uint16_t slot = candidates_.slot[index];
  RequestQueue& pending = queue(direction());
  const QueuedRequest& request = pending[slot];
  Bank& bank = banks_[index];
  Lane& lane = NextLane();
  CountGap(bank, static_cast<uint64_t>(candidates_.from[index]), lane.free, column);

  const uint64_t begin = column;
  if (request.reads_check_first) column = ReadCheckFirst(column);
  const uint64_t data = request.data_bursts;
  const uint64_t check = request.check_bursts;
  lane.free = group_free_[group] = column + (data + check) * timing_.ccd_l;
  const uint64_t last = column + (data + check - 1) * timing_.ccd_l;
  counted_.busy_ps += (data + check) * timing_.ccd_s;
  counted_.check_ps += check * timing_.ccd_s;
  if (run_log_ != nullptr) run_log_->push_back({begin, lane.free, request.bytes, writing_});
  if (bank.used) {
    ++counted_.row_hits;
  } else {
    ++(bank.conflict ? counted_.row_conflicts : counted_.row_misses);
    bank.used = true;
  }
  ++turn_requests_;
  if (writing_) {
    last_write_ = std::max(last_write_, last + timing_.write_to_read_s);
    group_read_from_[group] = last + timing_.write_to_read_l;
    bank.precharge_from = std::max(bank.precharge_from, last + timing_.write_to_precharge);
  } else {
    last_read_ = std::max(last_read_, last + timing_.read_to_write);
    bank.precharge_from = std::max(bank.precharge_from, last + timing_.read_to_precharge);
    done.push_back({request.id, last + timing_.read_done, now_});
    ++counted_.reads;
    counted_.read_bytes += request.bytes;
    read_idle_since_ = lane.free;
  }
  SetGroupFrom(group);
  pending.Remove(slot);
  door_waits_[writing_ ? kRead : kWrite] = false;  // it looks again
  ChooseCandidate(index);
}

// The check bytes of the partial writes that wait, one burst each, and the bus turned to them and
// back; returns when the first of the writes can go. No other request passes the bus meanwhile.
uint64_t ChannelController::ReadCheckFirst(uint64_t column) {
  if (merged_writes_ == 0) {
    const uint64_t most = std::max<uint64_t>(1, write_high_ - write_low_);
    for (uint32_t bank = 0; bank < banks_.size() && merged_writes_ < most; ++bank) {
      for (uint16_t i = writes_.Head(bank); i != RequestQueue::kNone; i = writes_.Next(i))
        merged_writes_ += writes_[i].reads_check_first ? 1 : 0;
    }
    merged_writes_ = std::min(merged_writes_, most);
    const uint64_t read = std::max(column, last_write_);
    last_read_ = read + (merged_writes_ - 1) * timing_.ccd_l + timing_.read_to_write;
    const uint64_t bursts = merged_writes_ * timing_.ccd_s;
    counted_.busy_ps += bursts;
    counted_.check_ps += bursts;
    counted_.lost_turnaround_ps +=
        last_read_ - column - std::min(last_read_ - column, bursts * lane_count_);
    column = last_read_;
    SetGroupsFrom();
  }
  --merged_writes_;
  return column;
}

// Who is to blame for the lane being free from `begin` to `column`.
void ChannelController::CountGap(const Bank& bank, uint64_t bank_from, uint64_t begin,
                                 uint64_t column) {
  if (column <= begin) return;
  uint64_t at = begin;
  const auto take = [&](uint64_t until, uint64_t& cause) {
    const uint64_t end = std::min(until, column);
    if (end <= at) return;
    cause += end - at;
    at = end;
  };
  take(waiting_since_, counted_.idle_ps);
  if (bank.refresh_until > at && bank.refresh_from < column) {
    take(bank.refresh_from, counted_.lost_row_ps);
    take(bank.refresh_until, counted_.lost_refresh_ps);
  }
  take(writing_ ? last_read_ : last_write_, counted_.lost_turnaround_ps);
  take(bank_from, counted_.lost_row_ps);
  take(column, counted_.lost_bank_group_ps);
}

void ChannelController::Refresh(uint64_t next_event) {
  // Only the last round before the end of a long pause has an effect on what follows.
  const uint64_t interval = timing_.refresh_interval;
  if (waiting_banks_ == 0 && next_event > next_refresh_ + 2 * interval) {
    const uint64_t rounds = (next_event - next_refresh_) / interval - 1;
    refresh_number_ += rounds * refresh_commands_;
    counted_.refreshes += rounds * refresh_commands_;
    next_refresh_ = refresh_number_ * interval / refresh_commands_;
    return;
  }
  const uint64_t due = timing_.RoundUp(next_refresh_);
  now_ = std::max(now_, due);
  if (refresh_kind_ == RefreshKind::kAllBank) {
    RefreshAll(due);
  } else {
    RefreshPair(due);
  }
  ++counted_.refreshes;
  ++refresh_number_;
  // From the number, so that nothing drifts.
  next_refresh_ = refresh_number_ * interval / refresh_commands_;
  ChooseCandidates();
}

void ChannelController::RefreshUntil(uint64_t now_ps) {
  while (next_refresh_ <= now_ps) Refresh(now_ps);
}

ChannelController::Rest ChannelController::RestAt(uint64_t now_ps) const {
  ChannelController now = *this;  // refreshes are made up for when the next request comes
  now.RefreshUntil(now_ps);
  Rest rest{{}, now.writing_, now.turn_requests_};
  const auto from_now = [now_ps](uint64_t ps) { return ps - std::min(ps, now_ps); };
  for (const Bank& bank : now.banks_) {
    rest.banks.push_back({bank.row, from_now(bank.column_from), from_now(bank.precharge_from),
                          from_now(bank.activate_from)});
  }
  return rest;
}

void ChannelController::SetRest(const Rest& rest, uint64_t now_ps) {
  RefreshUntil(now_ps);
  for (size_t i = 0; i < std::min(banks_.size(), rest.banks.size()); ++i) {
    banks_[i].row = rest.banks[i].row;
    banks_[i].column_from = now_ps + rest.banks[i].column_ps;
    banks_[i].precharge_from = now_ps + rest.banks[i].precharge_ps;
    banks_[i].activate_from = now_ps + rest.banks[i].activate_ps;
  }
  writing_ = rest.writing;
  turn_requests_ = rest.turn_requests;
  SetGroupsFrom();
}

void ChannelController::RefreshAll(uint64_t due) {
  uint64_t start = due;
  bool any_open = false;
  for (Bank& bank : banks_) {
    if (bank.row == kClosed || bank.activate > due) {
      // What was to be opened later is not; its precharge ends by then.
      start = std::max(start, bank.row == kClosed ? bank.activate_from : bank.activate);
      continue;
    }
    any_open = true;
    start = std::max(start, bank.precharge_from);
  }
  if (any_open) start += timing_.rp_all;
  window_.CancelAfter(due);
  for (Bank& bank : banks_) {
    bank.row = kClosed;
    bank.refresh_from = due;
    bank.refresh_until = bank.activate_from = start + timing_.refresh_all;
  }
}

// LPDDR5 refreshes the same bank of two groups with one command.
void ChannelController::RefreshPair(uint64_t due) {
  const uint32_t first =
      map_.RefreshBank(static_cast<uint32_t>((refresh_number_ - 1) % refresh_commands_));
  const std::array<uint32_t, 2> pair = {first, map_.Partner(first)};
  uint64_t start = due;
  for (const uint32_t index : pair) {
    const Bank& bank = banks_[index];
    if (bank.row == kClosed) {
      start = std::max(start, bank.activate_from);
    } else if (bank.activate > due) {
      start = std::max(start, bank.activate);
    } else {
      start = std::max(start, std::max(due, bank.precharge_from) + timing_.rp);
    }
  }
  for (Bank& bank : banks_)
    bank.activate_from = std::max(bank.activate_from, start + timing_.refresh_to_activate);
  for (const uint32_t index : pair) {
    Bank& bank = banks_[index];
    bank.row = kClosed;
    bank.refresh_from = due;
    bank.refresh_until = bank.activate_from = start + timing_.refresh_bank;
  }
}

}  // namespace spyre::model
