// Safe's inference by bytes: the accesses of all tasks that have not completed, found by address.
// Two accesses conflict when they share a byte and one of them writes.
//
// An access leaves when its task completes, or when a later write covers it: whoever conflicts with
// it later conflicts with that write, which comes after it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/byte_region.h"
#include "runtime/graph/interval_index.h"
#include "runtime/graph/task_options.h"
#include "runtime/graph/task_region.h"

namespace spyre::runtime {

class ByteHazards {
 public:
  // An access is known by the slot of its task times max_args plus its number.
  explicit ByteHazards(uint32_t accesses) : place_(accesses, kNone) {}

  // Appends the tasks that `region` conflicts with; a task may come several times.
  void Find(const Region& region, const TensorPlace& place, bool writes,
            std::vector<TaskId>& tasks) const;
  void Insert(uint32_t key, TaskId task, const Region& region, const TensorPlace& place,
              bool writes);
  void Erase(uint32_t key);  // no-op if it is not in any more

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Kept {
    TaskId task;
    uint32_t key;
    bool writes;
    Region region;
    ByteRegion bytes;
  };

  IntervalIndex index_;          // of the places in kept_
  std::vector<uint32_t> place_;  // of each access in kept_, kNone: not in any more
  std::vector<Kept> kept_;
  std::vector<uint32_t> free_;     // places in kept_
  std::vector<uint32_t> covered_;  // scratch
};

}  // namespace spyre::runtime
