// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/input_data.h"

#include <utility>

#include "base/parallel.h"
#include "cosim/tensors/npy.h"

namespace spyre::cosim {
namespace {

constexpr double kWholeNumberScale = 8;  // generated integers reach from -8 to 8

// A well-mixed 64-bit number for each (seed, stream, index): splitmix64's finaliser.
uint64_t Mix(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + stream * 0xD1B54A32D192ED03u + index;
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double Generated(Distribution distribution, uint64_t bits) {
  if (distribution == Distribution::kNormal) {
    // Four 16-bit uniforms, their sum scaled to variance 1: bell-shaped, and the same on every
    // host because no library function is involved. Its tails end at 3.46.
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xFFFF) - 32767.5;
    constexpr double kScale = 1.7320508075688772 / 65536;  // sqrt(12 / 4) per step
    return sum * kScale;
  }
  const double unit = static_cast<double>(bits >> 40) / (1 << 24);
  if (distribution == Distribution::kPositive) return 0.0625 + unit * (4 - 0.0625);
  const double uniform = unit * 2 - 1;
  return distribution == Distribution::kSmall ? uniform / 16 : uniform;
}

}  // namespace

HostData LoadInput(const InputOptions& options, const WorkloadTensor& tensor) {
  if (!tensor.file.empty()) {
    NpyArray array = ReadNpy(tensor.file, "input " + tensor.name,
                             HostFormatOf(tensor.host_format).npy, tensor.shape);
    return std::move(array.data);
  }
  if (tensor.data != nullptr) return *tensor.data;
  HostData data(static_cast<size_t>(tensor.host_bytes()));
  if (tensor.constant) {
    for (int64_t i = 0; i < tensor.elements(); ++i)
      StoreHost(tensor.host_format, *tensor.constant, data.data(), i);
    return data;
  }
  const bool whole_numbers =
      tensor.host_format != DataFormat::kIeeeFp16 && tensor.host_format != DataFormat::kIeeeFp32;
  const double scale = tensor.scale * (whole_numbers ? kWholeNumberScale : 1);
  const uint64_t stream = static_cast<uint64_t>(tensor.position) + 1;
  ParallelFor(tensor.elements(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = Mix(options.seed, stream, static_cast<uint64_t>(i));
      StoreHost(tensor.host_format, tensor.mean + scale * Generated(options.distribution, bits),
                data.data(), i);
    }
  });
  return data;
}

}  // namespace spyre::cosim
