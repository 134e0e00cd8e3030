// SPDX-License-Identifier: Apache-2.0
#include "runtime/collectives/collective_call.h"

#include <fmt/format.h>

#include <tuple>

#include "base/error.h"

namespace spyre::runtime {

const std::vector<std::string>& CollectiveNames() {
  static const std::vector<std::string> names = {"none",           "all_reduce", "reduce",
                                                 "reduce_scatter", "broadcast",  "all_gather",
                                                 "gather",         "send",       "barrier"};
  return names;
}

const std::vector<std::string>& CollectiveAlgorithmNames() {
  static const std::vector<std::string> names = {"auto", "ring", "tree", "direct"};
  return names;
}

const std::string& Name(Collective collective) {
  return CollectiveNames()[static_cast<size_t>(collective)];
}
const std::string& Name(CollectiveAlgorithm algorithm) {
  return CollectiveAlgorithmNames()[static_cast<size_t>(algorithm)];
}

const char* TraceName(Collective collective) {
  static constexpr const char* kNames[] = {"None",          "AllReduce", "Reduce",
                                           "ReduceScatter", "Broadcast", "AllGather",
                                           "Gather",        "Send",      "Barrier"};
  return kNames[static_cast<size_t>(collective)];
}

bool Adds(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}
bool Gathers(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kGather;
}

bool CollectiveCall::operator==(const CollectiveCall& other) const {
  const auto all = [](const CollectiveCall& call) {
    return std::tie(call.collective, call.algorithm, call.bytes, call.type, call.root, call.peer);
  };
  return all(*this) == all(other);
}

std::string CollectiveCall::ToString() const {
  std::string text = Name(collective);
  if (collective != Collective::kBarrier) text += fmt::format(" of {} bytes of {}", bytes, type);
  const bool gives = collective == Collective::kBroadcast || collective == Collective::kSend;
  if (HasRoot(collective)) text += fmt::format(" {} rank {}", gives ? "from" : "to", root);
  if (collective == Collective::kSend) return text + fmt::format(" to rank {}", peer);
  return text + " by " + Name(algorithm);
}

bool HasRoot(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kBroadcast ||
         collective == Collective::kGather || collective == Collective::kSend;
}

void CheckSameCall(size_t number, size_t rank, const CollectiveCall& call, size_t other_rank,
                   const CollectiveCall& other) {
  if (call == other) return;
  throw BadInput("collective {}: rank {} calls {}, and rank {} calls {}; all must call the same",
                 number, rank, call.ToString(), other_rank, other.ToString());
}

}  // namespace spyre::runtime
