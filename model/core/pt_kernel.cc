// SPDX-License-Identifier: Apache-2.0
#include "model/core/pt_kernel.h"

#include <algorithm>
#include <cstring>

#include "model/contract/dlf_bits.h"
#include "model/contract/formats.h"

#define SPYRE_INLINE inline __attribute__((always_inline))

namespace spyre::model {
namespace {

constexpr int kLanes = 64;  // of a stick
constexpr int kChunk = kPtChunkSteps;
constexpr int kPieces = kChunk / kPtPieceSteps;
constexpr int kGroup = 4;  // chunks whose weights are widened before rows meet them
constexpr int kPanel = 4;  // blocks of rows whose sums stay in the first-level cache for a group
constexpr int kStickSize = 128;
constexpr int kAccStickSize = 256;

// kWidth lanes in one machine register. Written out: the compiler does not take a dependent
// vector_size for built-in conversions.
template <int kWidth>
struct Registers;
#define SPYRE_REGISTERS(width)                                     \
  template <>                                                      \
  struct Registers<width> {                                        \
    typedef float Float __attribute__((vector_size((width)*4)));   \
    typedef int32_t Int __attribute__((vector_size((width)*4)));   \
    typedef int16_t Short __attribute__((vector_size((width)*2))); \
  }
SPYRE_REGISTERS(4);
SPYRE_REGISTERS(8);
SPYRE_REGISTERS(16);
#undef SPYRE_REGISTERS

template <int kWidth>
struct Lanes {
  using Float = typename Registers<kWidth>::Float;
  using Int = typename Registers<kWidth>::Int;
  using Short = typename Registers<kWidth>::Short;

  static SPYRE_INLINE void Load(const void* source, Float& value) {
    std::memcpy(&value, source, sizeof value);
  }
  static SPYRE_INLINE void Store(void* destination, const Float& value) {
    std::memcpy(destination, &value, sizeof value);
  }

