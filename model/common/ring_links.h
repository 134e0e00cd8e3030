// SPDX-License-Identifier: Apache-2.0
// What the links of the ring are called: "cw03" leads from stop 3 to its neighbour in clockwise
// sense, "ccw03" the other way; "psum_cw03" and "psum_ccw03" are those for partial sums. The stop
// behind the last core is the memory's. Pure functions, any thread.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace spyre::model {

inline constexpr std::array<const char*, 4> kRingLinkKinds{"cw", "ccw", "psum_cw", "psum_ccw"};

inline std::string RingLinkName(const char* kind, uint64_t stop) {
  return fmt::format("{}{:02}", kind, stop);
}

inline std::vector<std::string> RingLinkNames(uint64_t cores) {
  std::vector<std::string> names;
  for (const char* kind : kRingLinkKinds) {
    for (uint64_t stop = 0; stop <= cores; ++stop) names.push_back(RingLinkName(kind, stop));
  }
  return names;
}

}  // namespace spyre::model
