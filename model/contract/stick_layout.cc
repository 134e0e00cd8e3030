// SPDX-License-Identifier: Apache-2.0
#include "model/contract/stick_layout.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/joined.h"
#include "model/contract/memory_map.h"

namespace spyre {
namespace {

constexpr size_t kMaxOrder = 6;  // dimensions in an order, a trailing -1 included

[[noreturn]] void TooLarge(const std::vector<int64_t>& size) {
  throw BadInput("tensor [{}] is too large: beyond 64 bits", Joined(size, ", "));
}

int64_t CheckedMul(int64_t a, int64_t b, const std::vector<int64_t>& size) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) TooLarge(size);
  return product;
}

void CheckHost(const std::vector<int64_t>& size, const std::vector<int64_t>& stride,
               const std::vector<int>& order) {
  if (stride.size() != size.size()) {
    throw BadInput("tensor [{}] has {} dimensions but {} strides; one stride each is needed",
                   Joined(size, ", "), size.size(), stride.size());
  }
  int64_t extent = 8;  // bytes of the widest element
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 1 || stride[d] < 0) {
      throw BadInput(
          "dimension {} of tensor [{}] has size {} and stride {}; sizes are at least 1 and strides "
          "at least 0",
          d, Joined(size, ", "), size[d], stride[d]);
    }
    const int64_t reach = CheckedMul(CheckedMul(size[d], stride[d], size), 8, size);
    if (__builtin_add_overflow(extent, reach, &extent)) TooLarge(size);
  }
  const bool sparse = order.size() == size.size() + 1 && order.back() == -1;
  if (order.size() > kMaxOrder) {
    throw BadInput("dimension order [{}] of tensor [{}] has {} entries; at most {} are possible",
                   Joined(order, ", "), Joined(size, ", "), order.size(), kMaxOrder);
  }
  std::vector<int> sorted(order.begin(), order.end() - (sparse ? 1 : 0));
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> every(size.size());
  std::iota(every.begin(), every.end(), 0);
  if (sorted != every) {
    throw BadInput(
        "dimension order [{}] does not fit tensor [{}]: it must name each of 0..{} once, and may "
        "end with -1 for sparse sticks",
        Joined(order, ", "), Joined(size, ", "), static_cast<int>(size.size()) - 1);
  }
}

// Elements from one index of each device dimension to the next, in the device image.
std::vector<int64_t> DeviceStrides(const StickLayout& layout) {
  return ContiguousStrides(layout.device_size);
}

}  // namespace

std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& size) {
  std::vector<int64_t> stride(size.size(), 1);
  for (size_t i = size.size(); i-- > 1;) stride[i - 1] = CheckedMul(stride[i], size[i], size);
  return stride;
}

StickLayout MakeLayout(const std::vector<int64_t>& host_size,
                       const std::vector<int64_t>& host_stride, DataFormat device_format,
                       const std::vector<int>& dim_order) {
  CheckHost(host_size, host_stride, dim_order);
  StickLayout layout;
  layout.host_size = host_size;
  layout.host_stride = host_stride;
  layout.format = device_format;
  const int64_t stick = ElementsPerStick(device_format);

  const int stick_dim = dim_order.empty() ? -1 : dim_order.back();
  if (dim_order.size() <= 1) {
    layout.host_dim = {stick_dim, stick_dim};
  } else {
    layout.host_dim.assign(dim_order.begin() + 1, dim_order.end());
    layout.host_dim.push_back(dim_order.front());
    layout.host_dim.push_back(stick_dim);
  }

  const size_t inside = layout.host_dim.size() - 1;
  int64_t bytes = static_cast<int64_t>(kStickBytes);
  for (size_t i = 0; i <= inside; ++i) {
    const int d = layout.host_dim[i];
    const bool counts_sticks = i != inside && d == stick_dim;
    const int64_t size = d < 0 ? 1 : host_size[d];
    const int64_t device_size =
        i == inside ? stick : (counts_sticks ? (size + stick - 1) / stick : size);
    layout.device_size.push_back(device_size);
    layout.stride_map.push_back(size == 1 ? -1 : host_stride[d] * (counts_sticks ? stick : 1));
    if (i != inside) bytes = CheckedMul(bytes, device_size, host_size);
  }
  CheckedMul(bytes, 8, host_size);  // bits are counted in 64 bits too
  return layout;
}

