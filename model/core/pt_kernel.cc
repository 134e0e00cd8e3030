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
constexpr int kChunk = 64;  // k steps added to one fresh accumulator
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
SPYRE_INLINE void Tile(const float* a, const Weights<kWiden>& b, int lane, int steps,
                       const Sums* sums) {
  using L = Lanes<kWidth>;
  constexpr int kElement = kWiden ? 2 : 4;
  constexpr int kPieceSteps = kWiden ? kPtPieceSteps : kChunk;
  typename L::Float sum[kRows][kColumns] = {};
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
        const float x = a[r * kChunk + step];
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
SPYRE_INLINE void Rows(int rows, const float* a, const Weights<kWiden>& b, int steps,
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
  std::vector<float> a;  // [chunk of the group][row][kChunk]
  std::vector<Sums> sums;
  alignas(64) float b[kGroup][kChunk * kLanes];
};

template <int kWidth>
SPYRE_INLINE void WidenRows(const PtStack& stack, const PtPart& part, int chunk, int chunks,
                            Scratch& scratch) {
  const int rows = part.last_row - part.first_row;
  const auto needed = static_cast<size_t>(chunks) * static_cast<size_t>(rows) * kChunk;
  if (scratch.a.size() < needed) scratch.a.resize(needed);
  float* out = scratch.a.data();
  for (int c = 0; c < chunks; ++c) {
    for (int r = part.first_row; r < part.last_row; ++r, out += kChunk)
      WidenStick<kWidth>(stack.rows[r].a + (chunk + c) * stack.rows[r].a_kstick_stride, out);
  }
}

// Where the sums of `stick` are; chunk 0 of a product that does not accumulate replaces them.
inline void FindSums(const PtStack& stack, const PtPart& part, int stick, bool first,
                     Scratch& scratch) {
  Sums* sums = scratch.sums.data();
  for (int r = part.first_row; r < part.last_row; ++r) {
    const PtRow& row = stack.rows[r];
    *sums++ = {row.acc + stick * row.acc_nstick_stride, !first || row.accumulate};
  }
}

inline void ZeroSums(const PtStack& stack, const PtPart& part) {
  for (int r = part.first_row; r < part.last_row; ++r) {
    const PtRow& row = stack.rows[r];
    for (int stick = part.first_stick; stick < part.last_stick && !row.accumulate; ++stick)
      std::memset(row.acc + stick * row.acc_nstick_stride, 0, kAccStickSize);
  }
}

// The whole product. Weights are widened once for all rows into a scratch, a group of chunks at a
// time; a few blocks of rows then meet the whole group while their sums are in the first-level
// cache. A row's chunks are added in increasing order.
template <int kWidth, int kColumns, int kMaxRows>
SPYRE_INLINE void Multiply(const PtStack& stack, const PtPart& part) {
  thread_local Scratch scratch;
  const int rows = part.last_row - part.first_row;
  const int all_chunks = (stack.k + kChunk - 1) / kChunk;
  const int pieces = (stack.k + kPtPieceSteps - 1) / kPtPieceSteps;
  if (all_chunks == 0) ZeroSums(stack, part);
  // Blocks of nearly equal height: a short last block would leave the multipliers waiting.
  const int blocks = (rows + kMaxRows - 1) / kMaxRows;
  const auto edge = [&](int block) {
    return static_cast<int>(static_cast<int64_t>(rows) * block / blocks);
  };
  const auto steps = [&](int chunk) { return std::min(kChunk, stack.k - chunk * kChunk); };
  if (scratch.sums.size() < static_cast<size_t>(rows))
    scratch.sums.resize(static_cast<size_t>(rows));

  for (int group = 0; group < all_chunks; group += kGroup) {
    const int chunks = std::min(kGroup, all_chunks - group);
    WidenRows<kWidth>(stack, part, group, chunks, scratch);
    const auto a = [&](int chunk, int row) {
      return scratch.a.data() + (static_cast<int64_t>(chunk) * rows + row) * kChunk;
    };
    for (int stick = part.first_stick; stick < part.last_stick; ++stick) {
      const uint8_t* const* b = stack.weights + static_cast<int64_t>(stick) * pieces;
      FindSums(stack, part, stick, group == 0, scratch);
      if (blocks == 1) {
        for (int c = 0; c < chunks; ++c) {
          Weights<true> weights{};
          for (int piece = 0; piece * kPtPieceSteps < steps(group + c); ++piece)
            weights.piece[piece] = b[(group + c) * kPieces + piece];
          Rows<kWidth, kColumns, kMaxRows, true>(rows, a(c, 0), weights, steps(group + c),
                                                 scratch.sums.data());
          for (int r = 0; r < rows; ++r) scratch.sums[static_cast<size_t>(r)].add = true;
        }
        continue;
      }
      for (int c = 0; c < chunks; ++c) {
        for (int step = 0; step < steps(group + c); ++step) {
          const uint8_t* piece = b[(group + c) * kPieces + step / kPtPieceSteps];
          WidenStick<kWidth>(piece + step % kPtPieceSteps * kStickSize,
                             scratch.b[c] + step * kLanes);
        }
      }
      for (int panel = 0; panel < blocks; panel += kPanel) {
        const int last_block = std::min(blocks, panel + kPanel);
        for (int c = 0; c < chunks; ++c) {
          const Weights<false> weights{{reinterpret_cast<const uint8_t*>(scratch.b[c])}};
          for (int block = panel; block < last_block; ++block) {
            Rows<kWidth, kColumns, kMaxRows, false>(edge(block + 1) - edge(block),
                                                    a(c, edge(block)), weights, steps(group + c),
                                                    scratch.sums.data() + edge(block));
          }
          for (int r = edge(panel); r < edge(last_block); ++r)
            scratch.sums[static_cast<size_t>(r)].add = true;
        }
      }
    }
  }
}

// Register blocks: rows x columns accumulators, one row of b and a broadcast must fit the register
// file (32 of 16 lanes, 16 of 8 lanes, 16 of 4 lanes).
#define SPYRE_PT_FORM(name, attribute, width, columns, rows)      \
  attribute void name(const PtStack& stack, const PtPart& part) { \
    Multiply<width, columns, rows>(stack, part);                  \
  }
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
SPYRE_PT_FORM(MatmulAvx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))), 16,
              4, 6)
SPYRE_PT_FORM(MatmulAvx2, __attribute__((target("avx2,fma"))), 8, 2, 6)
#endif
SPYRE_PT_FORM(MatmulBaseline, , 4, 2, 4)
#undef SPYRE_PT_FORM

}  // namespace

std::vector<PtVariant> PtVariants() {
  std::vector<PtVariant> variants;
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    variants.push_back({"avx512", MatmulAvx512});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    variants.push_back({"avx2", MatmulAvx2});
  }
#endif
  variants.push_back({"baseline", MatmulBaseline});
  return variants;
}

PtStackFn PtMatmulKernel() {
  static const PtStackFn best = PtVariants().front().run;
  return best;
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
