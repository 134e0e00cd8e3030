// SPDX-License-Identifier: Apache-2.0
#include <contract/registers.h>

#include <algorithm>

#include "model/rtl/pt_array.h"

namespace spyre::model {

namespace {
constexpr uint64_t kStickColumns = kPtColumns * kPtLanes;
constexpr uint64_t kPasses = kPtChunk / kPtRows;

uint64_t CeilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
}  // namespace

std::vector<PtShare> PtShares(uint64_t m, uint64_t n, uint64_t corelets, uint64_t corelet) {
  std::vector<PtShare> shares;
  const uint64_t sticks = n / kStickColumns;
  const uint64_t whole = sticks / corelets;
  const uint64_t left = sticks % corelets;
  if (whole > 0 && m > 0) shares.push_back({corelet, corelets, whole, 0, m});
  if (left > 0) {
    const uint64_t rows = CeilDiv(m, corelets / left);
    const uint64_t first = corelet / left * rows;
    if (first < m) {
      shares.push_back({whole * corelets + corelet % left, 1, 1, first, std::min(rows, m - first)});
    }
  }
  return shares;
}

uint64_t PtArrayCycles(uint64_t m, uint64_t n, uint64_t k, uint64_t corelets) {
  const uint64_t chunks = CeilDiv(k, kPtChunk);
  if (chunks == 0) return 0;
  uint64_t cycles = 0;
  uint64_t hidden = 0;  // of the last block: no other is loaded behind its rows
  for (const PtShare& share : PtShares(m, n, corelets, 0)) {
    const uint64_t rows = std::max<uint64_t>(share.rows, kPtAccumulateCycles) * kPasses;
    const uint64_t block = std::max<uint64_t>(rows, kPtChunk);
    cycles += share.sticks * chunks * block;
    hidden = block - rows;
  }
  return cycles == 0 ? 0 : kPtChunk + cycles - hidden + kPtFillDrainCycles;
}

}  // namespace spyre::model