StickLayout SparseLayout(const std::vector<int64_t>& host_size, DataFormat device_format) {
  if (host_size.empty()) return DefaultLayout(host_size, device_format);
  std::vector<int> order(host_size.size() + 1, -1);
  std::iota(order.begin(), order.end() - 1, 0);
  return MakeLayout(host_size, ContiguousStrides(host_size), device_format, order);
}

StickLayout DefaultLayout(const std::vector<int64_t>& host_size, DataFormat device_format) {
  std::vector<int> order(host_size.size());
  std::iota(order.begin(), order.end(), 0);
  return MakeLayout(host_size, ContiguousStrides(host_size), device_format, order);
}

int64_t StickLayout::DeviceBytes() const {
  int64_t bytes = kStickBytes;
  for (auto size = device_size.begin(); size + 1 < device_size.end(); ++size)
    if (__builtin_mul_overflow(bytes, *size, &bytes)) return INT64_MAX;
  return bytes;
}

int StickLayout::stick_dim() const { return host_dim.back(); }

int64_t StickLayout::DeviceByteStride(int host_dimension) const {
  if (host_dimension < 0 || host_dimension >= static_cast<int>(host_size.size())) {
    throw BadInput("tensor [{}] has no dimension {}", Joined(host_size, ", "), host_dimension);
  }
  if (host_size[host_dimension] == 1) return 0;
  int64_t stride = static_cast<int64_t>(kStickBytes);
  for (size_t i = device_size.size() - 1; i-- > 0;) {
    if (host_dim[i] == host_dimension) return stride;
    stride *= device_size[i];
  }
  return 0;
}

DataConversion PlanConversion(const StickLayout& layout, DataFormat host_format, bool to_device) {
  DataConversion plan;
  plan.to_device = to_device;
  plan.source_format = to_device ? host_format : layout.format;
  plan.destination_format = to_device ? layout.format : host_format;
  if (!CanConvert(plan.source_format, plan.destination_format)) {
    throw BadInput("a host tensor of {} cannot be copied {} a device tensor of {}",
                   FormatName(host_format), to_device ? "to" : "from", FormatName(layout.format));
  }

  const int stick_dim = layout.stick_dim();
  const int64_t stick = layout.device_size.back();
  const int64_t length = stick_dim < 0 ? 1 : layout.host_size[stick_dim];
  const std::vector<int64_t> device_stride = DeviceStrides(layout);

  // The box of `sticks` sticks from stick `first`, of which the first `filled` elements are used.
  const auto add_box = [&](int64_t first, int64_t sticks, int64_t filled) {
    StridedBox box;
    std::vector<int64_t>& host = to_device ? box.source_strides : box.destination_strides;
    std::vector<int64_t>& device = to_device ? box.destination_strides : box.source_strides;
    for (size_t i = layout.device_size.size(); i-- > 0;) {
      const int d = layout.host_dim[i];
      const bool inside = i + 1 == layout.device_size.size();
      const bool counts_sticks = !inside && d == stick_dim && d >= 0;
      const int64_t host_stride = d < 0 ? 0 : layout.host_stride[d] * (counts_sticks ? stick : 1);
      box.sizes.push_back(inside ? filled : (counts_sticks ? sticks : layout.device_size[i]));
      host.push_back(host_stride);
      device.push_back(device_stride[i]);
      if (counts_sticks) {
        (to_device ? box.source_offset : box.destination_offset) = first * host_stride;
        (to_device ? box.destination_offset : box.source_offset) = first * device_stride[i];
      }
    }
    plan.boxes.push_back(std::move(box));
  };
  const int64_t full = length / stick;
  const int64_t rest = length % stick;
  if (full > 0) add_box(0, full, stick);
  if (rest > 0) add_box(full, 1, rest);
  return plan;
}

}  // namespace spyre
