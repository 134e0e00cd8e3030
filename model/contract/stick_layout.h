// SPDX-License-Identifier: Apache-2.0
// Stick layouts: how a host tensor lies in device memory, and the host copy that the layout
// implies. Sizes and strides are in elements unless a name says bytes. Pure data and functions.
// Errors: Error(kBadInput). Source: public torch-spyre layout rules (docs/facts.md); the worked
// examples there are unit tests.
#pragma once

#include <cstdint>
#include <vector>

#include "model/contract/formats.h"

namespace spyre {

// device_size: outermost first, last is the inside of a stick. stride_map[i]: host element stride
// of device dimension i; -1 for a synthetic dimension or a host dimension of size 1. host_dim[i]:
// the host dimension that device dimension i walks, -1 synthetic. The stick dimension of the host
// appears twice: stick count and inside.
struct StickLayout {
  std::vector<int64_t> device_size;
  std::vector<int64_t> stride_map;
  std::vector<int> host_dim;
  std::vector<int64_t> host_size;
  std::vector<int64_t> host_stride;
  DataFormat format = DataFormat::kSen169Fp16;  // on the device

  // Product of device_size without the last, times 128; at most INT64_MAX.
  int64_t DeviceBytes() const;
  int stick_dim() const;  // host dimension inside the stick, -1 for a scalar or a sparse stick
  // Bytes from index i to i + 1 of a host dimension; for the stick dimension, from one stick to the
  // next. 0 for a host dimension that has no device dimension of its own (size 1).
  int64_t DeviceByteStride(int host_dimension) const;
};

// The default construction for a host tensor: dim_order lists host dimensions, stick dimension
// last; a trailing -1 means sparse sticks (only element 0 of each stick is meaningful). Rank 1:
// [o0, o0]; 2: [o1, o0, o1]; 3 and more: [o1 .. o(r-1), o0, o(r-1)], the second to last occurrence
// of the stick dimension being the stick count. Rank above 6 is refused. Empty sizes: a scalar, [1,
// elements per stick].
StickLayout MakeLayout(const std::vector<int64_t>& host_size,
                       const std::vector<int64_t>& host_stride, DataFormat device_format,
                       const std::vector<int>& dim_order);
// One element to a stick, the host's order of dimensions; a scalar has its default layout.
StickLayout SparseLayout(const std::vector<int64_t>& host_size, DataFormat device_format);
// Contiguous host strides and the identity order.
StickLayout DefaultLayout(const std::vector<int64_t>& host_size, DataFormat device_format);
std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& size);

// One strided box of the host copy, innermost dimension first (the public DataConversionInfo form).
struct StridedBox {
  std::vector<int64_t> sizes;
  std::vector<int64_t> source_strides;
  std::vector<int64_t> destination_strides;
  int64_t source_offset = 0;
  int64_t destination_offset = 0;
};

// The boxes of a copy between host order and stick order: one main box, and one more for each
// partly filled stick.
struct DataConversion {
  bool to_device = true;
  DataFormat source_format = DataFormat::kIeeeFp16;
  DataFormat destination_format = DataFormat::kSen169Fp16;
  std::vector<StridedBox> boxes;
};
DataConversion PlanConversion(const StickLayout& layout, DataFormat host_format, bool to_device);

// Runs the boxes. `source` and `destination` hold whole tensors: host in host_size/host_stride
// order, device image of layout.DeviceBytes(). Padding of the device image is not written: zero it
// first.
void RunConversion(const DataConversion& conversion, const void* source, void* destination);

}  // namespace spyre
