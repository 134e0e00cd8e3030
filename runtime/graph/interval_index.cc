// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/interval_index.h"

#include <algorithm>

namespace spyre::runtime {

void IntervalIndex::Update(uint32_t at) {
  Node& node = nodes_[at];
  node.max_end = node.end;
  if (node.left != kNone) node.max_end = std::max(node.max_end, nodes_[node.left].max_end);
  if (node.right != kNone) node.max_end = std::max(node.max_end, nodes_[node.right].max_end);
}

uint32_t IntervalIndex::Merge(uint32_t left, uint32_t right) {
  if (left == kNone) return right;
  if (right == kNone) return left;
  if (nodes_[left].priority > nodes_[right].priority) {
    nodes_[left].right = Merge(nodes_[left].right, right);
    Update(left);
    return left;
  }
  nodes_[right].left = Merge(left, nodes_[right].left);
  Update(right);
  return right;
}

void IntervalIndex::Split(uint32_t at, uint32_t key, uint32_t& left, uint32_t& right) {
  if (at == kNone) {
    left = right = kNone;
    return;
  }
  if (Before(at, key)) {
    left = at;
    Split(nodes_[at].right, key, nodes_[at].right, right);
  } else {
    right = at;
    Split(nodes_[at].left, key, left, nodes_[at].left);
  }
  Update(at);
}

uint32_t IntervalIndex::InsertBelow(uint32_t at, uint32_t key) {
  if (at == kNone || nodes_[key].priority > nodes_[at].priority) {
    uint32_t left = kNone;
    uint32_t right = kNone;
    Split(at, key, left, right);
    nodes_[key].left = left;
    nodes_[key].right = right;
    Update(key);
    return key;
  }
  uint32_t& child = Before(key, at) ? nodes_[at].left : nodes_[at].right;
  child = InsertBelow(child, key);
  Update(at);
  return at;
}

uint32_t IntervalIndex::EraseBelow(uint32_t at, uint32_t key) {
  if (at == key) return Merge(nodes_[at].left, nodes_[at].right);
  uint32_t& child = Before(key, at) ? nodes_[at].left : nodes_[at].right;
  child = EraseBelow(child, key);
  Update(at);
  return at;
}

void IntervalIndex::Insert(uint32_t key, uint64_t begin, uint64_t end) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  if (key >= nodes_.size()) nodes_.resize(size_t{key} + 1);
  nodes_[key] = {begin, end, end, kNone, kNone, random_};
  root_ = InsertBelow(root_, key);
}

void IntervalIndex::Erase(uint32_t key) { root_ = EraseBelow(root_, key); }

}  // namespace spyre::runtime
