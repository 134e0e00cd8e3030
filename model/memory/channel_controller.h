// SPDX-License-Identifier: Apache-2.0
// Controller of one LPDDR5 channel: queues, banks, data bus, refresh. A discrete-event model
// without SystemC and without randomness; the same requests give the same times. One thread.
//
// The owner submits requests, asks when the next decision falls, and calls Advance then;
// completions may be told ahead of their time. What is modelled, and where figures come from:
// docs/memory.md. A request is priced whole, in one decision: its first column command, the
// bank-group slot (lane) that it holds, and its last data beat. Rows of waiting requests are opened
// ahead in their banks. A write of part of an ECC granule reads the granule's check bytes first, in
// one go for as many as a turn of writes may have.
//
// Order: a read that finds its bytes in a queued write is answered from there; one that finds part
// of them waits until the write has gone; a write waits at the door for queued reads of its bytes.
// Writes count as done when the write queue takes them; while it is full they wait at the door.
// MemoryConfig::controller_ns is the owner's to add.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/common/card_config.h"
#include "model/memory/activate_window.h"
#include "model/memory/bank_map.h"
#include "model/memory/bank_scan.h"
#include "model/memory/channel_statistics.h"
#include "model/memory/lpddr5_timing.h"
#include "model/memory/request_queue.h"

namespace spyre::model {

struct MemoryCompletion {
  uint64_t id;
  uint64_t done_ps;     // last data beat (reads) / taken by the write queue (writes)
  uint64_t decided_ps;  // when the controller knew
};

// A run of bursts on the data bus, check bytes included. Two bank groups take slots in turn, so
// that runs overlap.
struct MemoryRun {
  uint64_t begin_ps;  // from the first column command ...
  uint64_t end_ps;    // ... until the slot is free again
  uint32_t bytes;
  bool is_write;  // with the check bytes that it has to read before
};

class ChannelController {
 public:
  explicit ChannelController(const MemoryConfig& config);

  // `arrival_ps` may lie in the future, never before the last Advance. The bytes must lie inside
  // one block of interleave_bytes, as AddressMap cuts them; throws Error(kInternal) otherwise.
  void Submit(const MemoryRequest& request) { Submit(request, Locate(request)); }
  // What a channel has to know of a request, and the same request with that: for who asks the same
  // of several channels of one kind.
  QueuedRequest Locate(const MemoryRequest& request) const;
  void Submit(const MemoryRequest& request, const QueuedRequest& located) {
    doors_[request.write ? kWrite : kRead].Push(located, request.arrival_ps, request.requester);
  }
  // Takes every decision due up to `now_ps` and appends what it completes; done_ps may lie after
  // now_ps. Returns when the next one is due, as NextDecisionPs does.
  uint64_t Advance(uint64_t now_ps, std::vector<MemoryCompletion>& done);
  // When Advance has something to do; UINT64_MAX: nothing.
  uint64_t NextDecisionPs() const;
  // Whether a read, or a write, that comes would be admitted; if not, it is not before the next
  // decision.
  bool Takes(bool write) const {
    return !door_waits_[write ? kWrite : kRead] && !(write ? writes_ : reads_).full();
  }
  ChannelStatistics statistics() const { return OnTheBus(counted_); }

  // Needed where one controller stands for several channels (memory_channels.h).
  //
  // Both have taken all decisions up to now_ps: whether from now on the same requests get the same
  // times from both and are counted alike. Exact: nothing that a later decision looks at differs.
  bool SameFuture(const ChannelController& other, uint64_t now_ps) const;
  // Calls visit(id) for every request whose completion has not been told.
  template <class Visit>
  void ForEachPending(Visit visit) const {
    for (const Door& door : doors_) {
      for (size_t i = 0; i < door.size(); ++i) visit(door[i].id);
    }
    for (uint32_t bank = 0; bank < banks_.size(); ++bank) {
      for (uint16_t i = reads_.Head(bank); i != RequestQueue::kNone; i = reads_.Next(i))
        visit(reads_[i].id);
    }
  }
  uint64_t refreshes() const { return counted_.refreshes; }
  // Counters as they grow, and as statistics() has them: gaps are counted a lane.
  const ChannelStatistics& counted() const { return counted_; }
  ChannelStatistics OnTheBus(ChannelStatistics counted) const;

  // What earlier accesses have left to a channel that is at rest: the row that each bank has open
  // (UINT32_MAX: none) and how long from now it can be used, closed or opened; the direction of the
  // bus, and the requests since it turned.
  struct BankRest {
    uint32_t row = UINT32_MAX;
    uint64_t column_ps = 0, precharge_ps = 0, activate_ps = 0;
  };
  struct Rest {
    std::vector<BankRest> banks;
    bool writing = false;
    uint64_t turn_requests = 0;
  };
  Rest RestAt(uint64_t now_ps) const;
  // As if other accesses had left it so; a channel at rest, of the same kind.
  void SetRest(const Rest& rest, uint64_t now_ps);

