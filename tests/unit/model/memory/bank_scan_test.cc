// SPDX-License-Identifier: Apache-2.0
#include "model/memory/bank_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace spyre::model::bank_scan_test {
namespace {

TEST(BankScan, NothingIsReadyWithoutRequests) {
  const BankCandidates none;
  const ReadyBanks ready = FindReady(none, GroupTimes{}, 16, 1000);
  EXPECT_EQ(ready.first_ps, BankCandidates::kNone);
  EXPECT_EQ(ready.oldest, BankCandidates::kNone);
}

TEST(BankScan, FindsTheFirstReadyTimeAndTheOldestOfThoseThatAreReadyThen) {
  std::mt19937_64 random(169);
  for (int round = 0; round < 2000; ++round) {
    const size_t groups = size_t{1} << random() % 4;
    const size_t banks = groups << random() % 4;
    GroupTimes group_from;
    for (size_t i = 0; i < kMaxBankGroups; ++i)
      group_from[i] =
          i < groups ? static_cast<int64_t>(random() % 100) : group_from[i & (groups - 1)];
    BankCandidates candidates;
    candidates.from[random() % banks] = 50;  // one at least
    for (size_t bank = 0; bank < banks; ++bank) {
      if (random() % 3 != 0) candidates.from[bank] = static_cast<int64_t>(random() % 100);
      candidates.key[bank] = static_cast<int64_t>(random() % 1000 * kMaxBanks + bank);
    }
    const auto ready = [&](size_t bank) {
      return std::max(candidates.from[bank], group_from[bank % groups]);
    };
    int64_t first = BankCandidates::kNone;
    for (size_t bank = 0; bank < banks; ++bank) first = std::min(first, ready(bank));
    for (const int64_t column : {first - 1, first, first + 20}) {
      int64_t oldest = BankCandidates::kNone;
      for (size_t bank = 0; bank < banks; ++bank) {
        if (ready(bank) <= column) oldest = std::min(oldest, candidates.key[bank]);
      }
      const ReadyBanks found = FindReady(candidates, group_from, banks, column);
      ASSERT_EQ(found.first_ps, first);
      ASSERT_EQ(found.oldest, oldest) << "at " << column;
    }
  }
}

}  // namespace
}  // namespace spyre::model::bank_scan_test
