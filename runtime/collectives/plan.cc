// SPDX-License-Identifier: Apache-2.0
#include "runtime/collectives/plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/contract/memory_map.h"

namespace spyre::runtime {
namespace {

using Area = CollectiveArea;

// Adds steps to a plan. Ranks are counted from `first` (root, or 0), which is place 0.
class Planner {
 public:
  Planner(const CollectiveCall& call, size_t ranks, size_t first) : ranks_(ranks), first_(first) {
    plan_.call = call;
    plan_.ranks = ranks;
    taken_.resize(ranks);
  }

  CollectivePlan Finish() {
    auto& rounds = plan_.rounds;
    rounds.erase(
        std::remove_if(rounds.begin(), rounds.end(), [](const auto& r) { return r.empty(); }),
        rounds.end());
    plan_.inbox_bytes = *std::max_element(taken_.begin(), taken_.end());
    if (Gathers(plan_.call.collective)) plan_.result_bytes = ranks_ * plan_.call.bytes;
    return std::move(plan_);
  }

  // The sum of chunk p at place p.
  void RingReduceScatter() {
    for (size_t step = 0; step + 1 < ranks_; ++step) {
      NextRound();
      for (size_t place = 0; place < ranks_; ++place)
        Add(place, Next(place), Chunk(Before(place, step + 1)));
    }
  }
  // Of chunk p, which place p has.
  void RingSpread() {
    for (size_t step = 0; step + 1 < ranks_; ++step) {
      NextRound();
      for (size_t place = 0; place < ranks_; ++place)
        Copy(place, Next(place), Chunk(Before(place, step)));
    }
  }
  void DirectReduceScatter() {
    NextRound();
    ForPairs([this](size_t from, size_t to) { Add(from, to, Chunk(to)); });
  }
  void DirectSpread() {
    NextRound();
    ForPairs([this](size_t from, size_t to) { Copy(from, to, Chunk(from)); });
  }
  // Chunk p of place p to place 0.
  void CollectChunks() {
    NextRound();
    for (size_t place = 1; place < ranks_; ++place) Copy(place, 0, Chunk(place));
  }
  void DealChunks() {
    NextRound();
    for (size_t place = 1; place < ranks_; ++place) Copy(0, place, Chunk(place));
  }

  void TreeReduce() {
    for (size_t distance = 1; distance < ranks_; distance *= 2) {
      NextRound();
      for (size_t place = 0; place + distance < ranks_; place += 2 * distance)
        Add(place + distance, place, All());
    }
  }
  void TreeBroadcast() {
    for (size_t distance = HighestDistance(); distance > 0; distance /= 2) {
      NextRound();
      for (size_t place = 0; place + distance < ranks_; place += 2 * distance)
        Copy(place, place + distance, All());
    }
  }
  void DirectReduce() {
    NextRound();
    for (size_t place = 1; place < ranks_; ++place) Add(place, 0, All());
  }
  void DirectBroadcast() {
    NextRound();
    for (size_t place = 1; place < ranks_; ++place) Copy(0, place, All());
  }
  // Chunks down a chain, one behind the other.
  void ChainBroadcast() {
    for (size_t step = 0; step + 2 < 2 * ranks_; ++step) {
      NextRound();
      for (size_t place = 0; place + 1 < ranks_; ++place) {
        if (step >= place && step - place < ranks_) Copy(place, place + 1, Chunk(step - place));
      }
    }
  }

  void RingAllGather() {
    for (size_t step = 0; step + 1 < ranks_; ++step) {
      NextRound();
      for (size_t place = 0; place < ranks_; ++place)
        Block(place, Next(place), Before(place, step));
    }
  }
  // Each round doubles the blocks that a place has, its own and those behind it.
  void TreeAllGather() {
    for (size_t distance = 1; distance < ranks_; distance *= 2) {
      NextRound();
      for (size_t place = 0; place < ranks_; ++place) {
        for (size_t i = 0; i < std::min(distance, ranks_ - distance); ++i)
          Block(place, (place + distance) % ranks_, Before(place, i));
      }
    }
  }
  void DirectAllGather() {
    NextRound();
    ForPairs([this](size_t from, size_t to) { Block(from, to, from); });
  }
  // Down a chain to place 0.
  void ChainGather() {
    for (size_t step = 0; step + 1 < ranks_; ++step) {
      NextRound();
      for (size_t place = 1; place + step < ranks_; ++place) Block(place, place - 1, place + step);
    }
  }
  void TreeGather() {
    for (size_t distance = 1; distance < ranks_; distance *= 2) {
      NextRound();
      for (size_t place = 0; place + distance < ranks_; place += 2 * distance) {
        const size_t end = std::min(place + 2 * distance, ranks_);
        for (size_t block = place + distance; block < end; ++block)
          Block(place + distance, place, block);
      }
    }
  }
  void DirectGather() {
    NextRound();
    for (size_t place = 1; place < ranks_; ++place) Block(place, 0, place);
  }

