// SPDX-License-Identifier: Apache-2.0
// A collective operation of several ranks as steps: who copies which bytes into whose memory, and
// what the receiver adds them to. Pure functions of the call: no card, no time, any thread. What
// executes a plan is CollectiveRank (collective_rank.h), for every operation and algorithm.
//
// A rank has three areas of memory:
//   kData    `bytes` of its own, which it gives and, except for gathers, gets the result in
//   kResult  gathers only: a block of `bytes` for each rank; its own block is not written, as its
//            data are that block
//   kInbox   what comes to be added; each step of a plan has a place of its own in it, so nobody
//            has to wait until a place is free again
//
// What holds afterwards: collective_call.h.
//
// Errors: BadInput for ranks that do not exist, or data that are not whole sticks.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/collectives/collective_call.h"

namespace spyre::runtime {

enum class CollectiveArea : uint8_t { kData, kResult, kInbox };
struct CollectiveRange {
  CollectiveArea area = CollectiveArea::kData;
  uint64_t offset = 0;
};
// `bytes` from `source` at rank `from` to `target` at rank `to`; if `adds`, the receiver then adds
// them to its data at `sum`.
struct CollectiveStep {
  size_t from = 0, to = 0;
  uint64_t bytes = 0;
  CollectiveRange source, target;
  bool adds = false;
  uint64_t sum = 0;
};

struct CollectivePlan {
  CollectiveCall call;  // with the algorithm that was chosen
  size_t ranks = 1;
  uint64_t inbox_bytes = 0, result_bytes = 0;  // of each rank
  // In each round a rank sends all that it has to send, in order, and then takes what comes to it,
  // in order. What it sends it has had since the round before.
  std::vector<std::vector<CollectiveStep>> rounds;

  uint64_t BytesFrom(size_t rank) const;
  uint64_t StepsFrom(size_t rank) const;
};

// A chunk of the data; bytes may be 0.
struct CollectiveChunk {
  uint64_t offset = 0, bytes = 0;
};
// Chunk `number` of `ranks`; the first ones have a stick more if sticks do not come out even.
CollectiveChunk ChunkOf(uint64_t bytes, size_t ranks, size_t number);

CollectivePlan PlanCollective(CollectiveCall call, size_t ranks);

// What kAuto stands for (docs/multi-card.md has the reasons).
CollectiveAlgorithm ChooseAlgorithm(Collective collective, uint64_t bytes, size_t ranks);

}  // namespace spyre::runtime
