// SPDX-License-Identifier: Apache-2.0
#include "model/memory/memory_channels.h"

#include <algorithm>
#include <utility>

namespace spyre::model {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

uint64_t Bit(size_t channel) { return 1ull << channel; }

// Calls visit(channel) for every bit of the mask, lowest first.
template <class Visit>
void ForEachChannel(uint64_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<size_t>(__builtin_ctzll(mask)));
}

size_t Highest(uint64_t mask) { return 63 - static_cast<size_t>(__builtin_clzll(mask)); }

bool SamePieces(const std::vector<MemoryRequest>& a, const std::vector<MemoryRequest>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const MemoryRequest& one, const MemoryRequest& other) {
                      return one.address == other.address && one.bytes == other.bytes;
                    });
}

}  // namespace

MemoryChannels::MemoryChannels(const MemoryConfig& config, Folding folding)
    : folding_(folding),
      map_(config),
      interleave_(config.interleave_bytes),
      clock_(config.clock_ps),
      by_round_(config.channels * config.interleave_bytes),
      fold_interval_ps_(config.t_refi_ps),
      channels_(config.channels, ChannelController(config)),
      next_decision_ps_(config.channels, kNever),
      members_(config.channels, 0),
      apart_(config.channels),
      runs_(config.channels),
      pieces_(config.channels) {
  for (size_t i = 0; i < size(); ++i) {
    leader_.push_back(folding == Folding::kOn ? size() - 1 : i);
    members_[leader_[i]] |= Bit(i);
    leaders_ |= Bit(leader_[i]);
    all_ |= Bit(i);
  }
  taking_.fill(all_);
  classes_ = folding == Folding::kOn ? 1 : size();
}

void MemoryChannels::OnRuns(RunSink sink) {
  run_sink_ = std::move(sink);
  for (size_t i = 0; i < size(); ++i) channels_[i].LogRuns(&runs_[i]);
}

uint64_t MemoryChannels::Submit(const Access& access) {
  if (access.id >= flights_.size()) flights_.resize(access.id + 1);
  flights_[access.id] = {};
  const MemoryRequest request{access.id,      access.arrival_ps,
                              access.address, static_cast<uint32_t>(access.bytes),
                              access.write,   access.requester};
  const size_t kind = access.write ? 1 : 0;
  const Rounds rounds = WholeRounds(request);
  if (classes_ == 1 && arriving_[kind].empty() && rounds.count > 0) {
    SubmitRounds(request, rounds);  // the door puts it in order once, too
    next_ps_ = std::min(next_ps_, next_decision_ps_[leader_[0]]);
  } else {
    arriving_[kind].Push(request, access.arrival_ps, access.requester);
    if ((AskedBy(request) & taking_[kind]) != 0) next_ps_ = std::min(next_ps_, SeenPs(request));
  }
  return next_ps_;
}

MemoryChannels::Rounds MemoryChannels::WholeRounds(const MemoryRequest& access) const {
  const Divisor::Result at = by_round_.Divide(access.address);
  const Divisor::Result bytes = by_round_.Divide(access.bytes);
  return {at.quotient, at.rest == 0 && bytes.rest == 0 ? bytes.quotient : 0};
}

MemoryChannels::Mask MemoryChannels::AskedBy(const MemoryRequest& access) const {
  if (WholeRounds(access).count > 0) return all_;
  Mask asked = 0;
  map_.ForEachPiece(access.address, access.bytes,
                    [&](const ChannelAddress& at, uint32_t) { asked |= Bit(at.channel); });
  return asked;
}

// A channel decides on an access at the first edge of its clock from its arrival on, if it has room
// for it; else not before the decision that makes room.
uint64_t MemoryChannels::FindNextDecision() const {
  uint64_t next = kNever;
  ForEachChannel(leaders_,
                 [&](size_t leader) { next = std::min(next, next_decision_ps_[leader]); });
  for (size_t kind = 0; kind < arriving_.size(); ++kind) {
    if (taking_[kind] == 0) continue;
    for (size_t i = 0; i < arriving_[kind].size(); ++i) {
      const MemoryRequest& access = arriving_[kind][i];
      if ((AskedBy(access) & taking_[kind]) == 0) continue;
      next = std::min(next, SeenPs(access));
      break;
    }
  }
  return next;
}

