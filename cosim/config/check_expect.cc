// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/check_expect.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "traces/path_causes.h"

namespace spyre::cosim {

namespace {
constexpr size_t kDigestDigits = 16;
}

void CheckExpect(const RunConfig& config) {
  const ExpectConfig& expect = config.expect;
  if (!config.trace.enabled && (!expect.rules.empty() || !expect.digest.empty())) {
    throw BadInput(
        "expect.{} is about the trace, and there is none; trace.enabled = true records it",
        expect.rules.empty() ? "digest" : "rules");
  }
  const std::vector<std::string> resources = trace::ResourceNames();
  if (!expect.bound_by.empty() &&
      std::find(resources.begin(), resources.end(), expect.bound_by) == resources.end()) {
    throw BadInput("expect.bound_by = \"{}\" is not a resource; must be one of {}{}",
                   expect.bound_by, Joined(resources, ", "),
                   DidYouMean(expect.bound_by, resources));
  }
  if (!expect.digest.empty() &&
      (expect.digest.size() != kDigestDigits ||
       expect.digest.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    throw BadInput(
        "expect.digest = \"{}\" is not a digest, {} hexadecimal digits as `trace summary` prints "
        "it",
        expect.digest, kDigestDigits);
  }
}

}  // namespace spyre::cosim
