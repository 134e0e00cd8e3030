// SPDX-License-Identifier: Apache-2.0
#include "model/memory/bank_scan.h"

#include <cstring>

#include "base/vector_clones.h"

namespace spyre::model {
namespace {

// Written as vectors, because the compiler turns the choices of a loop into branches. Of this
// width, because it splits wider ones into single lanes where the machine has only AVX2.
constexpr size_t kLanes = 4;
typedef int64_t Lanes __attribute__((vector_size(kLanes * sizeof(int64_t))));
static_assert(kMaxBankGroups % kLanes == 0);

}  // namespace

SPYRE_VECTOR_CLONES
ReadyBanks FindReady(const BankCandidates& candidates, const GroupTimes& groups, size_t banks,
                     int64_t column_ps) {
  const Lanes none = Lanes{} + BankCandidates::kNone;
  const Lanes column = Lanes{} + column_ps;
  Lanes first = none;
  Lanes oldest = none;
  for (size_t round = 0; round < banks; round += kMaxBankGroups) {
    for (size_t group = 0; group < kMaxBankGroups; group += kLanes) {
      Lanes from, key, group_from;
      std::memcpy(&from, &candidates.from[round + group], sizeof from);
      std::memcpy(&key, &candidates.key[round + group], sizeof key);
      std::memcpy(&group_from, &groups[group], sizeof group_from);
      const Lanes ready = from > group_from ? from : group_from;
      const Lanes ready_key = ready <= column ? key : none;
      first = first < ready ? first : ready;
      oldest = oldest < ready_key ? oldest : ready_key;
    }
  }
  ReadyBanks found = {first[0], oldest[0]};
  for (size_t lane = 1; lane < kLanes; ++lane) {
    found.first_ps = found.first_ps < first[lane] ? found.first_ps : first[lane];
    found.oldest = found.oldest < oldest[lane] ? found.oldest : oldest[lane];
  }
  return found;
}

}  // namespace spyre::model
