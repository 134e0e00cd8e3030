// SPDX-License-Identifier: Apache-2.0
// Random tensors and regions in 4 KB of addresses, and their bytes by enumeration.
#pragma once

#include <algorithm>
#include <bitset>
#include <random>
#include <vector>

#include "runtime/graph/task_region.h"

namespace spyre::runtime {

using ByteSet = std::bitset<4096>;

// 1 to 4 dimensions of 1 to 6 elements, or 5 to 8 of 1 or 2, 1 to 3 bytes each.
inline TensorPlace RandomPlace(std::mt19937& random, TensorId tensor) {
  TensorPlace place{tensor, random() % 64, 1 + static_cast<uint32_t>(random() % 3), {}};
  const bool many = random() % 4 == 0;
  const size_t rank = (many ? 5 : 1) + random() % 4;
  for (size_t d = 0; d < rank; ++d) {
    place.shape.push_back(1 + static_cast<int64_t>(random() % (many ? 2 : 6)));
  }
  return place;
}

// 16 to 32 rows and columns of 1 or 2 bytes.
inline TensorPlace TiledPlace(std::mt19937& random, TensorId tensor) {
  return {tensor,
          random() % 1024,
          1 + static_cast<uint32_t>(random() % 2),
          {16 + static_cast<int64_t>(random() % 17), 16 + static_cast<int64_t>(random() % 17)}};
}

inline Region RandomRegion(std::mt19937& random, const TensorPlace& place) {
  std::vector<int64_t> offset;
  std::vector<int64_t> extent;
  for (const int64_t size : place.shape) {
    // Whole dimensions are frequent, as they are in programs.
    const int64_t length = random() % 2 == 0 ? size : 1 + static_cast<int64_t>(random()) % size;
    extent.push_back(length);
    offset.push_back(static_cast<int64_t>(random()) % (size - length + 1));
  }
  return Region::Of(place.tensor, offset, extent);
}

// A tile, a band of rows or of columns or all of a matrix, cut at its end.
inline Region TiledRegion(std::mt19937& random, const TensorPlace& place) {
  const int64_t tile = random() % 2 == 0 ? 4 : 8;
  const int64_t start = random() % 4 == 0 ? 3 : 0;  // of the first tile
  std::vector<int64_t> offset;
  std::vector<int64_t> extent;
  for (const int64_t size : place.shape) {
    const bool whole = random() % 3 == 0;
    const int64_t tiles = (size - start + tile - 1) / tile;
    offset.push_back(whole ? 0 : start + static_cast<int64_t>(random()) % tiles * tile);
    extent.push_back(whole ? size : std::min(tile, size - offset.back()));
  }
  return Region::Of(place.tensor, offset, extent);
}

inline ByteSet BytesOf(const Region& region, const TensorPlace& place) {
  ByteSet bytes;
  uint64_t elements = 1;
  for (uint32_t d = 0; d < region.rank; ++d) elements *= static_cast<uint64_t>(region.extent[d]);
  for (uint64_t element = 0; element < elements; ++element) {
    uint64_t rest = element;
    uint64_t at = 0;
    uint64_t stride = 1;
    for (uint32_t d = region.rank; d-- > 0;) {
      const auto extent = static_cast<uint64_t>(region.extent[d]);
      at += (static_cast<uint64_t>(region.offset[d]) + rest % extent) * stride;
      rest /= extent;
      stride *= static_cast<uint64_t>(place.shape[d]);
    }
    for (uint32_t byte = 0; byte < place.element_bytes; ++byte) {
      bytes.set(place.address + at * place.element_bytes + byte);
    }
  }
  return bytes;
}

}  // namespace spyre::runtime
