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
// Operations, by what holds afterwards (root: a rank):
//   all_reduce      the data of every rank are the sum of the data of all
//   reduce          the data of root are the sum; those of others may be sums of some ranks
//   reduce_scatter  chunk r of the data of rank r is that of the sum; the rest may be partial sums
//   broadcast       the data of every rank are those of root
//   all_gather      block r of every rank's result are the data of rank r
//   gather          the same at root only; other ranks' results hold what they passed on
//   send            the data of `peer` are those of root
//   barrier         no rank is past it before every rank has come to it; a token of a stick moves
//
// Errors: BadInput for ranks that do not exist, or data that are not whole sticks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::runtime {

enum class Collective : uint8_t {
  kNone,  // no steps
  kAllReduce,
  kReduce,
  kReduceScatter,
  kBroadcast,
  kAllGather,
  kGather,
  kSend,
  kBarrier
};
enum class CollectiveAlgorithm : uint8_t { kAuto, kRing, kTree, kDirect };

const std::vector<std::string>& CollectiveNames();           // "none", "all_reduce", ...
const std::vector<std::string>& CollectiveAlgorithmNames();  // "auto", "ring", ...
const std::string& Name(Collective collective);
const std::string& Name(CollectiveAlgorithm algorithm);
const char* TraceName(Collective collective);  // "AllReduce", as in the public traces
bool Adds(Collective collective);              // whether it sums
bool Gathers(Collective collective);           // whether it has a result beside the data

// What all ranks must agree on.
struct CollectiveCall {
  Collective collective = Collective::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  uint64_t bytes = 0;  // of the data of one rank: whole sticks; not used by a barrier
  std::string type;    // of the elements, for messages and comparison: "SEN169_FP16"
  size_t root = 0, peer = 1;

  bool operator==(const CollectiveCall& other) const;
  std::string ToString() const;  // "reduce of 4096 bytes of SEN169_FP16 to rank 0 by tree"
};

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

// Refuses what two ranks call as their collective of one number if it is not the same.
void CheckSameCall(size_t number, size_t rank, const CollectiveCall& call, size_t other_rank,
                   const CollectiveCall& other);

// What kAuto stands for (docs/multi-card.md has the reasons).
CollectiveAlgorithm ChooseAlgorithm(Collective collective, uint64_t bytes, size_t ranks);

}  // namespace spyre::runtime
