// SPDX-License-Identifier: Apache-2.0
// What a task graph keeps for each task of its window, and the lists of consumers.
//
// A record fills two cache lines: counters in one, the first sixteen consumers in the other; longer
// lists go on in chunks of a pool, so that no task allocates memory. Of a consumer the low half of
// its number is kept: it is less than 2^31 tasks away from its producer, for both were in the
// window when the edge was made.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/graph/task_options.h"

namespace spyre::runtime {

// Strict knows open and done only.
enum class TaskState : uint8_t { kFree, kOpen, kWaiting, kReady, kRunning, kDone };

inline constexpr uint32_t kNearConsumers = 16;
inline constexpr uint32_t kNoChunk = UINT32_MAX;

struct alignas(64) TaskRecord {
  TaskId id = kNoTask;
  int64_t earliest_cycle = 0;  // its producers have ended
  int64_t end_cycle = 0;
  int64_t cycles = 0;  // what it takes
  int32_t fanin = 0;   // producers that it waits for; below zero in strict after misuse
  int32_t priority = 0;
  int32_t function = 0;
  uint16_t pool = 0;
  TaskState state = TaskState::kFree;
  uint8_t visited = 0;  // scratch of the search for cycles
  uint32_t args = 0;
  uint32_t fanout = 0;  // consumers, in the order of their edges
  uint32_t first_chunk = kNoChunk, last_chunk = kNoChunk;
  std::array<uint32_t, kNearConsumers> near{};
};
static_assert(sizeof(TaskRecord) == 128, "two cache lines");

class ConsumerLists {
 public:
  void Append(TaskRecord& producer, TaskId consumer) {
    const uint32_t at = producer.fanout++;
    if (at < kNearConsumers) {
      producer.near[at] = Low(consumer);
    } else {
      const uint32_t place = (at - kNearConsumers) % kChunk;
      if (place == 0) AddChunk(producer);
      chunks_[producer.last_chunk].tasks[place] = Low(consumer);
    }
  }
  // A hint that something will be appended.
  void Prefetch(const TaskRecord& producer) const {
    const uint32_t at = producer.fanout;
    if (at <= kNearConsumers) {
      __builtin_prefetch(&producer.near, 1);
    } else {
      __builtin_prefetch(&chunks_[producer.last_chunk].tasks[(at - kNearConsumers - 1) % kChunk],
                         1);
    }
  }
  // Nothing in between may append to `producer`'s list.
  template <typename Function>
  void ForEach(const TaskRecord& producer, Function function) const {
    const uint32_t near = producer.fanout < kNearConsumers ? producer.fanout : kNearConsumers;
    const TaskId id = producer.id;
    for (uint32_t i = 0; i < near; ++i) function(Whole(producer.near[i], id));
    uint32_t far = producer.fanout - near;
    for (uint32_t at = producer.first_chunk; far > 0; at = chunks_[at].next) {
      const uint32_t count = far < kChunk ? far : kChunk;
      for (uint32_t i = 0; i < count; ++i) function(Whole(chunks_[at].tasks[i], id));
      far -= count;
    }
  }
  TaskId Last(const TaskRecord& producer) const {  // kNoTask if there is none
    if (producer.fanout == 0) return kNoTask;
    const uint32_t last = producer.fanout - 1;
    return Whole(last < kNearConsumers
                     ? producer.near[last]
                     : chunks_[producer.last_chunk].tasks[(last - kNearConsumers) % kChunk],
                 producer.id);
  }
  void Clear(TaskRecord& producer) {
    if (producer.first_chunk != kNoChunk) Release(producer);
    producer.fanout = 0;
  }

 private:
  static constexpr uint32_t kChunk = 15;
  struct alignas(64) Chunk {  // a cache line
    std::array<uint32_t, kChunk> tasks;
    uint32_t next;
  };
  static uint32_t Low(TaskId task) { return static_cast<uint32_t>(task); }
  static TaskId Whole(uint32_t low, TaskId producer) {
    return producer + static_cast<int32_t>(low - Low(producer));
  }

  void AddChunk(TaskRecord& producer);
  void Release(TaskRecord& producer);

  std::vector<Chunk> chunks_;
  uint32_t free_ = kNoChunk;
};

}  // namespace spyre::runtime
