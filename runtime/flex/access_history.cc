// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/access_history.h"

#include <algorithm>
#include <limits>

namespace spyre::flex {
namespace {

bool Same(const AccessHistory::Entry& a, const AccessHistory::Entry& b) {
  return a.operation == b.operation && a.write == b.write;
}

// `entry` stands for `earlier` from now on.
bool Replaces(const AccessHistory::Entry& entry, const AccessHistory::Entry& earlier,
              const StreamClock& before) {
  if (!entry.write && earlier.write) return false;
  return earlier.operation == entry.operation ||
         before.Covers(earlier.operation->stream, earlier.operation->last_correlation);
}

}  // namespace

void AccessHistory::Split(uint64_t address) {
  const auto at = segments_.upper_bound(address);
  if (at == segments_.begin()) return;
  Segment& segment = std::prev(at)->second;
  if (std::prev(at)->first == address || segment.end <= address) return;
  segments_.emplace_hint(at, address, segment);
  segment.end = address;
}

AccessHistory::Map::iterator AccessHistory::Merge(Map::iterator at) {
  if (at == segments_.begin()) return std::next(at);
  Segment& previous = std::prev(at)->second;
  const Segment& segment = at->second;
  if (previous.end != at->first || previous.entries.size() != segment.entries.size() ||
      !std::equal(previous.entries.begin(), previous.entries.end(), segment.entries.begin(),
                  Same)) {
    return std::next(at);
  }
  previous.end = segment.end;
  return segments_.erase(at);
}

void AccessHistory::Insert(uint64_t begin, uint64_t end, const Entry& entry,
                           const StreamClock& before) {
  Split(begin);
  Split(end);
  auto at = segments_.lower_bound(begin);
  for (uint64_t address = begin; address < end;) {
    if (at == segments_.end() || at->first != address) {  // no operation has touched what is here
      const uint64_t gap_end = at == segments_.end() ? end : std::min(end, at->first);
      at = segments_.emplace_hint(at, address, Segment{gap_end, {}});
    }
    Segment& segment = at->second;
    auto& entries = segment.entries;
    entries.erase(
        std::remove_if(entries.begin(), entries.end(),
                       [&](const Entry& earlier) { return Replaces(entry, earlier, before); }),
        entries.end());
    entries.push_back(entry);
    address = segment.end;
    at = Merge(at);
  }
  if (at != segments_.end()) Merge(at);
}

void AccessHistory::Forget(uint64_t begin, uint64_t end, const Done& done) {
  Split(begin);
  Split(end);
  for (auto at = segments_.lower_bound(begin); at != segments_.end() && at->first < end;) {
    auto& entries = at->second.entries;
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return done(*entry.operation); }),
                  entries.end());
    at = entries.empty() ? segments_.erase(at) : Merge(at);
  }
}

void AccessHistory::Forget(const Done& done) {
  Forget(0, std::numeric_limits<uint64_t>::max(), done);
}

}  // namespace spyre::flex
