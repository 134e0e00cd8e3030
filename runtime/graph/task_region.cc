// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/task_region.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace spyre::runtime {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value;
  hash *= 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

bool Inside(int64_t offset, int64_t extent, int64_t size) {
  return extent >= 1 && offset >= 0 && extent <= size && offset <= size - extent;
}

void CheckRank(size_t rank) {
  if (rank < 1 || rank > kMaxRank) {
    throw BadInput("a region or tensor of {} dimensions; there may be 1 to {}", rank, kMaxRank);
  }
}

}  // namespace

Region Region::Of(TensorId tensor, const std::vector<int64_t>& offset,
                  const std::vector<int64_t>& extent) {
  if (offset.size() != extent.size()) {
    throw BadInput("tensor {}: {} offsets and {} extents; there must be as many of each", tensor,
                   offset.size(), extent.size());
  }
  CheckRank(offset.size());
  Region region;
  region.tensor = tensor;
  region.rank = static_cast<uint32_t>(offset.size());
  std::copy(offset.begin(), offset.end(), region.offset.begin());
  std::copy(extent.begin(), extent.end(), region.extent.begin());
  return region;
}

Region Region::Of(const Region2d& from) {
  Region region;
  region.tensor = from.tensor;
  region.rank = 2;
  region.offset[0] = from.row_offset;
  region.offset[1] = from.col_offset;
  region.extent[0] = from.rows;
  region.extent[1] = from.cols;
  return region;
}

uint64_t HashOf(const Region& region) {
  uint64_t hash = Mix(region.rank, region.tensor);
  for (uint32_t d = 0; d < region.rank; ++d) {
    hash = Mix(hash, static_cast<uint64_t>(region.offset[d]));
    hash = Mix(hash, static_cast<uint64_t>(region.extent[d]));
  }
  return hash ^ hash >> 32;
}

std::string ToText(const Region& region) {
  std::string text = fmt::format("tensor {} [", region.tensor);
  for (uint32_t d = 0; d < region.rank; ++d) {
    text += fmt::format("{}{}+{}", d == 0 ? "" : ", ", region.offset[d], region.extent[d]);
  }
  return text + "]";
}

void CheckPlace(const TensorPlace& place) {
  CheckRank(place.shape.size());
  uint64_t bytes = place.element_bytes;
  if (bytes == 0) throw BadInput("tensor {}: elements of 0 bytes", place.tensor);
  for (const int64_t dim : place.shape) {
    if (dim < 1) {
      throw BadInput("tensor {}: a dimension of {} elements; it needs at least 1", place.tensor,
                     dim);
    }
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      throw BadInput("tensor {}: more bytes than a 64-bit number counts", place.tensor);
    }
  }
  uint64_t end = 0;
  if (bytes > INT64_MAX || __builtin_add_overflow(place.address, bytes, &end)) {
    throw BadInput("tensor {}: {} bytes from {:#x} end beyond the 64-bit address space",
                   place.tensor, bytes, place.address);
  }
}

void CheckInside(const Region& region, const TensorPlace& place) {
  if (region.rank != place.shape.size()) {
    throw BadInput("{}: {} dimensions, the tensor has {}", ToText(region), region.rank,
                   place.shape.size());
  }
  for (uint32_t d = 0; d < region.rank; ++d) {
    const int64_t size = place.shape[d];
    if (!Inside(region.offset[d], region.extent[d], size)) {
      throw BadInput("{}: dimension {} is outside the tensor, which has {} elements there",
                     ToText(region), d, size);
    }
  }
}

void CheckInside(const Region2d& region, const TensorPlace& place) {
  if (place.shape.size() != 2 || !Inside(region.row_offset, region.rows, place.shape[0]) ||
      !Inside(region.col_offset, region.cols, place.shape[1])) {
    CheckInside(Region::Of(region), place);  // throws
  }
}

}  // namespace spyre::runtime
