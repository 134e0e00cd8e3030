// SPDX-License-Identifier: Apache-2.0
// What a rank asks for when it calls a collective. Plain data, any thread.
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
bool HasRoot(Collective collective);           // whether one rank gives or gets

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

// Refuses what two ranks call as their collective of one number if it is not the same.
void CheckSameCall(size_t number, size_t rank, const CollectiveCall& call, size_t other_rank,
                   const CollectiveCall& other);

}  // namespace spyre::runtime
