// Safe's map from a region to those who touched it last: its writer, and the readers since. Regions
// conflict when they are equal. R: Region2d or Region.
//
// An entry whose tasks have all left the window is dead, and the next new region of its chain takes
// it over; so the map grows with the window, not with the tasks. In steady state nothing is
// allocated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/graph/task_options.h"

namespace spyre::runtime {

template <typename R>
class AccessMap {
 public:
  struct Entry {
    R region;
    TaskId writer = kNoTask;
    TaskId youngest = kNoTask;    // of writer and readers
    std::vector<TaskId> readers;  // since the writer, in order; may hold completed ones
    uint32_t next = 0;
  };

  // window: of the graph, a power of two.
  explicit AccessMap(uint32_t window) : heads_(size_t{2} * window, kNone) {}

  // nullptr if nobody has touched the region.
  const Entry* Find(const R& region) const {
    for (uint32_t at = heads_[BucketOf(region)]; at != kNone; at = entries_[at].next) {
      if (entries_[at].region == region) return &entries_[at];
    }
    return nullptr;
  }

  void Write(const R& region, TaskId task, TaskId oldest) {
    Entry& entry = Touch(region, task, oldest);
    entry.writer = task;
    entry.readers.clear();
  }

  // done(task): it has completed.
  template <typename Done>
  void Read(const R& region, TaskId task, TaskId oldest, Done done) {
    std::vector<TaskId>& readers = Touch(region, task, oldest).readers;
    if (!readers.empty() && readers.back() == task) return;
    if (readers.size() == readers.capacity() && readers.size() >= 4) {
      readers.erase(std::remove_if(readers.begin(), readers.end(), done), readers.end());
      // At least half is free now, so that the next time is far.
      readers.reserve(2 * readers.size());
    }
    readers.push_back(task);
  }

  size_t size() const { return entries_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t BucketOf(const R& region) const {
    return static_cast<uint32_t>(HashOf(region)) & static_cast<uint32_t>(heads_.size() - 1);
  }

  Entry& Touch(const R& region, TaskId task, TaskId oldest) {
    uint32_t& head = heads_[BucketOf(region)];
    uint32_t dead = kNone;
    uint32_t found = head;
    while (found != kNone && !(entries_[found].region == region)) {
      if (entries_[found].youngest < oldest) dead = found;
      found = entries_[found].next;
    }
    if (found == kNone && dead != kNone) {
      found = dead;
      entries_[found].region = region;
      entries_[found].writer = entries_[found].youngest = kNoTask;
      entries_[found].readers.clear();
    }
    if (found == kNone) {
      found = static_cast<uint32_t>(entries_.size());
      entries_.emplace_back();
      entries_[found].region = region;
      entries_[found].next = head;
      head = found;
    }
    entries_[found].youngest = std::max(entries_[found].youngest, task);
    return entries_[found];
  }

  std::vector<uint32_t> heads_;
  std::vector<Entry> entries_;
};

}  // namespace spyre::runtime
