// SPDX-License-Identifier: Apache-2.0
// The names of how a task graph's tasks are released, and to which streams.

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "runtime/spyre/issue/issue.h"

namespace spyre::runtime {

const char* Name(Release release) { return release == Release::kHost ? "host" : "events"; }

std::vector<std::string> ReleaseNames() { return {"events", "host"}; }

const char* Name(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::kRoundRobin:
      return "round_robin";
    case Dispatch::kAffinity:
      return "affinity";
    case Dispatch::kHash:
      return "hash";
    case Dispatch::kChain:
      break;
  }
  return "chain";
}

std::vector<std::string> DispatchNames() {
  return {Name(Dispatch::kChain), Name(Dispatch::kRoundRobin), Name(Dispatch::kAffinity),
          Name(Dispatch::kHash)};
}

Release ReleaseFromName(std::string_view name) {
  if (name == "events") return Release::kEvents;
  if (name == "host") return Release::kHost;
  throw BadInput("'{}' is not a release of tasks; there are: {}{}", name,
                 Joined(ReleaseNames(), ", "), DidYouMean(name, ReleaseNames()));
}

}  // namespace spyre::runtime
