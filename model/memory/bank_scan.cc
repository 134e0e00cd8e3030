// SPDX-License-Identifier: Apache-2.0
#include "model/memory/bank_scan.h"

#include "base/vector_clones.h"

namespace spyre::model {
namespace {

// By value: std::max chooses an address, which the compiler turns into a branch.
int64_t LaterOf(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t EarlierOf(int64_t a, int64_t b) { return a < b ? a : b; }

// One for each lane, and of those the smallest.
int64_t Smallest(const GroupTimes& lanes) {
  int64_t smallest = lanes[0];
  for (const int64_t lane : lanes) smallest = EarlierOf(smallest, lane);
  return smallest;
}

}  // namespace

SPYRE_VECTOR_CLONES
int64_t EarliestReady(const BankCandidates& candidates, const GroupTimes& groups, size_t banks) {
  GroupTimes earliest;
  earliest.fill(BankCandidates::kNone);
  for (size_t first = 0; first < banks; first += kMaxBankGroups) {
    for (size_t lane = 0; lane < kMaxBankGroups; ++lane) {
      const int64_t ready = LaterOf(candidates.from[first + lane], groups[lane]);
      earliest[lane] = EarlierOf(earliest[lane], ready);
    }
  }
  return Smallest(earliest);
}

SPYRE_VECTOR_CLONES
int64_t OldestReady(const BankCandidates& candidates, const GroupTimes& groups, size_t banks,
                    int64_t column) {
  GroupTimes oldest;
  oldest.fill(BankCandidates::kNone);
  for (size_t first = 0; first < banks; first += kMaxBankGroups) {
    for (size_t lane = 0; lane < kMaxBankGroups; ++lane) {
      const int64_t ready = LaterOf(candidates.from[first + lane], groups[lane]);
      const int64_t key = ready <= column ? candidates.key[first + lane] : BankCandidates::kNone;
      oldest[lane] = EarlierOf(oldest[lane], key);
    }
  }
  return Smallest(oldest);
}

}  // namespace spyre::model
