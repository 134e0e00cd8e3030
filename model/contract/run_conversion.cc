// SPDX-License-Identifier: Apache-2.0
// Carries out conversions box by box: RunConversion and RunHostConversion.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/host_conversion.h"
#include "model/contract/stick_layout.h"

namespace spyre {
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
  Runs(const Side& from, const Side& to, ConvertBlock convert, const Dimension& run,
       const Dimension& next)
      : from_(from),
        to_(to),
        convert_(convert),
        run_(run),
        next_(next),
        packed_(from.bits < 8 || to.bits < 8) {}

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
    convert_(in, out, static_cast<size_t>(count));
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
  const ConvertBlock convert_;
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

void RunBox(const StridedBox& box, const Side& from, const Side& to, ConvertBlock convert,
            const uint8_t* source, uint8_t* destination) {
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
  const bool meet = AnyFits(dims, [](const Dimension& d) { return d.to == 0; });
  if (meet) dims.insert(dims.begin() + 1, 2, {1, 0, 0});
  dims.resize(std::max<size_t>(dims.size(), 3), {1, 0, 0});
  const Runs runs(from, to, convert, dims[0], dims[1]);
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

void RunBoxes(const DataConversion& conversion, int (*bits)(DataFormat), ConvertBlock convert,
              const void* source, void* destination) {
  if (convert == nullptr) {
    throw BadInput("no conversion from {} to {}; see ConvertElements in formats.h for the pairs",
                   FormatName(conversion.source_format), FormatName(conversion.destination_format));
  }
  const Side from{conversion.source_format, bits(conversion.source_format)};
  const Side to{conversion.destination_format, bits(conversion.destination_format)};
  for (const StridedBox& box : conversion.boxes) {
    RunBox(box, from, to, convert, static_cast<const uint8_t*>(source),
           static_cast<uint8_t*>(destination));
  }
}

}  // namespace

void RunConversion(const DataConversion& conversion, const void* source, void* destination) {
  RunBoxes(conversion, BitsPerElement,
           FindConversion(conversion.source_format, conversion.destination_format), source,
           destination);
}

void RunHostConversion(const DataConversion& conversion, const void* source, void* destination) {
  RunBoxes(conversion, HostBitsPerElement,
           FindHostConversion(conversion.source_format, conversion.destination_format), source,
           destination);
}

}  // namespace spyre