void MemoryChannels::HandOver(uint64_t now_ps) {
  for (Arrivals& arriving : arriving_) {
    for (; !arriving.empty() && SeenPs(arriving.front()) <= now_ps; arriving.Pop()) {
      const Rounds rounds = WholeRounds(arriving.front());
      if (rounds.count > 0) {
        SubmitRounds(arriving.front(), rounds);
      } else {
        SubmitPieces(arriving.front());
      }
    }
  }
}

// A block of each channel a round, all at the same address in their channels.
void MemoryChannels::SubmitRounds(const MemoryRequest& access, const Rounds& rounds) {
  MemoryRequest piece = access;
  piece.bytes = static_cast<uint32_t>(interleave_);
  for (uint64_t round = rounds.first; round < rounds.first + rounds.count; ++round) {
    piece.address = round * interleave_;
    const QueuedRequest located = channels_.front().Locate(piece);
    ForEachChannel(leaders_, [&](size_t leader) { SubmitTo(leader, piece, located); });
  }
}

void MemoryChannels::SubmitPieces(const MemoryRequest& access) {
  Mask of_classes = 0;  // channels that others stand for, or that stand for others
  MemoryRequest piece = access;
  map_.ForEachPiece(access.address, access.bytes, [&](const ChannelAddress& at, uint32_t bytes) {
    piece.address = at.address;
    piece.bytes = bytes;
    if (members_[at.channel] == Bit(at.channel)) {
      SubmitTo(at.channel, piece, channels_.front().Locate(piece));
    } else {
      of_classes |= Bit(at.channel);
      pieces_[at.channel].push_back(piece);
    }
  });
  if (of_classes == 0) return;
  // From above: who leaves a class is led by one of a lower number, whose turn comes later.
  for (size_t leader = size(); leader-- > 0;) {
    if ((members_[leader] & of_classes) == 0) continue;
    if (members_[leader] != Bit(leader)) SplitByPieces(leader);
    for (const MemoryRequest& part : pieces_[leader])
      SubmitTo(leader, part, channels_.front().Locate(part));
  }
  ForEachChannel(of_classes, [this](size_t channel) { pieces_[channel].clear(); });
}

void MemoryChannels::SubmitTo(size_t leader, const MemoryRequest& request,
                              const QueuedRequest& located) {
  channels_[leader].Submit(request, located);
  ++flights_[request.id].pieces;
  if (channels_[leader].Takes(request.write))
    next_decision_ps_[leader] = std::min(next_decision_ps_[leader], located.arrival_ps);
}

void MemoryChannels::SplitByPieces(size_t leader) {
  Mask leaving = 0;
  ForEachChannel(members_[leader], [&](size_t member) {
    if (!SamePieces(pieces_[leader], pieces_[member])) leaving |= Bit(member);
  });
  if (leaving != 0) Split(leader, leaving);
}

void MemoryChannels::Split(size_t leader, Mask leaving) {
  const size_t first = Highest(leaving);
  channels_[first] = channels_[leader];
  if (run_sink_) channels_[first].LogRuns(&runs_[first]);
  next_decision_ps_[first] = next_decision_ps_[leader];
  channels_[first].ForEachPending([this](uint64_t id) { ++flights_[id].pieces; });
  members_[leader] &= ~leaving;
  members_[first] = leaving;
  leaders_ |= Bit(first);
  ForEachChannel(leaving, [&](size_t member) { leader_[member] = first; });
  ++classes_;
}

std::vector<ChannelController::Rest> MemoryChannels::RestAt(uint64_t now_ps) const {
  std::vector<ChannelController::Rest> rest;
  for (size_t channel = 0; channel < size(); ++channel)
    rest.push_back(channels_[leader_[channel]].RestAt(now_ps));
  return rest;
}

