// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/input_data.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/vector_clones.h"
#include "cosim/tensors/npy.h"

namespace spyre::cosim {
namespace {

constexpr double kWholeNumberScale = 8;  // generated integers reach from -8 to 8

constexpr int64_t kBlock = 512;  // elements generated at a time; they stay in the cache

// A well-mixed 64-bit number for each (seed, stream, index): splitmix64's finaliser.
inline __attribute__((always_inline)) uint64_t Mix(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + stream * 0xD1B54A32D192ED03u + index;
  z = (z + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// A number of 16 or 24 bits: signed ones become doubles in one vector instruction.
inline __attribute__((always_inline)) double Whole(uint64_t bits) {
  return static_cast<int32_t>(bits);
}

inline __attribute__((always_inline)) double Generated(Distribution distribution, uint64_t bits) {
  if (distribution == Distribution::kNormal) {
    // Four 16-bit uniforms, their sum scaled to variance 1: bell-shaped, and the same on every
    // host because no library function is involved. Its tails end at 3.46.
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += Whole((bits >> (16 * i)) & 0xFFFF) - 32767.5;
    constexpr double kScale = 1.7320508075688772 / 65536;  // sqrt(12 / 4) per step
    return sum * kScale;
  }
  const double unit = Whole(bits >> 40) / (1 << 24);
  if (distribution == Distribution::kPositive) return 0.0625 + unit * (4 - 0.0625);
  const double uniform = unit * 2 - 1;
  return distribution == Distribution::kSmall ? uniform / 16 : uniform;
}

struct Sequence {
  uint64_t seed, stream;
  double mean, scale;
};

template <Distribution kDistribution>
inline __attribute__((always_inline)) void Fill(const Sequence& sequence, int64_t first,
                                                int64_t count, double* values) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = Mix(sequence.seed, sequence.stream, static_cast<uint64_t>(first + i));
    values[i] = sequence.mean + sequence.scale * Generated(kDistribution, bits);
  }
}

// Elements [first, first + count) of a tensor.
SPYRE_VECTOR_CLONES
void Generate(Distribution distribution, const Sequence& sequence, int64_t first, int64_t count,
              double* values) {
  switch (distribution) {
    case Distribution::kNormal:
      return Fill<Distribution::kNormal>(sequence, first, count, values);
    case Distribution::kPositive:
      return Fill<Distribution::kPositive>(sequence, first, count, values);
    case Distribution::kSmall:
      return Fill<Distribution::kSmall>(sequence, first, count, values);
    default:
      return Fill<Distribution::kUniform>(sequence, first, count, values);
  }
}

// Elements [first, first + count) of whole numbers from 0 on.
void FillWhole(const Sequence& sequence, int64_t below, int64_t first, int64_t count,
               double* values) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = Mix(sequence.seed, sequence.stream, static_cast<uint64_t>(first + i));
    values[i] = static_cast<double>(bits % static_cast<uint64_t>(below));
  }
}

// Elements [first, first + count) of a mask (NamedTensor::causal).
void FillCausal(const std::vector<int64_t>& shape, int64_t first, int64_t count, double* values) {
  constexpr double kLowest = -65504;
  const int64_t keys = shape.back();
  const int64_t rows = shape[shape.size() - 2];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = (first + i) / keys % rows;
    values[i] = (first + i) % keys <= row ? 0 : kLowest;
  }
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
  const bool whole_numbers =
      tensor.host_format != DataFormat::kIeeeFp16 && tensor.host_format != DataFormat::kIeeeFp32;
  const Sequence sequence{options.seed, static_cast<uint64_t>(tensor.position) + 1, tensor.mean,
                          tensor.scale * (whole_numbers ? kWholeNumberScale : 1)};
  ParallelFor(tensor.elements(), 4096, [&](int64_t begin, int64_t end) {
    double values[kBlock];
    std::fill_n(values, kBlock, tensor.constant.value_or(0));
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t count = std::min(kBlock, end - first);
      if (tensor.causal) {
        FillCausal(tensor.shape, first, count, values);
      } else if (tensor.whole_below) {
        FillWhole(sequence, *tensor.whole_below, first, count, values);
      } else if (!tensor.constant) {
        Generate(options.distribution, sequence, first, count, values);
      }
      StoreHost(tensor.host_format, values, count, data.data(), first);
    }
  });
  return data;
}

}  // namespace spyre::cosim
