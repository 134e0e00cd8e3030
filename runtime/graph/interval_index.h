// SPDX-License-Identifier: Apache-2.0
// Which of a changing set of intervals meet a given one: a treap ordered by begin in which every
// node knows the greatest end below it. Insert and Erase take O(log n), a query O(log n) for each
// interval found. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::runtime {

class IntervalIndex {
 public:
  // key: the caller's small number of the interval, one interval for each; begin < end.
  void Insert(uint32_t key, uint64_t begin, uint64_t end);
  void Erase(uint32_t key);  // must be in
  // visit(key) for each interval with a byte in [begin, end), in ascending order of begin. `visit`
  // must not change the index.
  template <typename Visit>
  void Query(uint64_t begin, uint64_t end, Visit visit) const {
    Query(root_, begin, end, visit);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    uint64_t begin = 0, end = 0, max_end = 0;
    uint32_t left = kNone, right = kNone;
    uint32_t priority = 0;
  };

  template <typename Visit>
  void Query(uint32_t at, uint64_t begin, uint64_t end, Visit& visit) const {
    while (at != kNone && nodes_[at].max_end > begin) {
      const Node& node = nodes_[at];
      Query(node.left, begin, end, visit);
      if (node.begin >= end) return;
      if (node.end > begin) visit(at);
      at = node.right;
    }
  }
  bool Before(uint32_t a, uint32_t b) const {
    return nodes_[a].begin != nodes_[b].begin ? nodes_[a].begin < nodes_[b].begin : a < b;
  }
  void Update(uint32_t at);
  uint32_t Merge(uint32_t left, uint32_t right);
  // Those before `key` and those after it.
  void Split(uint32_t at, uint32_t key, uint32_t& left, uint32_t& right);
  uint32_t EraseBelow(uint32_t at, uint32_t key);
  uint32_t InsertBelow(uint32_t at, uint32_t key);

  std::vector<Node> nodes_;
  uint32_t root_ = kNone;
  uint32_t random_ = 0x9E3779B9;
};

}  // namespace spyre::runtime
