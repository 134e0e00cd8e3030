// SPDX-License-Identifier: Apache-2.0
// The channels of device memory. Those that are in the same state stand as one, which is exact.
//
// An access that covers whole rounds of the interleave, such as 4 KiB over 16 channels of 256
// bytes, asks the same of every channel. Channels whose controllers will do the same from now on
// form a class, and the controller of its highest channel, its leader, decides for all of them. An
// access that does not ask the same of all members splits the class: those that differ go on with a
// copy of the leader's state. After a refresh, which closes rows, classes that will do the same
// from now on become one again (ChannelController::SameFuture).
//
// The leader is the highest channel because accesses end in the order of decisions, at the same
// time in the order of channels, and the last channel to decide is the one that ends an access.
// Counters of a channel are those of its leader and a difference from them, taken when it joined.
//
// No SystemC. Times of the controllers only: MemoryConfig::controller_ns is the owner's to add. One
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "model/common/card_config.h"
#include "model/memory/address_map.h"
#include "model/memory/channel_controller.h"

namespace spyre::model {

// kOff: each channel is a class of its own for ever. The times are the same; for tests of that.
enum class Folding : uint8_t { kOff, kOn };

class MemoryChannels {
 public:
  explicit MemoryChannels(const MemoryConfig& config, Folding folding = Folding::kOn);

  struct Access {
    uint32_t id;  // small, and of no other access that has not ended
    uint64_t arrival_ps;
    uint64_t address;  // of the device
    uint64_t bytes;
    bool write;
    uint16_t requester = 0;  // of accesses that arrive at the same time the lowest goes first
  };
  // arrival_ps may lie in the future, never before the last Advance. Returns NextDecisionPs.
  uint64_t Submit(const Access& access);
  // Takes every decision due up to now_ps, and appends the accesses that have ended with them, in
  // the order of their last decisions, at the same time in the order of channels; done_ps is that
  // of the last piece and may lie after now_ps.
  void Advance(uint64_t now_ps, std::vector<MemoryCompletion>& ended);
  // When Advance has something to do; UINT64_MAX: nothing.
  uint64_t NextDecisionPs() const { return next_ps_; }

  // Of every channel, at rest (ChannelController).
  std::vector<ChannelController::Rest> RestAt(uint64_t now_ps) const;
  void SetRest(const std::vector<ChannelController::Rest>& rest, uint64_t now_ps);

  // From Advance, for each channel that has decided, in their order: its runs since the last call,
  // and whether it has nothing more to do.
  using RunSink =
      std::function<void(size_t channel, const std::vector<MemoryRun>& runs, bool at_rest)>;
  void OnRuns(RunSink sink);

  size_t size() const { return channels_.size(); }
  size_t classes() const { return classes_; }
  size_t leader(size_t channel) const { return leader_[channel]; }
  ChannelStatistics statistics(size_t channel) const;

 private:
  using Mask = uint64_t;  // bit a channel; a card has at most 64
  // A place in the order of decisions: time, channel, number among those of one call.
  using Turn = std::tuple<uint64_t, size_t, size_t>;
  struct Flight {
    uint32_t pieces = 0;  // of the leaders' controllers, not yet decided
    uint64_t done_ps = 0;
    Turn last;  // of the decisions so far
  };

  // Those that arrive by now_ps go to their channels. Not before, where channels are apart: so they
  // are put in order once, not once a channel.
  void HandOver(uint64_t now_ps);
  // The first edge of the channels' clock from its arrival on.
  uint64_t SeenPs(const MemoryRequest& access) const {
    return clock_.RoundedUp(access.arrival_ps) * clock_.value();
  }
  // The rounds of the interleave that an access covers whole; count 0: there is a part of one.
  struct Rounds {
    uint64_t first, count;
  };
  Rounds WholeRounds(const MemoryRequest& access) const;
  // The channels that an access goes to.
  Mask AskedBy(const MemoryRequest& access) const;
  // Of all channels, accesses to come among them.
  uint64_t FindNextDecision() const;
  void SubmitRounds(const MemoryRequest& access, const Rounds& rounds);
  void SubmitPieces(const MemoryRequest& access);
  void SubmitTo(size_t leader, const MemoryRequest& request, const QueuedRequest& located);
  // Those members of a class that are not asked for the same as its leader leave it.
  void SplitByPieces(size_t leader);
  void Split(size_t leader, Mask leaving);
  void Fold(uint64_t now_ps);
  void Merge(size_t leader, size_t joining);
  void TellRuns(Mask decided);

  const Folding folding_;
  const AddressMap map_;
  const uint64_t interleave_;
  const Divisor clock_;     // ps
  const Divisor by_round_;  // bytes of one block of every channel
  const uint64_t fold_interval_ps_;
  std::vector<ChannelController> channels_;  // those of leaders are at work
  std::vector<uint64_t> next_decision_ps_;   // of leaders; UINT64_MAX for others
  std::vector<size_t> leader_;               // of each channel
  std::vector<Mask> members_;                // of each leader, itself among them; 0 for others
  std::vector<ChannelStatistics> apart_;     // a channel's counters less its leader's
  Mask all_ = 0;
  Mask leaders_ = 0;  // whose members_ are not 0
  size_t classes_;
  // When classes were last compared, by refreshes of the highest channel, and when they are again.
  uint64_t folded_at_refresh_ = 0, fold_from_ps_ = 0;
  std::vector<Flight> flights_;  // by id
  // Reads and writes to come, as requests at their addresses of the device.
  using Arrivals = ArrivalQueue<MemoryRequest>;
  std::array<Arrivals, 2> arriving_;
  uint64_t next_ps_ = UINT64_MAX;  // the next decision
  std::array<Mask, 2> taking_;     // the channels that have room for reads, for writes
  RunSink run_sink_;
  std::vector<std::vector<MemoryRun>> runs_;  // of each leader, since its last decision
  // Scratch for the call at hand.
  std::vector<std::vector<MemoryRequest>> pieces_;  // by channel
  std::vector<MemoryCompletion> completions_;       // of one channel
  std::vector<std::pair<Turn, uint32_t>> ended_;    // accesses
};

}  // namespace spyre::model