  // Runs are appended to *log as they are decided; the caller empties it. nullptr: no more.
  void LogRuns(std::vector<MemoryRun>* log) { run_log_ = log; }

 private:
  class Comparison;
  enum Direction : uint8_t { kRead, kWrite };
  using Door = ArrivalQueue<QueuedRequest>;  // those that have not been admitted
  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr uint32_t kClosed = UINT32_MAX;

  struct Bank {
    uint32_t row = kClosed;  // open, or being opened
    bool used = true;        // a request has taken this row since its activate
    bool conflict = false;   // another row was closed for it
    uint64_t activate = 0;   // when its row was or will be opened
    uint64_t column_from = 0, precharge_from = 0, activate_from = 0;  // earliest next commands
    uint64_t refresh_from = 0, refresh_until = 0;                     // the last refresh
  };
  // Where every other burst slot goes when two bank groups share the bus.
  struct Lane {
    uint64_t free = 0;  // earliest next column command
  };

  RequestQueue& queue(Direction d) { return d == kRead ? reads_ : writes_; }
  const RequestQueue& queue(Direction d) const { return d == kRead ? reads_ : writes_; }
  Direction direction() const { return writing_ ? kWrite : kRead; }

  // Events, earliest first; each returns when it is due.
  uint64_t NextAdmission(Direction d) const;
  uint64_t NextIdleTurn() const;
  uint64_t NextColumn() const;

  void Admit(Direction d, uint64_t now, std::vector<MemoryCompletion>& done);
  void Refresh(uint64_t next_event);
  void RefreshUntil(uint64_t now_ps);
  void RefreshAll(uint64_t due);
  void RefreshPair(uint64_t due);
  void UpdateDirection();
  void Turn(bool writing);

  void ChooseCandidates();
  void ChooseCandidate(uint32_t bank);
  void OpenRow(uint32_t index, uint32_t row, uint64_t not_before);
  void SetGroupFrom(uint32_t group);
  void SetGroupsFrom();
  uint64_t Align(uint64_t column) const;
  // When a bank's candidate can go, as far as the bank and its group go.
  uint64_t ReadyFrom(uint32_t bank) const {
    return static_cast<uint64_t>(
        std::max(candidates_.from[bank], group_from_[bank % kMaxBankGroups]));
  }
  Lane& NextLane() { return lanes_[lanes_[1].free < lanes_[0].free ? 1 : 0]; }
  const Lane& NextLane() const { return lanes_[lanes_[1].free < lanes_[0].free ? 1 : 0]; }
  void Issue(uint64_t column, std::vector<MemoryCompletion>& done);
  uint64_t ReadCheckFirst(uint64_t column);
  void CountGap(const Bank& bank, uint64_t bank_from, uint64_t begin, uint64_t column);

  // Not const: a channel may take over the state of another.
  Lpddr5Timing timing_;
  BankMap map_;
  size_t write_high_, write_low_;
  uint64_t reads_per_turn_;
  uint64_t write_idle_;
  uint64_t starvation_;
  RefreshKind refresh_kind_;
  uint64_t refresh_commands_;  // in one tREFI
  unsigned lane_count_;        // 2 with bank groups

  uint64_t now_ = 0;  // time of the last event
  uint64_t age_ = 0;
  std::array<Door, 2> doors_;
  std::array<bool, 2> door_waits_{};  // its front meets a queued request of the other kind
  RequestQueue reads_, writes_;
  bool writing_ = false;
  uint64_t turn_requests_ = 0;  // since the bus turned
  uint64_t merged_writes_ = 0;  // partial writes to go whose old check bytes have been read
  uint64_t last_read_ = 0, last_write_ = 0;  // bounds for the next column of the other kind
  std::array<uint64_t, kMaxBankGroups> group_free_{};
  std::array<uint64_t, kMaxBankGroups> group_read_from_{};
  std::array<Lane, 2> lanes_;
  std::vector<Bank> banks_;
  ActivateWindow window_;
  BankCandidates candidates_;
  uint64_t waiting_banks_ = 0;  // bit a bank: it has a candidate in the present direction
  uint64_t waiting_since_ = 0;  // when the present direction last had none before
  uint64_t read_idle_since_ = 0;
  uint64_t next_refresh_ = kNever;
  uint64_t refresh_number_ = 0;  // of the next one
  GroupTimes group_from_{};
  // As NextColumn found them: the next column command, and the bank that it goes to.
  mutable uint64_t next_column_ = kNever;
  mutable uint32_t next_bank_ = 0;
  mutable bool next_column_known_ = true;
  ChannelStatistics counted_;
  std::vector<MemoryRun>* run_log_ = nullptr;
};

}  // namespace spyre::model
