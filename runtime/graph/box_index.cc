// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/box_index.h"

#include <algorithm>

namespace spyre::runtime {

template <BoxIndex::Links BoxIndex::Node::*links>
void BoxIndex::Link(uint32_t& head, uint32_t key) {
  nodes_[key].*links = {head, kNone};
  if (head != kNone) (nodes_[head].*links).previous = key;
  head = key;
}

template <BoxIndex::Links BoxIndex::Node::*links>
void BoxIndex::Unlink(uint32_t& head, uint32_t key) {
  const Links own = nodes_[key].*links;
  (own.previous == kNone ? head : (nodes_[own.previous].*links).next) = own.next;
  if (own.next != kNone) (nodes_[own.next].*links).previous = own.previous;
}

uint32_t BoxIndex::LevelOf(uint32_t space, const Box& box) {
  uint64_t shifts = 0;
  for (uint32_t d = 0; d < box.rank; ++d) {
    const int64_t extent = box.range[d].end - box.range[d].begin;
    if (extent == 1) continue;
    shifts |= static_cast<uint64_t>(64 - __builtin_clzll(static_cast<uint64_t>(extent - 1)))
              << 8 * d;
  }
  if (space >= spaces_.size()) spaces_.resize(size_t{space} + 1, kNone);
  uint32_t empty = kNone;
  for (uint32_t at = spaces_[space]; at != kNone; at = levels_[at].next) {
    if (levels_[at].shifts == shifts) return at;
    if (levels_[at].boxes[0] + levels_[at].boxes[1] == 0) empty = at;
  }
  if (empty == kNone) {
    empty = static_cast<uint32_t>(levels_.size());
    levels_.push_back({space, box.rank, spaces_[space], {}, {kNone, kNone}, 0, 0});
    spaces_[space] = empty;
  }
  levels_[empty].shifts = shifts;
  return empty;
}

void BoxIndex::Insert(uint32_t key, uint32_t space, const Box& box, bool written) {
  const uint32_t at = LevelOf(space, box);
  Level& level = levels_[at];
  if (level.boxes[0] + level.boxes[1] == 0) level.reaches = 0;
  ++level.boxes[written];
  if (key >= nodes_.size()) nodes_.resize(size_t{key} + 1);
  if (box.rank > 2 && key >= far_.size()) far_.resize(nodes_.size());
  Node& node = nodes_[key];
  node.level = at;
  node.written = written;
  Cell cell;
  for (uint32_t d = 0; d < box.rank; ++d) {
    (d < 2 ? node.near[d] : far_[key][d - 2]) = box.range[d];
    cell[d] = level.ToCell(d, box.range[d].begin);
    if (level.ToCell(d, box.range[d].end - 1) != cell[d]) level.reaches |= 1u << d;
  }
  node.bucket = BucketOf(at, box.rank, cell);
  Link<&Node::in_bucket>(heads_[node.bucket][written], key);
  Link<&Node::in_level>(level.heads[written], key);
}

void BoxIndex::Erase(uint32_t key) {
  Node& node = nodes_[key];
  Level& level = levels_[node.level];
  --level.boxes[node.written];
  Unlink<&Node::in_bucket>(heads_[node.bucket][node.written], key);
  Unlink<&Node::in_level>(level.heads[node.written], key);
  node.level = kNone;
}

}  // namespace spyre::runtime
