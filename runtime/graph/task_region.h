// SPDX-License-Identifier: Apache-2.0
// What a task touches: a box of a tensor, in two dimensions (the fast path) or in up to eight, and
// the tensors themselves, for graphs that check or compare bytes.
//
// Values only; nothing here knows a task.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace spyre::runtime {

enum class Access : uint8_t { kIn = 1, kOut = 2, kInOut = 3 };
inline bool Reads(Access access) { return (static_cast<unsigned>(access) & 1u) != 0; }
inline bool Writes(Access access) { return (static_cast<unsigned>(access) & 2u) != 0; }

// Names a tensor; in the original, its base pointer.
using TensorId = uint64_t;

// rows x cols elements from (row_offset, col_offset).
struct Region2d {
  TensorId tensor;
  int64_t row_offset, col_offset;
  int64_t rows, cols;
};

inline bool operator==(const Region2d& a, const Region2d& b) {
  return a.tensor == b.tensor && a.row_offset == b.row_offset && a.col_offset == b.col_offset &&
         a.rows == b.rows && a.cols == b.cols;
}

inline uint64_t HashOf(const Region2d& region) {
  uint64_t hash = region.tensor;
  hash ^= static_cast<uint64_t>(region.row_offset) * 0x9E3779B97F4A7C15u;
  hash ^= static_cast<uint64_t>(region.col_offset) * 0xC6A4A7935BD1E995u;
  hash ^= static_cast<uint64_t>(region.rows) << 32 | static_cast<uint64_t>(region.cols);
  hash ^= hash >> 33;
  hash *= 0xFF51AFD7ED558CCDu;
  return hash ^ hash >> 33;
}

inline constexpr uint32_t kMaxRank = 8;

// extent[d] elements from offset[d] in each of `rank` dimensions, outermost first.
struct Region {
  // Throws BadInput unless both have the same number of dimensions, 1 to kMaxRank.
  static Region Of(TensorId tensor, const std::vector<int64_t>& offset,
                   const std::vector<int64_t>& extent);
  static Region Of(const Region2d& region);

  TensorId tensor = 0;
  uint32_t rank = 0;
  std::array<int64_t, kMaxRank> offset{};  // zero from `rank` on, as extent
  std::array<int64_t, kMaxRank> extent{};
};

inline bool operator==(const Region& a, const Region& b) {
  return a.tensor == b.tensor && a.rank == b.rank && a.offset == b.offset && a.extent == b.extent;
}
uint64_t HashOf(const Region& region);
std::string ToText(const Region& region);  // "tensor 3 [0+8, 16+8]": offset+extent

// A tensor in row-major order from a byte address. Tensors may share bytes.
struct TensorPlace {
  TensorId tensor = 0;
  uint64_t address = 0;
  uint32_t element_bytes = 4;
  std::vector<int64_t> shape;
};

// Throws BadInput for no or too many dimensions, one without elements, elements without bytes, or
// an end beyond the 64-bit address space.
void CheckPlace(const TensorPlace& place);
// Throws BadInput, naming the dimension, unless the region is a box with elements inside `place`.
void CheckInside(const Region& region, const TensorPlace& place);
void CheckInside(const Region2d& region, const TensorPlace& place);

}  // namespace spyre::runtime
