// SPDX-License-Identifier: Apache-2.0
#include "model/core/vector_shuffle.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "model/contract/formats.h"
#include "model/contract/memory_map.h"

namespace spyre::model {
namespace {

constexpr size_t kBlock = 64;       // rows and columns of a transposed block
constexpr size_t kMaxNarrow = 128;  // elements of a narrow stick: two wide ones

struct Rule {
  DataFormat from, to;
  size_t alternate;  // elements taken from one wide stick before the other
  bool widening;
  bool affine;
};

constexpr Rule kRules[] = {
    {DataFormat::kSen169Fp16, DataFormat::kIeeeFp32, 4, true, false},
    {DataFormat::kIeeeFp32, DataFormat::kSen169Fp16, 4, false, false},
    {DataFormat::kSen143Fp8, DataFormat::kSen169Fp16, 8, true, false},
    {DataFormat::kSen169Fp16, DataFormat::kSen143Fp8, 8, false, false},
    {DataFormat::kSen169Fp16, DataFormat::kSen143Fp8, 1, false, false},
    {DataFormat::kSen169Fp16, DataFormat::kSenInt8, 8, false, true},
    {DataFormat::kSen169Fp16, DataFormat::kSenInt8, 1, false, true},
};

const Rule& RuleOf(ConvertFn fn) {
  const auto index = static_cast<size_t>(fn);
  if (index >= std::size(kRules)) {
    throw BadInput("conversion {} of the vector unit is unknown; the largest is {}", index,
                   std::size(kRules) - 1);
  }
  return kRules[index];
}

// Where element i of the narrow stick is among the 2 x count/2 wide ones, in order.
size_t WideIndex(size_t i, size_t alternate, size_t count) {
  const size_t stick = i / alternate % 2;
  return stick * (count / 2) + i / (2 * alternate) * alternate + i % alternate;
}

using Values = std::array<float, kMaxNarrow>;

void Load(DataFormat format, const void* from, float* values, size_t count) {
  ConvertElements(format, from, DataFormat::kIeeeFp32, values, count);
}
void Store(DataFormat format, const float* values, void* to, size_t count) {
  ConvertElements(DataFormat::kIeeeFp32, values, format, to, count);
}

}  // namespace

void TransposeBlock(void* dst, size_t dst_stick, const void* a, size_t a_stick) {
  uint16_t in[kBlock][kBlock];
  for (size_t row = 0; row < kBlock; ++row)
    std::memcpy(in[row], static_cast<const uint8_t*>(a) + row * a_stick, kStickBytes);
  for (size_t column = 0; column < kBlock; ++column) {
    uint16_t out[kBlock];
    for (size_t row = 0; row < kBlock; ++row) out[row] = in[row][column];
    std::memcpy(static_cast<uint8_t*>(dst) + column * dst_stick, out, sizeof out);
  }
}

bool IsWidening(ConvertFn fn) { return RuleOf(fn).widening; }

void ConvertStick(ConvertFn fn, void* dst, const void* a, size_t pair, float scale, float shift) {
  const Rule& rule = RuleOf(fn);
  const auto count = static_cast<size_t>(ElementsPerStick(rule.widening ? rule.from : rule.to));
  Values narrow;
  Values wide;
  if (rule.widening) {
    Load(rule.from, a, narrow.data(), count);
    for (size_t i = 0; i < count; ++i) wide[WideIndex(i, rule.alternate, count)] = narrow[i];
    Store(rule.to, wide.data(), dst, count / 2);
    Store(rule.to, wide.data() + count / 2, static_cast<uint8_t*>(dst) + pair, count / 2);
    return;
  }
  Load(rule.from, a, wide.data(), count / 2);
  Load(rule.from, static_cast<const uint8_t*>(a) + pair, wide.data() + count / 2, count / 2);
  for (size_t i = 0; i < count; ++i) {
    const float value = wide[WideIndex(i, rule.alternate, count)];
    narrow[i] = rule.affine ? value * scale + shift : value;
  }
  Store(rule.to, narrow.data(), dst, count);
}

}  // namespace spyre::model
