// SPDX-License-Identifier: Apache-2.0
#include "model/contract/stick_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "model/contract/memory_map.h"

namespace spyre {
namespace {

constexpr size_t kMaxOrder = 6;  // dimensions in an order, a trailing -1 included

[[noreturn]] void TooLarge(const std::vector<int64_t>& size) {
  throw BadInput("tensor [{}] is too large: beyond 64 bits", fmt::join(size, ", "));
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
                   fmt::join(size, ", "), size.size(), stride.size());
  }
  int64_t extent = 8;  // bytes of the widest element
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 1 || stride[d] < 0) {
      throw BadInput(
          "dimension {} of tensor [{}] has size {} and stride {}; sizes are at least 1 and strides "
          "at least 0",
          d, fmt::join(size, ", "), size[d], stride[d]);
    }
    const int64_t reach = CheckedMul(CheckedMul(size[d], stride[d], size), 8, size);
    if (__builtin_add_overflow(extent, reach, &extent)) TooLarge(size);
  }
  const bool sparse = order.size() == size.size() + 1 && order.back() == -1;
  if (order.size() > kMaxOrder) {
    throw BadInput("dimension order [{}] of tensor [{}] has {} entries; at most {} are possible",
                   fmt::join(order, ", "), fmt::join(size, ", "), order.size(), kMaxOrder);
  }
  std::vector<int> sorted(order.begin(), order.end() - (sparse ? 1 : 0));
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> every(size.size());
  std::iota(every.begin(), every.end(), 0);
  if (sorted != every) {
    throw BadInput(
        "dimension order [{}] does not fit tensor [{}]: it must name each of 0..{} once, and may "
        "end with -1 for sparse sticks",
        fmt::join(order, ", "), fmt::join(size, ", "), static_cast<int>(size.size()) - 1);
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
    throw BadInput("tensor [{}] has no dimension {}", fmt::join(host_size, ", "), host_dimension);
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

namespace {

constexpr int64_t kGatherElements = 64;  // of a run, or of one of many runs side by side
constexpr int64_t kTileRuns = 32;        // runs done before the next dimension moves on

void MoveStrided(const uint8_t* source, int64_t source_step, uint8_t* destination,
                 int64_t destination_step, int64_t count, int element_bytes) {
  const auto move = [&](auto sample) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&sample, source + i * source_step, sizeof sample);
      std::memcpy(destination + i * destination_step, &sample, sizeof sample);
    }
  };
  switch (element_bytes) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(uint32_t{});
    default:
      return move(uint64_t{});
  }
}

// One side of the copy: where an element offset lies.
struct Side {
  DataFormat format;
  int bits;

  int64_t Bytes(int64_t elements) const {
    const int64_t total = elements * bits;
    if (total % 8 != 0) {
      throw BadInput(
          "element {} of a {} tensor does not start at a byte; rows of packed formats need an "
          "even number of elements",
          elements, FormatName(format));
    }
    return total / 8;
  }
};

struct Dimension {
  int64_t size;
  int64_t from;
  int64_t to;
};

// Runs side by side: `run` is the innermost dimension, `next` the one around it. Where a run has
// unit steps on both sides it is converted straight from source to destination, else through small
// buffers on the stack. If then the elements of neighbouring runs lie side by side, a tile of them
// is turned over in the buffer, so that memory is met line by line.
class Runs {
 public:
  Runs(const Side& from, const Side& to, const Dimension& run, const Dimension& next)
      : from_(from), to_(to), run_(run), next_(next), packed_(from.bits < 8 || to.bits < 8) {}

  // `runs` <= kTileRuns of them; element offsets of the first.
  void Convert(const uint8_t* source, int64_t from_at, uint8_t* destination, int64_t to_at,
               int64_t runs) const {
    const uint8_t* const in = source + from_.Bytes(from_at);
    uint8_t* const out = destination + to_.Bytes(to_at);
    if (run_.from == 1 && run_.to == 1) {
      for (int64_t i = 0; i < runs; ++i)
        Block(in + from_.Bytes(i * next_.from), out + to_.Bytes(i * next_.to), run_.size);
    } else if (packed_) {  // packed elements have no address of their own
      ForEachElement(runs, [&](int64_t from_offset, int64_t to_offset) {
        Block(in + from_.Bytes(from_offset), out + to_.Bytes(to_offset), 1);
      });
    } else if (run_.to == 1 && next_.from == 1) {
      TurnIn(in, out, runs);
    } else if (run_.from == 1 && next_.to == 1) {
      TurnOut(in, out, runs);
    } else {
      for (int64_t i = 0; i < runs; ++i)
        Strided(in + from_.Bytes(i * next_.from), out + to_.Bytes(i * next_.to));
    }
  }

 private:
  using Buffer = std::array<uint8_t, kGatherElements * kTileRuns * 8>;

