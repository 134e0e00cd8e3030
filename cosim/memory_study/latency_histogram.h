// SPDX-License-Identifier: Apache-2.0
// Latencies in constant memory: exact count, mean and maximum; percentiles to within 1 % (128
// buckets an octave, the upper edge of a bucket is told). Used by the memory command.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::cosim {

class LatencyHistogram {
 public:
  void Add(uint64_t ps) {
    ++buckets_[BucketOf(ps)];
    ++count_;
    sum_ += ps;
    max_ = std::max(max_, ps);
  }
  uint64_t count() const { return count_; }
  uint64_t max_ps() const { return max_; }
  double mean_ps() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  // The latency that a share `fraction` of all do not exceed; 0 without any.
  uint64_t PercentilePs(double fraction) const {
    const double rank = fraction * static_cast<double>(count_);
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen > 0 && static_cast<double>(seen) >= rank) return std::min(UpperEdge(i), max_);
    }
    return max_;
  }

 private:
  static constexpr unsigned kBits = 7;
  static constexpr uint64_t kSub = 1 << kBits;

  static size_t BucketOf(uint64_t value) {
    if (value < kSub) return value;
    const auto shift = static_cast<unsigned>(63 - __builtin_clzll(value)) - kBits;
    return (shift + 1) * kSub + ((value >> shift) - kSub);
  }
  static uint64_t UpperEdge(size_t bucket) {
    if (bucket < kSub) return bucket;
    const size_t shift = bucket / kSub - 1;
    return ((bucket % kSub + kSub + 1) << shift) - 1;
  }

  std::array<uint64_t, (64 - kBits + 1) * kSub> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace spyre::cosim
