// SPDX-License-Identifier: Apache-2.0
// Which of a changing set of accesses meet a box: boxes of many spaces, one for each tensor, some
// of them written.
//
// Boxes of a space whose extents have the same logarithm, rounded up, in every dimension are one
// level: a grid whose cells are at least as large as its boxes and less than twice as large. A box
// is kept in the cell of its first corner, so that a query looks into the cells that it meets, and
// at those before them if boxes of the level reach over the end of their cell. Where these cells
// are more than the boxes of the level, it looks at the boxes. So tiles are found without looking
// at their neighbours, and a band or a whole tensor looks at little but what it meets. The cells of
// all levels are lists of one hash table. Deterministic.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/graph/byte_region.h"

namespace spyre::runtime {

class BoxIndex {
 public:
  // buckets: a power of two.
  explicit BoxIndex(uint32_t buckets) : heads_(buckets, Heads{kNone, kNone}) {}

  // key: the caller's number of the box, one box for each. space: a small number; boxes and queries
  // of one space have one rank. Coordinates are not negative.
  void Insert(uint32_t key, uint32_t space, const Box& box, bool written);
  void Erase(uint32_t key);  // must be in
  bool Contains(uint32_t key) const { return key < nodes_.size() && nodes_[key].level != kNone; }
  uint32_t SpaceOf(uint32_t key) const { return levels_[nodes_[key].level].space; }
  Box BoxAt(uint32_t key) const {
    Box box;
    box.rank = levels_[nodes_[key].level].rank;
    for (uint32_t d = 0; d < box.rank; ++d) box.range[d] = RangeAt(key, d);
    return box;
  }

