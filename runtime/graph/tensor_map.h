// SPDX-License-Identifier: Apache-2.0
// Strict's map from a region to the task that writes it, as the original has it: chains of entries
// that are never removed. A lookup takes the first equal entry; an insertion replaces the producer
// of an equal entry, or takes over the first stale entry that it meets before one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/task_options.h"
#include "runtime/graph/task_region.h"

namespace spyre::runtime {

class TensorMap {
 public:
  TensorMap() : heads_(kBuckets, kNone) {}

  // kNoTask if there is none, or if it is older than `oldest`.
  TaskId Lookup(const Region2d& region, TaskId oldest) const {
    for (uint32_t at = heads_[BucketOf(region)]; at != kNone; at = entries_[at].next) {
      const Entry& entry = entries_[at];
      if (entry.region == region) return entry.producer < oldest ? kNoTask : entry.producer;
    }
    return kNoTask;
  }

  void Insert(const Region2d& region, TaskId producer, TaskId oldest) {
    uint32_t& head = heads_[BucketOf(region)];
    for (uint32_t at = head; at != kNone; at = entries_[at].next) {
      Entry& entry = entries_[at];
      const bool equal = entry.region == region;
      if (!equal && entry.producer >= oldest) continue;
      if (!equal) entry.region = region;
      entry.producer = producer;
      return;
    }
    entries_.push_back({region, producer, head});
    head = static_cast<uint32_t>(entries_.size() - 1);
  }

 private:
  static constexpr uint32_t kBuckets = 8192;
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    Region2d region;
    TaskId producer;
    uint32_t next;
  };

  static uint32_t BucketOf(const Region2d& region) {
    return static_cast<uint32_t>(HashOf(region)) & (kBuckets - 1);
  }

  std::vector<uint32_t> heads_;
  std::vector<Entry> entries_;
};

}  // namespace spyre::runtime
