// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/box_index.h"

#include <algorithm>

namespace spyre::runtime {

template <typename LinksOf>
void BoxIndex::Link(LinksOf links, uint32_t& head, uint32_t key) {
  links(key) = {head, kNone};
  if (head != kNone) links(head).previous = key;
  head = key;
}

template <typename LinksOf>
void BoxIndex::Unlink(LinksOf links, uint32_t& head, uint32_t key) {
  const Links own = links(key);
  (own.previous == kNone ? head : links(own.previous).next) = own.next;
  if (own.next != kNone) links(own.next).previous = own.previous;
}

template <uint32_t kRank>
uint32_t BoxIndex::LevelOf(uint32_t space, const Box& box) {
  uint64_t shifts = 0;
  for (uint32_t d = 0; d < RankOf<kRank>(box); ++d) {
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
  box.rank == 2 ? InsertOf<2>(key, space, box, written) : InsertOf<0>(key, space, box, written);
}

template <uint32_t kRank>
void BoxIndex::InsertOf(uint32_t key, uint32_t space, const Box& box, bool written) {
  const uint32_t rank = RankOf<kRank>(box);
  const uint32_t at = LevelOf<kRank>(space, box);
  Level& level = levels_[at];
  if (level.boxes[0] + level.boxes[1] == 0) level.reaches = 0;
  ++level.boxes[written];
  if (key >= nodes_.size()) {
    nodes_.resize(size_t{key} + 1);
    places_.resize(nodes_.size());
  }
  Node& node = nodes_[key];
  node.level = at;
  node.is_far = rank > 2;
  Cell cell;
  for (uint32_t d = 0; d < rank; ++d) {
    const Box::Range range = box.range[d];
    if (range.end > int64_t{UINT32_MAX}) node.is_far = true;
    if (d < 2) {
      node.near[d] = {static_cast<uint32_t>(range.begin), static_cast<uint32_t>(range.end)};
    }
    cell[d] = level.ToCell(d, range.begin);
    if (level.ToCell(d, range.end - 1) != cell[d]) level.reaches |= 1u << d;
  }
  if (node.is_far) {
    if (key >= far_.size()) far_.resize(nodes_.size());
    std::copy_n(box.range.begin(), rank, far_[key].begin());
  }
  Place& place = places_[key];
  place.bucket = BucketOf<kRank>(at, rank, cell);
  place.written = written;
  Link(InBucket(), heads_[place.bucket][written], key);
  Link(InLevel(), level.heads[written], key);
}

void BoxIndex::Erase(uint32_t key) {
  Node& node = nodes_[key];
  const Place& place = places_[key];
  Level& level = levels_[node.level];
  --level.boxes[place.written];
  Unlink(InBucket(), heads_[place.bucket][place.written], key);
  Unlink(InLevel(), level.heads[place.written], key);
  node.level = kNone;
}

}  // namespace spyre::runtime