void MemoryChannels::SetRest(const std::vector<ChannelController::Rest>& rest, uint64_t now_ps) {
  for (size_t channel = 0; channel < std::min(size(), rest.size()); ++channel) {
    if (members_[leader_[channel]] != Bit(channel)) {
      // A leader stays one; it cannot leave, so that the others do.
      const Mask all = members_[leader_[channel]];
      const size_t leader = leader_[channel];
      Split(leader, leader == channel ? all & ~Bit(channel) : Bit(channel));
    }
    channels_[channel].SetRest(rest[channel], now_ps);
  }
}

// A refresh closes rows, so that is when channels are most alike. The highest channel, which leads
// whenever all are one, may be at rest or know no refresh: then from time to time.
void MemoryChannels::Fold(uint64_t now_ps) {
  if (classes_ == 1 || folding_ == Folding::kOff) return;
  const uint64_t refreshes = channels_.back().refreshes();
  if (refreshes == folded_at_refresh_ && now_ps < fold_from_ps_) return;
  folded_at_refresh_ = refreshes;
  fold_from_ps_ = now_ps + fold_interval_ps_;
  for (size_t leader = size(); leader-- > 1;) {
    if (members_[leader] == 0) continue;
    for (size_t other = leader; other-- > 0;) {
      if (members_[other] != 0 && channels_[leader].SameFuture(channels_[other], now_ps))
        Merge(leader, other);
    }
  }
}

void MemoryChannels::Merge(size_t leader, size_t joining) {
  channels_[joining].ForEachPending([this](uint64_t id) { --flights_[id].pieces; });
  ForEachChannel(members_[joining], [&](size_t member) {
    leader_[member] = leader;
    apart_[member] += channels_[joining].counted();
    apart_[member] -= channels_[leader].counted();
  });
  members_[leader] |= members_[joining];
  members_[joining] = 0;
  leaders_ &= ~Bit(joining);
  next_decision_ps_[joining] = kNever;
  --classes_;
}

void MemoryChannels::Advance(uint64_t now_ps, std::vector<MemoryCompletion>& ended) {
  HandOver(now_ps);
  Mask decided = 0;
  ForEachChannel(leaders_, [&](size_t leader) {
    if (next_decision_ps_[leader] > now_ps) return;
    completions_.clear();
    next_decision_ps_[leader] = channels_[leader].Advance(now_ps, completions_);
    for (size_t kind = 0; kind < taking_.size(); ++kind) {
      taking_[kind] &= ~members_[leader];
      if (channels_[leader].Takes(kind == 1)) taking_[kind] |= members_[leader];
    }
    decided |= members_[leader];
    for (size_t i = 0; i < completions_.size(); ++i) {
      const MemoryCompletion& completion = completions_[i];
      Flight& flight = flights_[completion.id];
      flight.done_ps = std::max(flight.done_ps, completion.done_ps);
      flight.last = std::max(flight.last, Turn{completion.decided_ps, leader, i});
      if (--flight.pieces == 0)
        ended_.emplace_back(flight.last, static_cast<uint32_t>(completion.id));
    }
  });
  std::sort(ended_.begin(), ended_.end());
  for (const auto& [turn, id] : ended_)
    ended.push_back({id, flights_[id].done_ps, std::get<0>(turn)});
  ended_.clear();
  if (run_sink_) TellRuns(decided);
  Fold(now_ps);
  next_ps_ = FindNextDecision();
}

void MemoryChannels::TellRuns(Mask decided) {
  Mask at_rest = 0;  // and no access will come
  ForEachChannel(decided, [&](size_t channel) {
    if (next_decision_ps_[leader_[channel]] == kNever) at_rest |= Bit(channel);
  });
  for (const Arrivals& arriving : arriving_) {
    for (size_t i = 0; i < arriving.size() && at_rest != 0; ++i) at_rest &= ~AskedBy(arriving[i]);
  }
  ForEachChannel(decided, [&](size_t channel) {
    run_sink_(channel, runs_[leader_[channel]], (at_rest & Bit(channel)) != 0);
  });
  ForEachChannel(decided, [this](size_t channel) { runs_[leader_[channel]].clear(); });
}

ChannelStatistics MemoryChannels::statistics(size_t channel) const {
  const ChannelController& leader = channels_[leader_[channel]];
  ChannelStatistics own = leader.counted();
  own += apart_[channel];
  return leader.OnTheBus(own);
}

}  // namespace spyre::model
