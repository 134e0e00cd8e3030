// SPDX-License-Identifier: Apache-2.0
#include "cosim/tensors/input_data.h"

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

// How the part of a card lies in the whole: runs of elements, one of each card behind the other.
struct PartRuns {
  int64_t run = 1;  // elements of one
  int64_t cards = 1, card = 0;
  int64_t InWhole(int64_t element) const {
    return (element / run * cards + card) * run + element % run;
  }
  int64_t LeftIn(int64_t element) const { return run - element % run; }
};

PartRuns RunsOf(const InputOptions& options, const WorkloadTensor& tensor) {
  if (tensor.share.kind != CardShare::Kind::kPart) return {std::max<int64_t>(1, tensor.elements())};
  PartRuns runs{1, static_cast<int64_t>(options.cards), static_cast<int64_t>(options.card)};
  for (size_t dim = tensor.share.dim; dim < tensor.shape.size(); ++dim)
    runs.run *= tensor.shape[dim];
  return runs;
}

HostData ReadFile(const InputOptions& options, const WorkloadTensor& tensor) {
  const HostFormat& format = HostFormatOf(tensor.host_format);
  std::vector<int64_t> shape = tensor.shape;
  if (tensor.share.kind == CardShare::Kind::kPart)
    shape[tensor.share.dim] *= static_cast<int64_t>(options.cards);
  NpyArray whole = ReadNpy(tensor.file, "input " + tensor.name, format.npy, shape);
  if (shape == tensor.shape) return std::move(whole.data);
  const PartRuns runs = RunsOf(options, tensor);
  HostData part(static_cast<size_t>(tensor.host_bytes()));
  for (int64_t element = 0; element < tensor.elements(); element += runs.run) {
    std::copy_n(whole.data.begin() + runs.InWhole(element) * format.bytes, runs.run * format.bytes,
                part.begin() + element * format.bytes);
  }
  return part;
}

}  // namespace

HostData LoadInput(const InputOptions& options, const WorkloadTensor& tensor) {
  if (!tensor.file.empty()) return ReadFile(options, tensor);
  if (tensor.data != nullptr) return *tensor.data;
  HostData data(static_cast<size_t>(tensor.host_bytes()));
  const bool whole_numbers =
      tensor.host_format != DataFormat::kIeeeFp16 && tensor.host_format != DataFormat::kIeeeFp32;
  const bool is_own = tensor.share.kind == CardShare::Kind::kOwn;
  const PartRuns runs = RunsOf(options, tensor);
  const Sequence sequence{is_own ? options.seed : options.seed_of_all,
                          static_cast<uint64_t>(tensor.position) + 1, tensor.mean,
                          tensor.scale * (whole_numbers ? kWholeNumberScale : 1)};
  ParallelFor(tensor.elements(), 4096, [&](int64_t begin, int64_t end) {
    double values[kBlock];
    std::fill_n(values, kBlock, tensor.constant.value_or(0));
    for (int64_t first = begin, count = 0; first < end; first += count) {
      count = std::min({kBlock, end - first, runs.LeftIn(first)});
      const int64_t in_whole = runs.InWhole(first);
      if (tensor.causal) {
        FillCausal(tensor.shape, first, count, values);
      } else if (tensor.whole_below) {
        FillWhole(sequence, *tensor.whole_below, in_whole, count, values);
      } else if (!tensor.constant) {
        Generate(options.distribution, sequence, in_whole, count, values);
      }
      StoreHost(tensor.host_format, values, count, data.data(), first);
    }
  });
  return data;
}

}  // namespace spyre::cosim
