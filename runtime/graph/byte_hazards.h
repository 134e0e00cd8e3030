// SPDX-License-Identifier: Apache-2.0
// Safe's inference by bytes: the accesses of all tasks that have not completed, found by what they
// touch. Two accesses conflict when they share a byte and one of them writes.
//
// Accesses to one tensor are compared as boxes. Tensors that share memory with others are found by
// address, as long as they have accesses; what may conflict there is compared run by run.
//
// An access leaves when its task completes, or when a later write covers it: whoever conflicts with
// it later conflicts with that write, which comes after it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/graph/box_index.h"
#include "runtime/graph/byte_region.h"
#include "runtime/graph/interval_index.h"
#include "runtime/graph/task_region.h"

namespace spyre::runtime {

class ByteHazards {
 public:
  struct Found {
    std::vector<uint32_t> conflicts;  // keys; one may come several times
    std::vector<uint32_t> covered;    // the same: to be erased when the write is inserted
  };

  // buckets: a power of two, about as many as accesses.
  explicit ByteHazards(uint32_t buckets) : boxes_(buckets) {}

  // Tensors are numbered from 0, in the order of their placement.
  void Place(const TensorPlace& place);

  // Appends what an access to `box` of a tensor conflicts with, and what it covers if it writes.
  void Find(uint32_t tensor, const Box& box, bool writes, Found& found) const;
  // key: the caller's number of the access.
  void Insert(uint32_t key, uint32_t tensor, const Box& box, bool writes);
  void Erase(uint32_t key);  // no-op if it is not in any more

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Tensor {
    TensorPlace place;
    uint64_t end = 0;
    uint32_t accesses = 0;
    bool shares = false;  // memory, with others
  };
  // Memory without a gap that tensors take.
  struct Extent {
    uint64_t end;
    uint32_t tensor;  // kNone: several
  };

  void Share(uint32_t tensor);
  void Enter(const Tensor& tensor, uint32_t number) {
    live_.Insert(number, tensor.place.address, tensor.end);
  }
  void FindInOthers(uint32_t tensor, const Box& box, bool writes, Found& found) const;

  std::vector<Tensor> tensors_;
  std::map<uint64_t, Extent> extents_;  // by begin
  BoxIndex boxes_;
  IntervalIndex live_;  // tensors that share memory and have accesses
};

}  // namespace spyre::runtime
