// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/operand_runs.h"

#include <algorithm>

#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::cosim {
namespace {

using compiler::kStick;
using compiler::kStickElements;
using model::MemoryRuns;

constexpr uint64_t kStickBytes = kStick;

// The instruction's rows are those with the smaller stride.
bool PlanesFirst(const BoxSide& rows, const BoxSide& planes) {
  return planes.stride > 0 && planes.stride < rows.stride;
}

uint64_t Sticks(uint64_t elements) { return (elements + kStickElements - 1) / kStickElements; }

}  // namespace

MemoryRuns LoadRuns(BoxSide rows, BoxSide planes) {
  // Rows that follow each other in device memory alone are loaded together, and put in their
  // places.
  if (PlanesFirst(rows, planes) && planes.stride == kStick && planes.count > 1)
    return {planes.count * kStickBytes, 0};
  return StoreRuns(rows, planes);
}

MemoryRuns StoreRuns(BoxSide rows, BoxSide planes) {
  if (PlanesFirst(rows, planes) && rows.count > 1)
    return {kStickBytes, planes.count > 1 ? static_cast<uint64_t>(planes.stride) : 0};
  if (rows.count > 1 && rows.stride != kStick)
    return {kStickBytes, static_cast<uint64_t>(rows.stride)};
  const uint64_t bytes = rows.count * kStickBytes;
  const bool all = planes.count > 1 && planes.stride == static_cast<int64_t>(bytes);
  return {all ? planes.count * bytes : bytes, 0};
}

uint64_t FarthestHops(const std::vector<uint32_t>& groups) {
  // Clockwise from memory come core 0 and those after it.
  constexpr int kCores = 32;
  int farthest = 0;
  for (const uint32_t group : groups) {
    if (group == 0) continue;
    const int first = __builtin_ctz(group), last = kCores - 1 - __builtin_clz(group);
    farthest = std::max(farthest, std::min(last + 1, kCores - first));
  }
  return static_cast<uint64_t>(farthest);
}

void SetRuns(model::MatmulWork& work, const MatmulStrides& strides) {
  const uint64_t chunk = work.chunk_sticks();
  const uint64_t k = std::min(chunk * kStickElements, std::max<uint64_t>(1, work.k / work.k_parts));
  const BoxSide a_m{work.tile_m, strides.a_m}, b_n{work.tile_n, strides.b_n};
  work.a_runs = strides.a_transposed
                    ? LoadRuns({k, strides.a_k}, {Sticks(work.tile_m), strides.a_m})
                    : LoadRuns(a_m, {chunk, strides.a_k});
  work.b_runs = strides.b_transposed
                    ? LoadRuns(b_n, {chunk, strides.b_k})
                    : LoadRuns({k, strides.b_k}, {Sticks(work.tile_n), strides.b_n});
  work.out_runs = StoreRuns({work.tile_m, strides.out_m}, {Sticks(work.tile_n), strides.out_n});
}

}  // namespace spyre::cosim
