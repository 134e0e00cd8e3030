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
constexpr uint64_t kAccStickBytes = 256;
}  // namespace

void PtMatmulNarrow(DataFormat format, const PtOperands& operands) {
  const auto per_stick = static_cast<uint64_t>(ElementsPerStick(format));
  const auto widen = [&](const uint8_t* stick, float* out) {
    ConvertElements(format, stick, DataFormat::kIeeeFp32, out, per_stick);
  };
  thread_local std::vector<float> weights;  // one chunk of k, one stick of columns
  thread_local std::vector<float> row;
  weights.resize(kChunk * per_stick);
  row.resize(per_stick);

  for (uint64_t column = 0; column < operands.n; column += per_stick) {
    for (uint64_t chunk = 0; chunk < std::max<uint64_t>(operands.k, 1); chunk += kChunk) {
      const uint64_t steps = std::min(kChunk, operands.k - std::min(chunk, operands.k));
      for (uint64_t step = 0; step < steps; ++step) {
        widen(operands.b + column / per_stick * operands.b_nstick_stride +
                  (chunk + step) * kStickBytes,
              &weights[step * per_stick]);
      }
      for (uint64_t i = 0; i < operands.m; ++i) {
        if (steps > 0)
          widen(operands.a + chunk / per_stick * operands.a_kstick_stride + i * kStickBytes,
                row.data());
        for (uint64_t lane = 0; lane < per_stick; lane += kLanes) {
          float sum[kLanes] = {};
          for (uint64_t step = 0; step < steps; ++step) {
            const float x = row[chunk % per_stick + step];
            const float* w = &weights[step * per_stick + lane];
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
