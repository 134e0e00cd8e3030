// SPDX-License-Identifier: Apache-2.0
#include "model/common/pt_narrow.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/contract/memory_map.h"

namespace spyre::model {

namespace {
constexpr uint64_t kLanes = 64;  // of an acc stick
constexpr uint64_t kChunk = 64;  // k steps added to one fresh accumulator
constexpr uint64_t kInTurn =
    8;  // elements of a wide stick before the other's, in a of kSen143Fp8Wt
constexpr uint64_t kAccStickBytes = 256;

// Where element `kk` of a row of sticks is in its stick of a.
uint64_t PlaceInStick(MatmulFn fn, uint64_t kk, uint64_t per_stick) {
  const uint64_t in_stick = kk % per_stick;
  if (fn != MatmulFn::kSen143Fp8Wt) return in_stick;
  const uint64_t wide = per_stick / 2;
  return in_stick % wide / kInTurn * (2 * kInTurn) + in_stick / wide * kInTurn + in_stick % kInTurn;
}
}  // namespace

void PtMatmulNarrow(MatmulFn fn, const PtOperands& operands) {
  const DataFormat format = OperandFormat(fn);
  const auto per_stick = static_cast<uint64_t>(ElementsPerStick(format));
  const auto rows = static_cast<uint64_t>(WeightRows(fn));
  const uint64_t columns = per_stick / rows;
  const auto widen = [&](const uint8_t* stick, float* out) {
    ConvertElements(format, stick, DataFormat::kIeeeFp32, out, per_stick);
  };
  thread_local std::vector<float> weights;  // one chunk of k, one stick of columns
  thread_local std::vector<float> stick;
  weights.resize(kChunk * columns);
  stick.resize(per_stick);

  for (uint64_t column = 0; column < operands.n; column += columns) {
    for (uint64_t chunk = 0; chunk < std::max<uint64_t>(operands.k, 1); chunk += kChunk) {
      const uint64_t steps = std::min(kChunk, operands.k - std::min(chunk, operands.k));
      for (uint64_t step = 0; step < steps; step += rows) {
        widen(operands.b + column / columns * operands.b_nstick_stride +
                  (chunk + step) / rows * kStickBytes,
              stick.data());
        for (uint64_t i = 0; i < per_stick; ++i)
          weights[(step + i % rows) * columns + i / rows] = stick[i];
      }
      for (uint64_t i = 0; i < operands.m; ++i) {
        if (steps > 0)
          widen(operands.a + chunk / per_stick * operands.a_kstick_stride + i * kStickBytes,
                stick.data());
        for (uint64_t lane = 0; lane < columns; lane += kLanes) {
          float sum[kLanes] = {};
          for (uint64_t step = 0; step < steps; ++step) {
            const float x = stick[PlaceInStick(fn, chunk + step, per_stick)];
            const float* w = &weights[step * columns + lane];
            for (uint64_t j = 0; j < kLanes; ++j) sum[j] += x * w[j];
          }
          uint8_t* const out = operands.acc +
                               (column + lane) / kLanes * operands.acc_nstick_stride +
                               i * kAccStickBytes;
          float total[kLanes] = {};
          if (operands.accumulate || chunk > 0) std::memcpy(total, out, sizeof total);
          for (uint64_t j = 0; j < kLanes; ++j) total[j] += sum[j];
          std::memcpy(out, total, sizeof total);
        }
      }
    }
  }
}

}  // namespace spyre::model
