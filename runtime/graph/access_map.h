// SPDX-License-Identifier: Apache-2.0
// Safe's map from a region to those who touched it last: its writer, and the readers since. Regions
// conflict when they are equal. R: Region2d or Region.
//
// An entry whose tasks have all left the window is dead, and the next new region of its chain takes
// it over; so the map grows with the window, not with the tasks. In steady state nothing is
// allocated: an entry holds three readers and makes a list for more, which it keeps.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/task_options.h"

namespace spyre::runtime {

template <typename R>
class AccessMap {
 public:
  class Entry {
   public:
    TaskId writer() const { return writer_; }
    // In any order; may hold completed ones, and one of them several times.
    template <typename Function>
    void ForEachReader(Function function) const {
      for (uint32_t i = 0; i < near_count_; ++i) function(near_[i]);
      if (!far_) return;
      for (const TaskId reader : *far_) function(reader);
    }

   private:
    friend class AccessMap;
    R region_{};
    TaskId writer_ = kNoTask;
    TaskId youngest_ = kNoTask;  // of all that have looked for it
    uint32_t next_ = 0;
    uint32_t near_count_ = 0;
    std::array<TaskId, 3> near_{};  // readers since the writer, then those in far_
    std::unique_ptr<std::vector<TaskId>> far_;
  };

  // window: of the graph, a power of two.
  explicit AccessMap(uint32_t window) : heads_(size_t{4} * window, kNone) {}

  // The place of the region's entry, a new one if no task has touched it. It stays valid until
  // `task` has left the window: until it is older than `oldest` in a later call.
  // hash: HashOf(region), truncated.
  uint32_t Locate(const R& region, uint32_t hash, TaskId task, TaskId oldest) {
    uint32_t& head = heads_[hash & (heads_.size() - 1)];
    uint32_t dead = kNone;
    uint32_t found = head;
    while (found != kNone && !(entries_[found].region_ == region)) {
      if (entries_[found].youngest_ < oldest) dead = found;
      found = entries_[found].next_;
    }
    if (found == kNone) found = dead != kNone ? Revive(dead, region) : Append(head, region);
    Entry& entry = entries_[found];
    entry.youngest_ = std::max(entry.youngest_, task);
    return found;
  }

  // Hints that the region will be located: first the one, then, when it has arrived, the other.
  void PrefetchHead(uint32_t hash) const {
    __builtin_prefetch(&heads_[hash & (heads_.size() - 1)]);
  }
  void PrefetchEntry(uint32_t hash) const {
    const uint32_t head = heads_[hash & (heads_.size() - 1)];
    if (head != kNone) __builtin_prefetch(&entries_[head]);
  }

  const Entry& at(uint32_t place) const { return entries_[place]; }

  void Write(uint32_t place, TaskId task) {
    Entry& entry = entries_[place];
    entry.writer_ = task;
    entry.near_count_ = 0;
    if (entry.far_) entry.far_->clear();
  }

  // done(task): it has completed.
  template <typename Done>
  void Read(uint32_t place, TaskId task, Done done) {
    Entry& entry = entries_[place];
    if (entry.near_count_ == entry.near_.size()) {
      const auto end = std::remove_if(entry.near_.begin(), entry.near_.end(), done);
      entry.near_count_ = static_cast<uint32_t>(end - entry.near_.begin());
    }
    if (entry.near_count_ < entry.near_.size()) {
      entry.near_[entry.near_count_++] = task;
    } else {
      ReadFar(entry, task, done);
    }
  }

  size_t size() const { return entries_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t Revive(uint32_t dead, const R& region) {
    entries_[dead].region_ = region;
    Write(dead, kNoTask);
    entries_[dead].youngest_ = kNoTask;
    return dead;
  }
  uint32_t Append(uint32_t& head, const R& region) {
    const auto place = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
    entries_[place].region_ = region;
    entries_[place].next_ = head;
    head = place;
    return place;
  }
  template <typename Done>
  static void ReadFar(Entry& entry, TaskId task, Done done) {
    if (!entry.far_) entry.far_ = std::make_unique<std::vector<TaskId>>();
    std::vector<TaskId>& far = *entry.far_;
    if (far.size() == far.capacity()) {
      far.erase(std::remove_if(far.begin(), far.end(), done), far.end());
      far.reserve(std::max<size_t>(16, 2 * far.size()));  // half is free: the next time is far
    }
    far.push_back(task);
  }

  std::vector<uint32_t> heads_;
  std::vector<Entry> entries_;
};

}  // namespace spyre::runtime