  void Block(const uint8_t* in, uint8_t* out, int64_t count) const {
    ConvertElements(from_.format, in, to_.format, out, static_cast<size_t>(count));
  }
  template <typename Fn>
  void ForEachElement(int64_t runs, Fn element) const {
    for (int64_t i = 0; i < runs; ++i) {
      for (int64_t e = 0; e < run_.size; ++e)
        element(i * next_.from + e * run_.from, i * next_.to + e * run_.to);
    }
  }
  void Strided(const uint8_t* in, uint8_t* out) const {
    std::array<uint8_t, kGatherElements * 8> gathered, converted;
    const int from_bytes = from_.bits / 8, to_bytes = to_.bits / 8;
    for (int64_t done = 0; done < run_.size; done += kGatherElements) {
      const int64_t n = std::min(kGatherElements, run_.size - done);
      MoveStrided(in + done * run_.from * from_bytes, run_.from * from_bytes, gathered.data(),
                  from_bytes, n, from_bytes);
      Block(gathered.data(), converted.data(), n);
      MoveStrided(converted.data(), to_bytes, out + done * run_.to * to_bytes, run_.to * to_bytes,
                  n, to_bytes);
    }
  }
  void TurnIn(const uint8_t* in, uint8_t* out, int64_t runs) const {
    const int from_bytes = from_.bits / 8;
    Buffer turned;
    for (int64_t done = 0; done < run_.size; done += kGatherElements) {
      const int64_t n = std::min(kGatherElements, run_.size - done);
      for (int64_t e = 0; e < n; ++e) {
        MoveStrided(in + (done + e) * run_.from * from_bytes, from_bytes,
                    turned.data() + e * from_bytes, n * from_bytes, runs, from_bytes);
      }
      const int64_t blocks = next_.to == n ? 1 : runs;  // that lie apart
      for (int64_t i = 0; i < blocks; ++i) {
        Block(turned.data() + i * n * from_bytes, out + to_.Bytes(i * next_.to + done),
              runs / blocks * n);
      }
    }
  }
  void TurnOut(const uint8_t* in, uint8_t* out, int64_t runs) const {
    const int to_bytes = to_.bits / 8;
    Buffer turned;
    for (int64_t done = 0; done < run_.size; done += kGatherElements) {
      const int64_t n = std::min(kGatherElements, run_.size - done);
      const int64_t blocks = next_.from == n ? 1 : runs;
      for (int64_t i = 0; i < blocks; ++i) {
        Block(in + from_.Bytes(i * next_.from + done), turned.data() + i * n * to_bytes,
              runs / blocks * n);
      }
      for (int64_t e = 0; e < n; ++e) {
        MoveStrided(turned.data() + e * to_bytes, n * to_bytes,
                    out + (done + e) * run_.to * to_bytes, to_bytes, runs, to_bytes);
      }
    }
  }

  const Side from_, to_;
  const Dimension run_, next_;
  const bool packed_;
};

// The box without dimensions of size 1, neighbours that continue each other on both sides merged.
std::vector<Dimension> Merged(const StridedBox& box) {
  std::vector<Dimension> dims;
  for (size_t i = 0; i < box.sizes.size(); ++i) {
    const Dimension next{box.sizes[i], box.source_strides[i], box.destination_strides[i]};
    if (next.size == 1) continue;
    if (!dims.empty() && next.from == dims.back().from * dims.back().size &&
        next.to == dims.back().to * dims.back().size) {
      dims.back().size *= next.size;
    } else {
      dims.push_back(next);
    }
  }
  if (dims.empty()) dims.push_back({1, 1, 1});
  return dims;
}

void RunBox(const StridedBox& box, const Side& from, const Side& to, const uint8_t* source,
            uint8_t* destination) {
  if (box.source_strides.size() != box.sizes.size() ||
      box.destination_strides.size() != box.sizes.size()) {
    throw BadInput("a strided box has {} sizes, {} source and {} destination strides",
                   box.sizes.size(), box.source_strides.size(), box.destination_strides.size());
  }
  for (const int64_t size : box.sizes) {
    if (size <= 0) return;
  }
  // Three at least: runs, runs side by side, and what a few of those are done for at a time, so
  // that both sides of the copy go on in memory, rather than one of them jump at every run.
  std::vector<Dimension> dims = Merged(box);
  // Elements that go to the same place go there in order: the last one stays.
  const bool meet =
      std::any_of(dims.begin(), dims.end(), [](const Dimension& d) { return d.to == 0; });
  if (meet) dims.insert(dims.begin() + 1, 2, {1, 0, 0});
  dims.resize(std::max<size_t>(dims.size(), 3), {1, 0, 0});
  const Runs runs(from, to, dims[0], dims[1]);
  std::vector<int64_t> index(dims.size(), 0);
  int64_t from_offset = box.source_offset;
  int64_t to_offset = box.destination_offset;
  for (;;) {
    for (int64_t first = 0; first < dims[1].size; first += kTileRuns) {
      const int64_t count = std::min(kTileRuns, dims[1].size - first);
      for (int64_t i = 0; i < dims[2].size; ++i) {
        runs.Convert(source, from_offset + first * dims[1].from + i * dims[2].from, destination,
                     to_offset + first * dims[1].to + i * dims[2].to, count);
      }
    }
    size_t d = 3;
    for (; d < dims.size(); ++d) {
      from_offset += dims[d].from;
      to_offset += dims[d].to;
      if (++index[d] < dims[d].size) break;
      from_offset -= dims[d].from * dims[d].size;
      to_offset -= dims[d].to * dims[d].size;
      index[d] = 0;
    }
    if (d == dims.size()) return;
  }
}

}  // namespace

void RunConversion(const DataConversion& conversion, const void* source, void* destination) {
  const Side from{conversion.source_format, BitsPerElement(conversion.source_format)};
  const Side to{conversion.destination_format, BitsPerElement(conversion.destination_format)};
  for (const StridedBox& box : conversion.boxes) {
    RunBox(box, from, to, static_cast<const uint8_t*>(source), static_cast<uint8_t*>(destination));
  }
}

}  // namespace spyre