  void RingBarrier() {
    for (size_t step = 0; step + 1 < ranks_; ++step) {
      NextRound();
      for (size_t place = 0; place < ranks_; ++place) Token(place, Next(place));
    }
  }
  void TreeBarrier() {
    for (size_t distance = 1; distance < ranks_; distance *= 2) {
      NextRound();
      for (size_t place = 0; place < ranks_; ++place) Token(place, (place + distance) % ranks_);
    }
  }
  void DirectBarrier() {
    NextRound();
    ForPairs([this](size_t from, size_t to) { Token(from, to); });
  }

  void Send() {
    NextRound();
    Copy(0, (plan_.call.peer + ranks_ - first_) % ranks_, All());
  }

 private:
  size_t Rank(size_t place) const { return (place + first_) % ranks_; }
  size_t Next(size_t place) const { return (place + 1) % ranks_; }
  size_t Before(size_t place, size_t steps) const { return (place + 2 * ranks_ - steps) % ranks_; }
  size_t HighestDistance() const {
    size_t distance = 1;
    while (2 * distance < ranks_) distance *= 2;
    return ranks_ > 1 ? distance : 0;
  }
  CollectiveChunk All() const { return {0, plan_.call.bytes}; }
  // Of place p: that of its rank.
  CollectiveChunk Chunk(size_t place) const {
    return ChunkOf(plan_.call.bytes, ranks_, Rank(place));
  }

  void NextRound() { plan_.rounds.emplace_back(); }
  // Each place to each other one; in turn, so that at no time two send to one.
  template <typename Function>
  void ForPairs(const Function& function) {
    for (size_t distance = 1; distance < ranks_; ++distance) {
      for (size_t place = 0; place < ranks_; ++place) function(place, (place + distance) % ranks_);
    }
  }

  void Push(const CollectiveStep& step) {
    if (step.bytes > 0) plan_.rounds.back().push_back(step);
  }
  uint64_t TakeInbox(size_t rank, uint64_t bytes) {
    const uint64_t offset = taken_[rank];
    taken_[rank] += bytes;
    return offset;
  }
  void Copy(size_t from, size_t to, const CollectiveChunk& chunk) {
    const CollectiveRange range{Area::kData, chunk.offset};
    Push({Rank(from), Rank(to), chunk.bytes, range, range, false, 0});
  }
  void Add(size_t from, size_t to, const CollectiveChunk& chunk) {
    Push({Rank(from),
          Rank(to),
          chunk.bytes,
          {Area::kData, chunk.offset},
          {Area::kInbox, TakeInbox(Rank(to), chunk.bytes)},
          true,
          chunk.offset});
  }
  void Block(size_t from, size_t to, size_t block) {
    const uint64_t offset = Rank(block) * plan_.call.bytes;
    const CollectiveRange source =
        from == block ? CollectiveRange{Area::kData, 0} : CollectiveRange{Area::kResult, offset};
    Push({Rank(from), Rank(to), plan_.call.bytes, source, {Area::kResult, offset}, false, 0});
  }
  void Token(size_t from, size_t to) {
    if (taken_[Rank(from)] == 0) TakeInbox(Rank(from), kStickBytes);  // the token that it sends
    if (taken_[Rank(to)] == 0) TakeInbox(Rank(to), kStickBytes);
    Push({Rank(from),
          Rank(to),
          kStickBytes,
          {Area::kInbox, 0},
          {Area::kInbox, TakeInbox(Rank(to), kStickBytes)},
          false,
          0});
  }