  // SEN169 to fp32. Sign extension puts the sign where it belongs and zero loses its sign: no sum
  // that starts at +0 can tell.
  static SPYRE_INLINE void Widen(const uint8_t* source, Float& value) {
    Short code;
    std::memcpy(&code, source, sizeof code);
    const Int bits =
        (__builtin_convertvector(code, Int) << kDlfToFloatShift) & static_cast<int32_t>(0x9FFFC000);
    const Int magnitude = bits & 0x1FFFC000;
    Int result = bits + static_cast<int32_t>(kDlfToFloatRebias << 23);
    result = magnitude == 0 ? Int{} : result;
    result = magnitude == 0x1FFFC000 ? Int{} + static_cast<int32_t>(kFloatNanBits) : result;
    std::memcpy(&value, &result, sizeof value);
  }
};

template <int kWidth>
SPYRE_INLINE void WidenStick(const uint8_t* source, float* destination) {
  for (int lane = 0; lane < kLanes; lane += kWidth) {
    typename Lanes<kWidth>::Float value;
    Lanes<kWidth>::Widen(source + lane * 2, value);
    Lanes<kWidth>::Store(destination + lane, value);
  }
}

// Where a row's sums of one stick of lanes are.
struct Sums {
  uint8_t* at;
  bool add;  // to what is there
};

// Weights of one chunk for some lanes: in kWiden form SEN169 sticks in pieces (met once, so widened
// on the fly), else fp32 rows of 64 in one piece.
template <bool kWiden>
struct Weights {
  const uint8_t* piece[kWiden ? kPieces : 1];
};

// One chunk for kRows rows and kColumns registers of lanes.
template <int kWidth, int kColumns, int kRows, bool kWiden>
SPYRE_INLINE void Tile(const float* const* a, const Weights<kWiden>& b, int lane, int steps,
                       const Sums* sums) {
  using L = Lanes<kWidth>;
  constexpr int kElement = kWiden ? 2 : 4;
  constexpr int kPieceSteps = kWiden ? kPtPieceSteps : kChunk;
  typename L::Float sum[kRows][kColumns] = {};
  const float* row_a[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) row_a[r] = a[r];
  for (int first = 0; first < steps; first += kPieceSteps) {
    const uint8_t* const piece = b.piece[first / kPieceSteps] + lane * kElement;
    const int last = std::min(steps, first + kPieceSteps);
    for (int step = first; step < last; ++step) {
      typename L::Float row[kColumns];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const uint8_t* source = piece + ((step - first) * kLanes + c * kWidth) * kElement;
        if constexpr (kWiden) {
          L::Widen(source, row[c]);
        } else {
          L::Load(source, row[c]);
        }
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float x = row_a[r][step];
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) sum[r][c] += x * row[c];
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      uint8_t* out = sums[r].at + (lane + c * kWidth) * 4;
      if (sums[r].add) {
        typename L::Float old;
        L::Load(out, old);
        sum[r][c] += old;
      }
      L::Store(out, sum[r][c]);
    }
  }
}

// One chunk for `rows` <= kMaxRows rows and all 64 lanes.
template <int kWidth, int kColumns, int kMaxRows, bool kWiden>
SPYRE_INLINE void Rows(int rows, const float* const* a, const Weights<kWiden>& b, int steps,
                       const Sums* sums) {
  for (int lane = 0; lane < kLanes; lane += kWidth * kColumns) {
    switch (rows) {
#define SPYRE_ROWS(count)                                             \
  case (count):                                                       \
    if constexpr ((count) <= kMaxRows) {                              \
      Tile<kWidth, kColumns, count, kWiden>(a, b, lane, steps, sums); \
    }                                                                 \
    break
      SPYRE_ROWS(1);
      SPYRE_ROWS(2);
      SPYRE_ROWS(3);
      SPYRE_ROWS(4);
      SPYRE_ROWS(5);
      SPYRE_ROWS(6);
#undef SPYRE_ROWS
      default:
        break;
    }
  }
}

// Memory of a thread that never shrinks.
struct Scratch {
  std::vector<Sums> sums;  // of each row
  alignas(64) float b[kGroup][kChunk * kLanes];
};

// Where the sums of `stick` are; the first chunk of rows that do not accumulate replaces them.
inline void FindSums(const PtStack& stack, const PtPart& part, int stick, bool first,
                     std::vector<Sums>& sums) {
  sums.clear();
  for (int r = part.first_row; r < part.last_row; ++r) {
    const PtRow& row = stack.rows[r];
    sums.push_back({row.acc + stick * row.acc_nstick_stride, !first || row.accumulate});
  }
}

inline void ZeroSums(const PtStack& stack, const PtPart& part) {
  for (int r = part.first_row; r < part.last_row; ++r) {
    const PtRow& row = stack.rows[r];
    for (int stick = part.first_stick; stick < part.last_stick && !row.accumulate; ++stick)
      std::memset(row.acc + stick * row.acc_nstick_stride, 0, kAccStickSize);
  }
}

template <int kWidth>
SPYRE_INLINE void WidenWeights(const PtChunk& chunk, const uint8_t* const* pieces, float* out) {
  for (int step = 0; step < chunk.steps; ++step, out += kLanes) {
    const uint8_t* const piece = pieces[step / kPtPieceSteps];
    WidenStick<kWidth>(piece + step % kPtPieceSteps * kStickSize, out);
  }
}

// The whole product. Weights are widened once for all rows into a scratch, a group of chunks at a
// time; a few blocks of rows then meet the whole group while their sums are in the first-level
// cache.
template <int kWidth, int kColumns, int kMaxRows>
SPYRE_INLINE void Multiply(const PtStack& stack, const PtPart& part) {
  thread_local Scratch scratch;
  const int rows = part.last_row - part.first_row;
  if (stack.chunk_count == 0) ZeroSums(stack, part);
  // Blocks of nearly equal height: a short last block would leave the multipliers waiting.
  const int blocks = (rows + kMaxRows - 1) / kMaxRows;
  const auto edge = [&](int block) {
    return static_cast<int>(static_cast<int64_t>(rows) * block / blocks);
  };
  const auto add_from_now_on = [](int first, int last) {
    for (int r = first; r < last; ++r) scratch.sums[static_cast<size_t>(r)].add = true;
  };
  for (int group = 0; group < stack.chunk_count; group += kGroup) {
    const PtChunk* const chunks = stack.chunks + group;
    const int count = std::min(kGroup, stack.chunk_count - group);
    for (int stick = part.first_stick; stick < part.last_stick; ++stick) {
      const auto pieces = [&](const PtChunk& chunk) {
        return chunk.weights + static_cast<int64_t>(stick) * chunk.stick_pieces;
      };
      FindSums(stack, part, stick, group == 0, scratch.sums);
      const Sums* const sums = scratch.sums.data();
      if (blocks == 1) {
        for (int c = 0; c < count; ++c) {
          Weights<true> weights{};
          for (int piece = 0; piece * kPtPieceSteps < chunks[c].steps; ++piece)
            weights.piece[piece] = pieces(chunks[c])[piece];
          Rows<kWidth, kColumns, kMaxRows, true>(rows, chunks[c].a + part.first_row, weights,
                                                 chunks[c].steps, sums);
          add_from_now_on(0, rows);
        }
        continue;
      }
      for (int c = 0; c < count; ++c)
        WidenWeights<kWidth>(chunks[c], pieces(chunks[c]), scratch.b[c]);
      for (int panel = 0; panel < blocks; panel += kPanel) {
        const int last_block = std::min(blocks, panel + kPanel);
        for (int c = 0; c < count; ++c) {
          const Weights<false> weights{{reinterpret_cast<const uint8_t*>(scratch.b[c])}};
          for (int block = panel; block < last_block; ++block) {
            Rows<kWidth, kColumns, kMaxRows, false>(edge(block + 1) - edge(block),
                                                    chunks[c].a + part.first_row + edge(block),
                                                    weights, chunks[c].steps, sums + edge(block));
          }
          add_from_now_on(edge(panel), edge(last_block));
        }
      }
    }
  }
}

// Register blocks: rows x columns accumulators, one row of b and a broadcast must fit the register
// file (32 of 16 lanes, 16 of 8 lanes, 16 of 4 lanes).
#define SPYRE_PT_WIDEN(name, attribute, width) \
  attribute void name(const uint8_t* stick, float* values) { WidenStick<width>(stick, values); }
#define SPYRE_PT_MULTIPLY(name, attribute, width, columns, rows)  \
  attribute void name(const PtStack& stack, const PtPart& part) { \
    Multiply<width, columns, rows>(stack, part);                  \
  }
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
#define SPYRE_PT_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
SPYRE_PT_WIDEN(WidenAvx512, SPYRE_PT_AVX512, 16)
SPYRE_PT_MULTIPLY(MultiplyAvx512, SPYRE_PT_AVX512, 16, 4, 6)
#undef SPYRE_PT_AVX512
#define SPYRE_PT_AVX2 __attribute__((target("avx2,fma")))
SPYRE_PT_WIDEN(WidenAvx2, SPYRE_PT_AVX2, 8)
SPYRE_PT_MULTIPLY(MultiplyAvx2, SPYRE_PT_AVX2, 8, 2, 6)
#undef SPYRE_PT_AVX2
#endif
SPYRE_PT_WIDEN(WidenBaseline, , 4)
SPYRE_PT_MULTIPLY(MultiplyBaseline, , 4, 2, 4)
#undef SPYRE_PT_MULTIPLY
#undef SPYRE_PT_WIDEN

}  // namespace

