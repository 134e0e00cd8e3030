// SPDX-License-Identifier: Apache-2.0
// The names of how a task graph's tasks are released.
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/nearest.h"
#include "runtime/spyre/issue/issue.h"

namespace spyre::runtime {

const char* Name(Release release) { return release == Release::kHost ? "host" : "events"; }

std::vector<std::string> ReleaseNames() { return {"events", "host"}; }

Release ReleaseFromName(std::string_view name) {
  if (name == "events") return Release::kEvents;
  if (name == "host") return Release::kHost;
  throw BadInput("'{}' is not a release of tasks; there are: {}{}", name,
                 fmt::join(ReleaseNames(), ", "), DidYouMean(name, ReleaseNames()));
}

}  // namespace spyre::runtime
