// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/touched.h"

#include <algorithm>

#include "base/error.h"
#include "model/contract/host_conversion.h"
#include "model/contract/memory_map.h"

namespace spyre::sdk {
namespace {

class Marker {
 public:
  Marker(const DataConversion& conversion, bool source, uint64_t limit)
      : bits_(
            HostBitsPerElement(source ? conversion.source_format : conversion.destination_format)),
        source_(source),
        limit_(limit) {}

  void Mark(const StridedBox& box) {
    const std::vector<SideDimension> dims = DimensionsOf(box, source_);
    if (dims.empty()) return;
    const int64_t offset = source_ ? box.source_offset : box.destination_offset;
    Walk(dims, dims.size(), offset);
  }
  void Finish(Touched& touched) {
    if (ranges_.empty()) return;
    const auto before = [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; };
    if (!std::is_sorted(ranges_.begin(), ranges_.end(), before))
      std::sort(ranges_.begin(), ranges_.end(), before);
    touched.full = full_;
    for (const ByteRange& range : ranges_) {
      if (!touched.ranges.empty() && range.begin <= touched.ranges.back().end) {
        touched.ranges.back().end = std::max(touched.ranges.back().end, range.end);
      } else {
        touched.ranges.push_back(range);
      }
    }
  }

 private:
  void Walk(const std::vector<SideDimension>& dims, size_t count, int64_t offset) {
    if (count == 1) {
      const SideDimension& run = dims.front();
      Add(offset, offset + (run.size - 1) * run.stride + 1);
      return;
    }
    const SideDimension& dim = dims[count - 1];
    for (int64_t i = 0; i < dim.size; ++i) Walk(dims, count - 1, offset + i * dim.stride);
  }
  void Add(int64_t begin_element, int64_t end_element) {
    const auto bits = static_cast<uint64_t>(bits_);
    const uint64_t begin = static_cast<uint64_t>(begin_element) * bits / 8;
    const uint64_t end = (static_cast<uint64_t>(end_element) * bits + 7) / 8;
    if (begin_element < 0 || end > limit_)
      throw BadInput("a box reaches over bytes {} to {} of a tensor of {} bytes", begin, end,
                     limit_);
    const ByteRange sticks = {begin / kStickBytes * kStickBytes, AlignUp(end, kStickBytes)};
    full_ = full_ && sticks.begin == begin && sticks.end == end;
    if (!ranges_.empty() && sticks.begin <= ranges_.back().end &&
        sticks.begin >= ranges_.back().begin) {
      ranges_.back().end = std::max(ranges_.back().end, sticks.end);
    } else {
      ranges_.push_back(sticks);
    }
  }

  const int bits_;
  const bool source_;
  const uint64_t limit_;
  bool full_ = true;
  std::vector<ByteRange> ranges_;
};

}  // namespace

std::vector<SideDimension> DimensionsOf(const StridedBox& box, bool source) {
  const std::vector<int64_t>& strides = source ? box.source_strides : box.destination_strides;
  if (strides.size() != box.sizes.size())
    throw BadInput("a box has {} sizes and {} strides", box.sizes.size(), strides.size());
  std::vector<SideDimension> dims;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (box.sizes[i] <= 0) return {};
    if (strides[i] < 0) throw BadInput("a box has the negative stride {}", strides[i]);
    if (box.sizes[i] != 1 && strides[i] != 0) dims.push_back({box.sizes[i], strides[i]});
  }
  std::sort(dims.begin(), dims.end(),
            [](const SideDimension& a, const SideDimension& b) { return a.stride < b.stride; });
  std::vector<SideDimension> joined = {{1, 1}};
  for (const SideDimension& dim : dims) {
    SideDimension& last = joined.back();
    if (dim.stride == last.size * last.stride) {
      last.size *= dim.size;
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

Touched TouchedSticks(const DataConversion& conversion, bool source, uint64_t limit) {
  Marker marker(conversion, source, limit);
  for (const StridedBox& box : conversion.boxes) marker.Mark(box);
  Touched touched;
  marker.Finish(touched);
  for (ByteRange& range : touched.ranges)
    range.end = std::min(range.end, AlignUp(limit, kStickBytes));
  return touched;
}

ByteRange DenseSpan(const DataConversion& conversion, bool source) {
  const auto bits = static_cast<uint64_t>(
      HostBitsPerElement(source ? conversion.source_format : conversion.destination_format));
  int64_t begin = INT64_MAX, end = 0, elements = 0;
  for (const StridedBox& box : conversion.boxes) {
    const std::vector<SideDimension> dims = DimensionsOf(box, source);
    if (dims.empty()) continue;
    int64_t last = source ? box.source_offset : box.destination_offset, count = 1;
    begin = std::min(begin, last);
    for (const SideDimension& dim : dims) {
      last += (dim.size - 1) * dim.stride;
      count *= dim.size;
    }
    end = std::max(end, last + 1);
    elements += count;
  }
  if (elements == 0 || begin < 0 || elements < (end - begin) / 2) return {};
  return {static_cast<uint64_t>(begin) * bits / 8, static_cast<uint64_t>(end) * bits / 8};
}

}  // namespace spyre::sdk
