// SPDX-License-Identifier: Apache-2.0
// Queues, refresh, ECC and mappings of one channel, and what holds for any requests.
#include <algorithm>
#include <random>

#include "base/error.h"
#include "tests/card_choices.h"
#include "tests/unit/model/memory/channel_controller_fixture.h"

namespace spyre::model::channel_rules_test {
namespace {

using namespace test;

using ChannelRulesTest = ChannelControllerTest;

TEST_F(ChannelRulesTest, WritesDrainAtTheHighThresholdDownToTheLowOne) {
  config_.write_high = 4;
  config_.write_low = 2;
  config_.reads_per_turn = 1;
  config_.write_idle_ns = 10'000;
  for (uint64_t i = 0; i < 3; ++i) Write(i, Address(i), 0);
  for (uint64_t i = 10; i < 20; ++i) Read(i, Address(8, 0, 32 * i), 0);
  Finish();
  EXPECT_EQ(Channel().statistics().turnarounds, 1u) << "three are below: they go when idle";
  channel_.reset();
  done_.clear();
  now_ = 0;
  for (uint64_t i = 0; i < 4; ++i) Write(i, Address(i), 0);
  for (uint64_t i = 10; i < 20; ++i) Read(i, Address(8, 0, 32 * i), 0);
  Finish();
  EXPECT_EQ(Channel().statistics().turnarounds, 3u) << "to two writes, to the reads, to the rest";
  EXPECT_LT(done_[10], done_[11]);
  EXPECT_GT(done_[11] - done_[10], kWl + kCcdL + kWtrS) << "the writes went between";
  EXPECT_EQ(done_[19] - done_[11], 8 * kCcdL) << "then all reads";
}

TEST_F(ChannelRulesTest, AFullWriteQueueHoldsWritesBack) {
  config_.write_queue = 2;
  config_.write_high = 2;
  config_.write_low = 0;
  for (uint64_t i = 0; i < 3; ++i) Write(i, Address(0, 0, 32 * i));
  Finish();
  EXPECT_EQ(done_[1], 0u);
  EXPECT_EQ(done_[2], kRcd) << "a place is free when the first has its column command";
}

// In-line ECC, one bank group's slots: the check bytes of both writes are read in one go, one burst
// each, before the bus turns to the writes.
TEST_F(ChannelRulesTest, WritesOfPartOfAGranuleReadTheOldCheckBytesFirst) {
  config_.ecc = Ecc::kInline;
  config_.ecc_word_bytes = 128;
  config_.ecc_granule_bytes = 256;
  const auto busy = [&](EccPartialWrite partial, uint32_t bytes) {
    config_.ecc_partial_write = partial;
    channel_.reset();
    done_.clear();
    now_ = 0;
    for (uint64_t i = 0; i < 2; ++i) Write(i, 256 * i, 0, bytes);
    Read(2, 1024, kLater, 256);
    Finish();
    return Channel().statistics();
  };
  const ChannelStatistics masked = busy(EccPartialWrite::kMasked, 128);
  const ChannelStatistics read_first = busy(EccPartialWrite::kReadFirst, 128);
  EXPECT_EQ(masked.check_ps, (2 + 2) * kCcdS) << "a word each, and the two words of the read";
  EXPECT_EQ(read_first.check_ps, masked.check_ps + 2 * kCcdS);
  EXPECT_EQ(read_first.busy_ps, masked.busy_ps + 2 * kCcdS);
  EXPECT_GT(read_first.lost_turnaround_ps, masked.lost_turnaround_ps);
  EXPECT_EQ(busy(EccPartialWrite::kReadFirst, 256).busy_ps,
            busy(EccPartialWrite::kMasked, 256).busy_ps)
      << "whole granules need no old bytes";
  config_.ecc = Ecc::kNone;
  EXPECT_EQ(busy(EccPartialWrite::kReadFirst, 128).check_ps, 0u);
}

TEST_F(ChannelRulesTest, AllBankRefreshStopsTheChannelAndClosesRows) {
  config_.refresh = model::RefreshKind::kAllBank;
  const uint64_t due = 3'906'250;  // tREFI at the next clock
  Read(1, Address(0), 3'000'000);
  Read(2, Address(0), due);
  Finish();
  const uint64_t end = due + 21'250 + 280'000;
  EXPECT_EQ(done_[2], end + kReadMiss);
  EXPECT_EQ(Channel().statistics().row_misses, 2u);
  EXPECT_EQ(Channel().statistics().refreshes, 1u);
}

TEST_F(ChannelRulesTest, RefreshNeverDrifts) {
  config_.refresh = model::RefreshKind::kAllBank;
  const uint64_t due = 1000 * 3'906'000ull;  // the thousandth, after a long pause
  Read(1, Address(0), due);
  Finish();
  EXPECT_EQ(done_[1], due + 280'000 + kReadMiss);
  EXPECT_EQ(Channel().statistics().refreshes, 1000u);
}

TEST_F(ChannelRulesTest, PerBankRefreshStopsOnlyItsTwoBanks) {
  config_.refresh = model::RefreshKind::kPerBank;
  const uint64_t due = 488'750;  // tREFI / 8 at the next clock
  for (const uint64_t bank : {0, 2, 1}) Read(bank, Address(bank), 300'000);
  for (const uint64_t bank : {0, 2, 1}) Read(10 + bank, Address(bank), due);
  Finish();
  EXPECT_EQ(done_[11], due + kReadHit);
  EXPECT_EQ(done_[10], due + kRp + 140'000 + kReadMiss);
  EXPECT_EQ(done_[12], done_[10] + kRrd) << "the same bank of another group";
}

TEST_F(ChannelRulesTest, RowHitsGoBeforeOlderConflicts) {
  Read(1, Address(0));
  Finish();
  Read(2, Address(0), kLater);
  Read(3, Address(0, 1), kLater);
  Read(4, Address(0, 0, 64), kLater);
  Finish();
  EXPECT_EQ(order_, (std::vector<uint64_t>{1, 2, 4, 3}));
}

TEST_F(ChannelRulesTest, ARequestThatWaitedTooLongGoesBeforeRowHits) {
  config_.starvation_ns = 100;
  Read(0, Address(0), 0);
  Read(1, Address(0, 1), 1'250);
  // A row hit every burst, for ever as far as the waiting one can see.
  for (uint64_t i = 2; i < 200; ++i) Read(i, Address(0, 0, 32 * (i % 64)), i * kCcdL);
  Finish();
  EXPECT_LT(done_[1], 100'000 + 2 * kCcdL + 1'250 + kRtp + kRp + kReadMiss);
  EXPECT_GT(done_[1], 100'000u);
  EXPECT_LT(done_[1], done_[199]);
}

TEST_F(ChannelRulesTest, InLineEccPassesOneBurstMoreForEachOfItsWords) {
  config_.ecc = model::Ecc::kInline;
  config_.ecc_word_bytes = 256;
  Read(1, 0, 0, 256);
  Finish();
  EXPECT_EQ(done_[1], kReadMiss + 8 * kCcdL) << "nine bursts";
  EXPECT_EQ(Channel().statistics().busy_ps, 9 * kCcdS);
  EXPECT_EQ(Channel().statistics().check_ps, kCcdS);
  Read(2, 256, kLater, 32);
  Finish();
  EXPECT_EQ(Channel().statistics().check_ps, 2 * kCcdS) << "for one burst of data too";
  config_.ecc_word_bytes = 128;
  channel_.reset();
  now_ = 0;
  Read(3, 0, 0, 256);
  Finish();
  EXPECT_EQ(done_[3], kReadMiss + 9 * kCcdL) << "ten bursts";
}

TEST_F(ChannelRulesTest, WithInLineEccARowHolds1792BytesOfData) {
  config_.ecc = model::Ecc::kInline;
  Read(1, 0);
  Read(2, 1792 - 32);
  Read(3, 1792);
  Finish();
  EXPECT_EQ(Channel().statistics().row_hits, 1u);
  EXPECT_EQ(Channel().statistics().row_misses, 2u);
}

TEST_F(ChannelRulesTest, AReadOfQueuedWriteBytesIsAnsweredFromTheQueue) {
  config_.write_idle_ns = 1000;
  Write(1, Address(0), 0, 128);
  Read(2, Address(0, 0, 32), 1'250, 64);
  Finish();
  EXPECT_EQ(done_[2], 1'250 + 2 * kCcdS) << "two bursts, no access to the array";
  EXPECT_EQ(Channel().statistics().forwarded, 1u);
}

TEST_F(ChannelRulesTest, AReadOfPartlyQueuedBytesFollowsTheWrite) {
  config_.write_idle_ns = 1000;
  Write(1, Address(0), 0, 64);
  Read(2, Address(0, 0, 32), 1'250, 64);
  Finish();
  const uint64_t last_write_column = 1'250 + kRcd + kCcdL;
  EXPECT_EQ(done_[2], last_write_column + kWl + kCcdL + kWtrL + kCcdL + kReadHit);
}

TEST_F(ChannelRulesTest, AWriteWaitsForQueuedReadsOfItsBytes) {
  Read(1, Address(0), 0, 64);
  Write(2, Address(0, 0, 32), 0, 32);
  Finish();
  EXPECT_EQ(done_[2], kRcd) << "taken when the read has its column command";
}

TEST_F(ChannelRulesTest, ARequestOutsideItsBlockIsRefused) {
  EXPECT_THROW(Read(1, 128, 0, 256), Error);
  EXPECT_THROW(Read(1, 128, 0, 0), Error);
}

TEST_F(ChannelRulesTest, HashedBanksSpreadPowerOfTwoStrides) {
  for (const char* mapping : {"group_interleave", "hash"}) {
    config_.bank_mapping = spyre::test::Named(mapping);
    const BankMap map(config_);
    uint64_t banks = 0;
    for (uint64_t i = 0; i < 64; ++i) banks |= 1ull << map.Locate(i << 17).bank;
    EXPECT_EQ(__builtin_popcountll(banks), mapping == std::string("hash") ? 16 : 1) << mapping;
  }
}

TEST_F(ChannelRulesTest, EveryMappingGivesEachAddressAPlaceOfItsOwn) {
  for (const char* ecc : {"none", "inline"}) {
    for (const char* mapping : {"row_bank_column", "group_interleave", "hash"}) {
      config_.ecc = spyre::test::Named(ecc);
      config_.bank_mapping = spyre::test::Named(mapping);
      const BankMap map(config_);
      std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> places;
      const uint64_t bytes = RowDataBytes(config_) * 16 * 8;  // eight rows of all banks
      for (uint64_t address = 0; address < bytes; address += 256) {
        const BankAddress at = map.Locate(address);
        EXPECT_LT(at.row, 8u);
        EXPECT_LT(at.column, RowDataBytes(config_));
        EXPECT_TRUE(places.emplace(std::tuple(at.bank, at.row, at.column), address).second)
            << address << " " << mapping;
      }
    }
  }
}

// Random traffic under every policy: every request completes once, bytes are conserved, and the bus
// never passes more than its peak.
TEST_F(ChannelRulesTest, EveryRequestCompletesOnceAndNoFasterThanThePeak) {
  for (const char* refresh : {"all_bank", "per_bank", "none"}) {
    for (const char* ecc : {"inline", "none"}) {
      config_ = MemoryConfig();
      config_.refresh = spyre::test::Named(refresh);
      config_.ecc = spyre::test::Named(ecc);
      channel_.reset();
      done_.clear();
      now_ = 0;
      std::mt19937_64 random(169);
      uint64_t bytes = 0;
      uint64_t arrival = 0;
      std::map<uint64_t, uint64_t> arrivals;
      constexpr uint64_t kRequests = 20'000;
      for (uint64_t id = 0; id < kRequests; ++id) {
        arrival += random() % 30'000;
        const uint64_t block = random() % 2 != 0 ? id : random() % 512;
        const uint32_t size = 32u << random() % 4;
        const uint64_t address = block * 256 + random() % (256 / size) * size;
        bytes += size;
        arrivals[id] = arrival;
        if (random() % 3 == 0) {
          Write(id, address, arrival, size);
        } else {
          Read(id, address, arrival, size);
        }
      }
      Finish();
      EXPECT_EQ(done_.size(), kRequests) << refresh;
      const ChannelStatistics statistics = Channel().statistics();
      EXPECT_EQ(statistics.bytes(), bytes);
      EXPECT_EQ(statistics.requests(), kRequests);
      EXPECT_EQ(statistics.row_hits + statistics.row_misses + statistics.row_conflicts +
                    statistics.forwarded,
                kRequests);
      uint64_t last = now_;
      for (const auto& [id, time] : done_) {
        EXPECT_GE(time, arrivals[id]);
        last = std::max(last, time);
      }
      EXPECT_LE(statistics.busy_ps, last) << "the bus passes one thing at a time";
      const uint64_t accounted = statistics.busy_ps + statistics.lost_row_ps +
                                 statistics.lost_bank_group_ps + statistics.lost_turnaround_ps +
                                 statistics.lost_refresh_ps + statistics.idle_ps;
      // A turn that reads old check bytes counts whole, with what of it is behind the last answer.
      EXPECT_LE(accounted, last + 9 * kCcdL + config_.t_rtw_gap_ps)
          << "every picosecond has one cause";
      EXPECT_GT(accounted + 1'000'000, last);
    }
  }
}

TEST_F(ChannelRulesTest, StreamsOfRowHitsReachThePeak) {
  // All 16 banks open, then 64 row hits over four groups at once.
  for (uint64_t bank = 0; bank < 16; ++bank) Read(bank, Address(bank));
  Finish();
  for (uint64_t i = 0; i < 64; ++i) Read(100 + i, Address(i % 16, 0, 256), kLater, 256);
  Finish();
  uint64_t last = 0;
  for (const auto& [id, time] : done_) last = std::max(last, time);
  EXPECT_EQ(last, kLater + (64 * 8 - 1) * kCcdS + kReadHit) << "every slot of the bus is used";
}

TEST_F(ChannelRulesTest, TheSameRequestsGiveTheSameTimesHoweverOftenAdvanceIsCalled) {
  config_ = MemoryConfig();
  std::vector<MemoryRequest> requests;
  std::mt19937_64 random(7);
  for (uint64_t id = 0; id < 2000; ++id)
    requests.push_back({id, id * 10'000, random() % 4096 * 256, 256, random() % 2 == 0});
  ChannelController at_once(config_);
  ChannelController often(config_);
  for (const MemoryRequest& request : requests) {
    at_once.Submit(request);
    often.Submit(request);
  }
  std::vector<MemoryCompletion> first, second;
  at_once.Advance(100'000'000'000, first);
  for (uint64_t now = 0; now < 30'000'000; now += 777) often.Advance(now, second);
  often.Advance(100'000'000'000, second);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].id, second[i].id);
    EXPECT_EQ(first[i].done_ps, second[i].done_ps);
  }
}

}  // namespace
}  // namespace spyre::model::channel_rules_test