  // visit(key) for each box of the space, or each written one, that shares an element with `box`,
  // in any order; one may come several times. `visit` must not change the index.
  template <typename Visit>
  void Query(uint32_t space, const Box& box, bool written_only, Visit visit) const {
    if (space >= spaces_.size()) return;
    for (uint32_t at = spaces_[space]; at != kNone; at = levels_[at].next) {
      box.rank == 2 ? QueryLevel<2>(at, box, written_only, visit)
                    : QueryLevel<0>(at, box, written_only, visit);
    }
  }
  bool IsCovered(uint32_t key, const Box& by) const {
    for (uint32_t d = 0; d < by.rank; ++d) {
      const Box::Range range = RangeAt(key, d);
      if (range.begin < by.range[d].begin || range.end > by.range[d].end) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Heads = std::array<uint32_t, 2>;  // of a list of those read and of one of those written
  struct Links {
    uint32_t next = kNone, previous = kNone;
  };
  // What queries look at: half a cache line.
  struct alignas(32) Node {
    struct Range {
      uint32_t begin, end;
    };
    Links in_bucket;
    uint32_t level = kNone;  // kNone: not in
    bool is_far = false;     // the ranges are in far_: more than two, or beyond 32 bits
    std::array<Range, 2> near{};
  };
  static_assert(sizeof(Node) == 32);
  struct Place {
    Links in_level;
    uint32_t bucket = 0;
    bool written = false;
  };
  using Far = std::array<Box::Range, kMaxRank>;
  struct Level {
    uint32_t space, rank;
    uint32_t next;                  // of the space
    std::array<uint32_t, 2> boxes;  // read and written
    Heads heads;
    uint64_t shifts;   // of coordinates, to those of a cell: a byte for each dimension
    uint32_t reaches;  // bit d: boxes reach over the end of their cell in dimension d
    int64_t ToCell(uint32_t d, int64_t at) const { return at >> (shifts >> 8 * d & 0xFF); }
  };
  using Cell = std::array<int64_t, kMaxRank>;
  static constexpr size_t kCellsAtOnce = 16;
  static constexpr uint64_t kHash = 0x9E3779B97F4A7C15u;

  // What follows is compiled for boxes of two dimensions, which nearly all are (kRank 2), and for
  // any (0).
  template <uint32_t kRank>
  static uint32_t RankOf(const Box& box) {
    return kRank != 0 ? kRank : box.rank;
  }
  template <uint32_t kRank>
  uint32_t LevelOf(uint32_t space, const Box& box);
  template <uint32_t kRank>
  void InsertOf(uint32_t key, uint32_t space, const Box& box, bool written);
  template <uint32_t kRank>
  uint32_t BucketOf(uint32_t level, uint32_t rank, const Cell& cell) const {
    uint64_t hash = level;
    for (uint32_t d = 0; d < (kRank != 0 ? kRank : rank); ++d) {
      hash = hash * kHash + static_cast<uint64_t>(cell[d]);
    }
    hash *= kHash;
    return static_cast<uint32_t>(hash >> 32) & static_cast<uint32_t>(heads_.size() - 1);
  }
  Box::Range RangeAt(uint32_t key, uint32_t d) const {
    const Node& node = nodes_[key];
    if (node.is_far) return far_[key][d];
    return {node.near[d].begin, node.near[d].end};
  }
  template <uint32_t kRank>
  bool Meets(uint32_t key, const Box& box) const {
    for (uint32_t d = 0; d < RankOf<kRank>(box); ++d) {
      if (!RangesOverlap(RangeAt(key, d), box.range[d])) return false;
    }
    return true;
  }
  // links: of a key, in one kind of list.
  template <typename LinksOf>
  static void Link(LinksOf links, uint32_t& head, uint32_t key);
  template <typename LinksOf>
  static void Unlink(LinksOf links, uint32_t& head, uint32_t key);
  auto InBucket() {
    return [this](uint32_t key) -> Links& { return nodes_[key].in_bucket; };
  }
  auto InLevel() {
    return [this](uint32_t key) -> Links& { return places_[key].in_level; };
  }

  template <uint32_t kRank, typename Visit>
  void QueryLevel(uint32_t at, const Box& box, bool written_only, Visit& visit) const {
    const Level& level = levels_[at];
    const uint64_t boxes = level.boxes[1] + (written_only ? 0 : level.boxes[0]);
    if (boxes == 0) return;
    const uint32_t rank = RankOf<kRank>(box);
    Cell first;
    Cell last;
    Cell cell;
    uint64_t cells = 1;
    for (uint32_t d = 0; d < rank && cells <= boxes; ++d) {
      first[d] = level.ToCell(d, box.range[d].begin);
      last[d] = level.ToCell(d, box.range[d].end - 1);
      if ((level.reaches >> d & 1) != 0 && first[d] > 0) --first[d];
      cell[d] = first[d];
      const auto count = static_cast<uint64_t>(last[d] - first[d]) + 1;
      cells = count > boxes ? count : cells * count;
    }
    const Node* const nodes = nodes_.data();
    if (cells > boxes) {
      for (uint32_t list = written_only ? 1 : 0; list < 2; ++list) {
        for (uint32_t key = level.heads[list]; key != kNone; key = places_[key].in_level.next) {
          if (Meets<kRank>(key, box)) visit(key);
        }
      }
      return;
    }
    const uint32_t first_list = written_only ? 1 : 0;
    const auto visit_cell = [&](const Heads& heads) {
      for (uint32_t list = first_list; list < 2; ++list) {
        for (uint32_t key = heads[list]; key != kNone; key = nodes[key].in_bucket.next) {
          if (nodes[key].level == at && Meets<kRank>(key, box)) visit(key);
        }
      }
    };
    if (cells == 1) return visit_cell(heads_[BucketOf<kRank>(at, rank, cell)]);
    // A few cells at a time, so that their boxes come from memory side by side.
    std::array<Heads, kCellsAtOnce> batch;
    for (uint32_t d = rank; d > 0;) {
      size_t count = 0;
      while (d > 0 && count < batch.size()) {
        const Heads heads = heads_[BucketOf<kRank>(at, rank, cell)];
        for (uint32_t list = first_list; list < 2; ++list) {
          if (heads[list] != kNone) __builtin_prefetch(&nodes[heads[list]]);
        }
        batch[count++] = heads;
        for (d = rank; d > 0 && cell[d - 1]++ == last[d - 1]; --d) cell[d - 1] = first[d - 1];
      }
      for (size_t i = 0; i < count; ++i) visit_cell(batch[i]);
    }
  }

  std::vector<Heads> heads_;      // of the cells' lists, by hash
  std::vector<Node> nodes_;       // by key
  std::vector<Place> places_;     // by key
  std::vector<Far> far_;          // by key, as far as there are such
  std::vector<uint32_t> spaces_;  // the first level of each
  std::vector<Level> levels_;
};

}  // namespace spyre::runtime
