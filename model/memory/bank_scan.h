// SPDX-License-Identifier: Apache-2.0
// The scan over all banks of a channel that finds the next column command. Without branches, since
// which bank is ready is not predictable, and compiled once per instruction set. Used by the
// channel controller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::model {

inline constexpr size_t kMaxBanks = 64;
inline constexpr size_t kMaxBankGroups = 8;

// The request of each bank that would go next. Signed, because that is what vectors compare fast.
struct BankCandidates {
  static constexpr int64_t kNone = INT64_MAX;

  BankCandidates() {
    from.fill(kNone);
    key.fill(kNone);
  }

  // Earliest column command, as far as the bank goes; kNone: no request.
  alignas(64) std::array<int64_t, kMaxBanks> from;
  // Age, and below it the bank, so that the smallest is the oldest bank.
  alignas(64) std::array<int64_t, kMaxBanks> key;
  std::array<uint16_t, kMaxBanks> slot{};  // in the queue
};

// The time from which a bank group allows a column command. Banks go round the groups, so these are
// repeated over all places: that of bank b is at b % kMaxBankGroups.
using GroupTimes = std::array<int64_t, kMaxBankGroups>;

// What a scan finds; kNone: no bank has such a request.
struct ReadyBanks {
  int64_t first_ps;  // the first time at which a bank and its group are ready
  int64_t oldest;    // key of the oldest request that is ready at `column_ps`
};
ReadyBanks FindReady(const BankCandidates& candidates, const GroupTimes& groups, size_t banks,
                     int64_t column_ps);

}  // namespace spyre::model
