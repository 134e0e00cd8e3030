// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/byte_hazards.h"

#include <algorithm>

namespace spyre::runtime {

void ByteHazards::Place(const TensorPlace& place) {
  uint64_t bytes = place.element_bytes;
  for (const int64_t size : place.shape) bytes *= static_cast<uint64_t>(size);
  const auto number = static_cast<uint32_t>(tensors_.size());
  const uint64_t end = place.address + bytes;
  tensors_.push_back({place, end, 0, false});
  // Extents that meet the tensor become one with it.
  uint64_t begin = place.address;
  Extent extent{end, number};
  auto at = extents_.lower_bound(end);
  while (at != extents_.begin() && std::prev(at)->second.end > place.address) {
    --at;
    if (at->second.tensor != kNone) Share(at->second.tensor);
    begin = std::min(begin, at->first);
    extent = {std::max(extent.end, at->second.end), kNone};
    at = extents_.erase(at);
  }
  if (extent.tensor == kNone) Share(number);
  extents_[begin] = extent;
}

void ByteHazards::Share(uint32_t tensor) {
  Tensor& it = tensors_[tensor];
  if (!it.shares && it.accesses > 0) Enter(it, tensor);
  it.shares = true;
}

void ByteHazards::Find(uint32_t tensor, const Box& box, bool writes, Found& found) const {
  boxes_.Query(tensor, box, !writes, [&](uint32_t key) {
    found.conflicts.push_back(key);
    if (writes && boxes_.IsCovered(key, box)) found.covered.push_back(key);
  });
  if (tensors_[tensor].shares) FindInOthers(tensor, box, writes, found);
}

void ByteHazards::FindInOthers(uint32_t tensor, const Box& box, bool writes, Found& found) const {
  const ByteRegion bytes(box, tensors_[tensor].place);
  live_.Query(bytes.begin(), bytes.end(), [&](uint32_t other) {
    if (other == tensor) return;
    const TensorPlace& place = tensors_[other].place;
    boxes_.Query(other, BoxAround(bytes.begin(), bytes.end(), place), !writes, [&](uint32_t key) {
      const ByteRegion kept(boxes_.BoxAt(key), place);
      if (!Overlaps(kept, bytes)) return;
      found.conflicts.push_back(key);
      const bool inside = bytes.begin() <= kept.begin() && kept.end() <= bytes.end();
      if (writes && bytes.one_run() && inside) found.covered.push_back(key);
    });
  });
}

void ByteHazards::Insert(uint32_t key, uint32_t tensor, const Box& box, bool writes) {
  boxes_.Insert(key, tensor, box, writes);
  Tensor& it = tensors_[tensor];
  if (it.accesses++ == 0 && it.shares) Enter(it, tensor);
}

void ByteHazards::Erase(uint32_t key) {
  if (!boxes_.Contains(key)) return;
  const uint32_t tensor = boxes_.SpaceOf(key);
  boxes_.Erase(key);
  Tensor& it = tensors_[tensor];
  if (--it.accesses == 0 && it.shares) live_.Erase(tensor);
}

}  // namespace spyre::runtime
