// SPDX-License-Identifier: Apache-2.0
#include <contract/registers.h>

#include <algorithm>

#include "base/round_up.h"
#include "model/contract/program.h"
#include "model/rtl/pt_array.h"

namespace spyre::model {

namespace {
constexpr uint64_t kStickColumns = kPtColumns * kPtLanes;
constexpr uint64_t kPasses = kPtChunk / kPtRows;

}  // namespace

std::vector<PtShare> PtShares(uint64_t m, uint64_t n, uint64_t corelets, uint64_t corelet,
                              uint8_t flag) {
  std::vector<PtShare> shares;
  const uint64_t sticks = n / kStickColumns;
  if (flag == kMatmulOneCorelet) corelets = 1;
  if (corelet >= corelets || m == 0 || sticks == 0) return {};
  // Sticks that the corelets share by rows: all, or those that are fewer than corelets.
  const uint64_t whole = flag == kMatmulRows ? 0 : sticks / corelets;
  if (whole > 0) shares.push_back({corelet, corelets, whole, 0, m});
  const uint64_t left = sticks - whole * corelets;
  const uint64_t columns = flag == kMatmulRows ? 1 : left;
  if (left > 0) {
    const uint64_t rows = CeilDiv(m, corelets / columns);
    const uint64_t first = corelet / columns * rows;
    if (first < m) {
      shares.push_back({whole * corelets + corelet % columns, columns, left / columns, first,
                        std::min(rows, m - first)});
    }
  }
  return shares;
}

uint64_t PtLoadCycles(const PtShare& share, const PtSharing& sharing) {
  return sharing.flag != 0 && share.stick_step > 1 ? sharing.split_load_cycles : kPtChunk;
}

uint64_t PtArrayCycles(uint64_t m, uint64_t n, uint64_t k, uint64_t corelets,
                       const PtSharing& sharing) {
  const uint64_t chunks = CeilDiv(k, kPtChunk);
  if (chunks == 0) return 0;
  uint64_t cycles = 0;
  uint64_t hidden = 0;  // of the last block: no other is loaded behind its rows
  for (const PtShare& share : PtShares(m, n, corelets, 0, sharing.flag)) {
    const uint64_t rows = std::max<uint64_t>(share.rows, kPtAccumulateCycles) * kPasses;
    const uint64_t load = PtLoadCycles(share, sharing);
    const uint64_t block = sharing.flag != 0 ? load + rows : std::max<uint64_t>(rows, load);
    cycles += share.sticks * chunks * block;
    hidden = block - rows;
  }
  if (cycles == 0) return 0;
  const uint64_t first = sharing.flag != 0 ? 0 : kPtChunk - hidden;
  return first + cycles + kPtFillDrainCycles;
}

}  // namespace spyre::model
