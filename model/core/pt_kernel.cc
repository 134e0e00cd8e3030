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
constexpr int kStickSize = 128;
constexpr int kAccStickSize = 256;

struct Operands {
  uint8_t* acc;
  const uint8_t* a;
  const uint8_t* b;
  int m;
  int n;
  int k;
  int64_t a_kstick_stride;
  int64_t b_nstick_stride;
  int64_t acc_nstick_stride;
  bool accumulate;
};

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

// One chunk for kRows rows and kColumns registers of lanes. kWiden: `b` is SEN169 sticks (used
// once, so widened on the fly), else fp32 rows of 64.
template <int kWidth, int kColumns, int kRows, bool kWiden>
SPYRE_INLINE void Tile(const float* a, const uint8_t* b, int steps, uint8_t* acc, bool add) {
  using L = Lanes<kWidth>;
  typename L::Float sum[kRows][kColumns] = {};
  constexpr int kElement = kWiden ? 2 : 4;
  for (int step = 0; step < steps; ++step) {
    typename L::Float row[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const uint8_t* source = b + (step * kLanes + c * kWidth) * kElement;
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
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      uint8_t* out = acc + r * kAccStickSize + c * kWidth * 4;
      if (add) {
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
SPYRE_INLINE void Rows(int rows, const float* a, const uint8_t* b, int steps, uint8_t* acc,
                       bool add) {
  constexpr int kElement = kWiden ? 2 : 4;
  for (int lane = 0; lane < kLanes; lane += kWidth * kColumns) {
    const uint8_t* b_lane = b + lane * kElement;
    uint8_t* acc_lane = acc + lane * 4;
    switch (rows) {
#define SPYRE_ROWS(count)                                                     \
  case (count):                                                               \
    if constexpr ((count) <= kMaxRows) {                                      \
      Tile<kWidth, kColumns, count, kWiden>(a, b_lane, steps, acc_lane, add); \
    }                                                                         \
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

// The whole product. Per stick of lanes and chunk of k the block of b is widened once into a
// scratch that stays in the first-level cache, then met by all rows of a.
template <int kWidth, int kColumns, int kMaxRows>
SPYRE_INLINE void Multiply(const Operands& o) {
  thread_local std::vector<float> a_scratch;
  alignas(64) thread_local float b_scratch[kChunk * kLanes];

  const int chunks = (o.k + kChunk - 1) / kChunk;
  if (o.m <= 0 || o.n <= 0) return;
  const auto needed = static_cast<size_t>(chunks) * static_cast<size_t>(o.m) * kChunk;
  if (a_scratch.size() < needed) a_scratch.resize(needed);
  float* a_wide = a_scratch.data();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int i = 0; i < o.m; ++i) {
      WidenStick<kWidth>(o.a + chunk * o.a_kstick_stride + static_cast<int64_t>(i) * kStickSize,
                         a_wide + (static_cast<int64_t>(chunk) * o.m + i) * kChunk);
    }
  }

  for (int stick = 0; stick < o.n / kLanes; ++stick) {
    uint8_t* acc = o.acc + stick * o.acc_nstick_stride;
    if (chunks == 0 && !o.accumulate) std::memset(acc, 0, static_cast<size_t>(o.m) * kAccStickSize);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int steps = std::min(kChunk, o.k - chunk * kChunk);
      const bool add = o.accumulate || chunk != 0;
      const uint8_t* b =
          o.b + stick * o.b_nstick_stride + static_cast<int64_t>(chunk) * kChunk * kStickSize;
      const float* a = a_wide + static_cast<int64_t>(chunk) * o.m * kChunk;
      if (o.m <= kMaxRows) {
        Rows<kWidth, kColumns, kMaxRows, true>(o.m, a, b, steps, acc, add);
        continue;
      }
      for (int step = 0; step < steps; ++step) {
        WidenStick<kWidth>(b + step * kStickSize, b_scratch + step * kLanes);
      }
      const auto* b_wide = reinterpret_cast<const uint8_t*>(b_scratch);
      // Blocks of nearly equal height: a short last block would leave the multipliers waiting.
      const int blocks = (o.m + kMaxRows - 1) / kMaxRows;
      for (int block = 0; block < blocks; ++block) {
        const int first = static_cast<int>(static_cast<int64_t>(o.m) * block / blocks);
        const int last = static_cast<int>(static_cast<int64_t>(o.m) * (block + 1) / blocks);
        Rows<kWidth, kColumns, kMaxRows, false>(last - first, a + first * kChunk, b_wide, steps,
                                                acc + static_cast<int64_t>(first) * kAccStickSize,
                                                add);
      }
    }
  }
}

// Register blocks: rows x columns accumulators, one row of b and a broadcast must fit the register
// file (32 of 16 lanes, 16 of 8 lanes, 16 of 4 lanes).
#define SPYRE_PT_FORM(name, attribute, width, columns, rows)                                       \
  attribute void name(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,       \
                      int64_t a_kstick_stride, int64_t b_nstick_stride, int64_t acc_nstick_stride, \
                      bool accumulate) {                                                           \
    Multiply<width, columns, rows>(                                                                \
        {acc, a, b, m, n, k, a_kstick_stride, b_nstick_stride, acc_nstick_stride, accumulate});    \
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

void PtMatmul(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,
              int64_t a_kstick_stride, int64_t b_nstick_stride, int64_t acc_nstick_stride,
              bool accumulate) {
  static const PtMatmulFn best = PtVariants().front().run;
  best(acc, a, b, m, n, k, a_kstick_stride, b_nstick_stride, acc_nstick_stride, accumulate);
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