const std::vector<PtKernel>& PtKernels() {
  static const std::vector<PtKernel> kernels = [] {
    std::vector<PtKernel> all;
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      all.push_back({"avx512", WidenAvx512, MultiplyAvx512});
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      all.push_back({"avx2", WidenAvx2, MultiplyAvx2});
    }
#endif
    all.push_back({"baseline", WidenBaseline, MultiplyBaseline});
    return all;
  }();
  return kernels;
}

void PtMatmulScalar(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,
                    int64_t a_kstick_stride, int64_t b_nstick_stride, int64_t acc_nstick_stride,
                    bool accumulate) {
  const auto element = [](const uint8_t* address) {
    uint16_t code;
    std::memcpy(&code, address, sizeof code);
    return DlfToFloat(code);
  };
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      uint8_t* out = acc + j / kLanes * acc_nstick_stride + i * kAccStickSize + j % kLanes * 4;
      float total = 0;
      if (accumulate) std::memcpy(&total, out, sizeof total);
      for (int first = 0; first < k; first += kChunk) {
        float sum = 0;
        for (int kk = first; kk < std::min(k, first + kChunk); ++kk) {
          sum += element(a + kk / kChunk * a_kstick_stride + i * kStickSize + kk % kChunk * 2) *
                 element(b + j / kLanes * b_nstick_stride + kk * kStickSize + j % kLanes * 2);
        }
        total += sum;
      }
      std::memcpy(out, &total, sizeof total);
    }
  }
}

}  // namespace spyre::model