  CollectivePlan plan_;
  const size_t ranks_, first_;
  std::vector<uint64_t> taken_;  // of each rank's inbox
};

void Check(const CollectiveCall& call, size_t ranks) {
  const std::string& name = Name(call.collective);
  if (call.collective == Collective::kNone) return;
  if (call.collective != Collective::kBarrier &&
      (call.bytes == 0 || call.bytes % kStickBytes != 0)) {
    throw BadInput("{} over {} bytes: must be a multiple of {} bytes, and not 0", name, call.bytes,
                   kStickBytes);
  }
  const bool sends = call.collective == Collective::kSend;
  if (call.root >= ranks || (sends && call.peer >= ranks))
    throw BadInput("{}: there are {} ranks, and no rank {}", name, ranks,
                   call.root >= ranks ? call.root : call.peer);
  if (sends && call.root == call.peer)
    throw BadInput("send from rank {} to itself: a rank sends to another one", call.root);
}

template <typename Function>
void ByAlgorithm(CollectiveAlgorithm algorithm, Planner& planner, const Function& ring,
                 const Function& tree, const Function& direct) {
  const Function& chosen = algorithm == CollectiveAlgorithm::kRing   ? ring
                           : algorithm == CollectiveAlgorithm::kTree ? tree
                                                                     : direct;
  for (const auto phase : chosen) (planner.*phase)();
}

}  // namespace

uint64_t CollectivePlan::BytesFrom(size_t rank) const {
  uint64_t bytes = 0;
  for (const auto& round : rounds) {
    for (const CollectiveStep& step : round) bytes += step.from == rank ? step.bytes : 0;
  }
  return bytes;
}

uint64_t CollectivePlan::StepsFrom(size_t rank) const {
  uint64_t steps = 0;
  for (const auto& round : rounds) {
    for (const CollectiveStep& step : round) steps += step.from == rank ? 1 : 0;
  }
  return steps;
}

CollectiveChunk ChunkOf(uint64_t bytes, size_t ranks, size_t number) {
  const uint64_t sticks = bytes / kStickBytes;
  const uint64_t least = sticks / ranks, more = sticks % ranks;
  const uint64_t begin = number * least + std::min<uint64_t>(number, more);
  return {begin * kStickBytes, (least + (number < more ? 1 : 0)) * kStickBytes};
}

CollectivePlan PlanCollective(CollectiveCall call, size_t ranks) {
  Check(call, ranks);
  if (call.algorithm == CollectiveAlgorithm::kAuto)
    call.algorithm = ChooseAlgorithm(call.collective, call.bytes, ranks);
  Planner plan(call, ranks, HasRoot(call.collective) ? call.root : 0);
  using Phases = std::vector<void (Planner::*)()>;
  const auto by = [&](const Phases& ring, const Phases& tree, const Phases& direct) {
    ByAlgorithm(call.algorithm, plan, ring, tree, direct);
  };
  using P = Planner;
  switch (call.collective) {
    case Collective::kNone:
      break;
    case Collective::kAllReduce:
      by({&P::RingReduceScatter, &P::RingSpread}, {&P::TreeReduce, &P::TreeBroadcast},
         {&P::DirectReduceScatter, &P::DirectSpread});
      break;
    case Collective::kReduce:
      by({&P::RingReduceScatter, &P::CollectChunks}, {&P::TreeReduce}, {&P::DirectReduce});
      break;
    case Collective::kReduceScatter:
      by({&P::RingReduceScatter}, {&P::TreeReduce, &P::DealChunks}, {&P::DirectReduceScatter});
      break;
    case Collective::kBroadcast:
      by({&P::ChainBroadcast}, {&P::TreeBroadcast}, {&P::DirectBroadcast});
      break;
    case Collective::kAllGather:
      by({&P::RingAllGather}, {&P::TreeAllGather}, {&P::DirectAllGather});
      break;
    case Collective::kGather:
      by({&P::ChainGather}, {&P::TreeGather}, {&P::DirectGather});
      break;
    case Collective::kSend:
      plan.Send();
      break;
    case Collective::kBarrier:
      by({&P::RingBarrier}, {&P::TreeBarrier}, {&P::DirectBarrier});
      break;
  }
  return plan.Finish();
}

CollectiveAlgorithm ChooseAlgorithm(Collective collective, uint64_t bytes, size_t ranks) {
  // Chunks below these cost the start of a copy, or of an addition, rather than their bytes.
  constexpr uint64_t kLargeChunk = 128 * 1024, kLargeSum = 32 * 1024;
  const auto by_size = [&](uint64_t large) {
    return bytes / ranks >= large ? CollectiveAlgorithm::kRing : CollectiveAlgorithm::kTree;
  };
  if (Adds(collective)) return by_size(kLargeSum);
  if (collective == Collective::kBroadcast) return by_size(kLargeChunk);
  if (collective == Collective::kBarrier) return CollectiveAlgorithm::kTree;
  return CollectiveAlgorithm::kDirect;
}

}  // namespace spyre::runtime
