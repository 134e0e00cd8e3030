// SPDX-License-Identifier: Apache-2.0
// Ranges of the host's memory that work on data touches. Those that lie in an LX matter to the
// functional queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace spyre::model {

struct LxRange {
  uint8_t* at = nullptr;
  uint64_t bytes = 0;

  const uint8_t* end() const { return at + bytes; }
  bool Overlaps(const LxRange& other) const { return at < other.end() && other.at < end(); }
};

// The ranges that one piece of work touches.
class LxRanges {
 public:
  static constexpr size_t kMost = 3;

  LxRanges() = default;
  LxRanges(std::initializer_list<LxRange> ranges) {
    for (const LxRange& range : ranges) Add(range);
  }
  void Add(const LxRange& range) { ranges_[count_++] = range; }  // kMost times
  const LxRange* begin() const { return ranges_.data(); }
  const LxRange* end() const { return ranges_.data() + count_; }

 private:
  std::array<LxRange, kMost> ranges_;
  size_t count_ = 0;
};

}  // namespace spyre::model
