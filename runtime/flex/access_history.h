// SPDX-License-Identifier: Apache-2.0
// Who touched which bytes last: memory cut into segments, each with the accesses to it that no
// later one stands for. An access stands for an earlier one if it is ordered after it, covers its
// bytes, and writes, or both read: what has to come after the earlier one has to come after it.
// So a segment has at most one read and one write of each stream, however long a program runs.
//
// Owner and caller: HazardTracker. A value: copies are independent. Addresses in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "runtime/flex/hazard.h"
#include "runtime/flex/stream_clock.h"

namespace spyre::flex {

class AccessHistory {
 public:
  using Done = std::function<bool(const HazardOperation&)>;
  struct Entry {
    std::shared_ptr<const HazardOperation> operation;
    bool write = false;
  };

  // visit(begin, end, entry) for every access to bytes of [begin, end), in ascending order of
  // address.
  template <typename Visit>
  void Query(uint64_t begin, uint64_t end, const Visit& visit) const {
    for (auto at = Find(begin); at != segments_.end() && at->first < end; ++at) {
      for (const Entry& entry : at->second.entries) {
        visit(std::max(begin, at->first), std::min(end, at->second.end), entry);
      }
    }
  }
  // begin < end. `before`: what is ordered before the operation of `entry`.
  void Insert(uint64_t begin, uint64_t end, const Entry& entry, const StreamClock& before);
  // Those of [begin, end) for which `done` says so leave.
  void Forget(uint64_t begin, uint64_t end, const Done& done);
  // The same for all memory.
  void Forget(const Done& done);
  size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    uint64_t end = 0;
    std::vector<Entry> entries;
  };
  using Map = std::map<uint64_t, Segment>;  // by begin; segments do not overlap

  // The first segment that ends after `address`.
  Map::const_iterator Find(uint64_t address) const {
    auto at = segments_.upper_bound(address);
    if (at == segments_.begin()) return at;
    const auto previous = std::prev(at);
    return previous->second.end > address ? previous : at;
  }
  void Split(uint64_t address);
  // Makes one segment of this one and the one before it if they are alike; returns the next.
  Map::iterator Merge(Map::iterator at);

  Map segments_;
};

}  // namespace spyre::flex
