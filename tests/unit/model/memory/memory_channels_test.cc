// SPDX-License-Identifier: Apache-2.0
// Channels that stand as one: how classes come and go, and that nobody sees the difference.
#include "model/memory/memory_channels.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>
#include <vector>

namespace spyre::model {

inline bool operator==(const MemoryCompletion& a, const MemoryCompletion& b) {
  return a.id == b.id && a.done_ps == b.done_ps;
}
inline bool operator==(const MemoryRun& a, const MemoryRun& b) {
  return a.begin_ps == b.begin_ps && a.end_ps == b.end_ps && a.bytes == b.bytes &&
         a.is_write == b.is_write;
}

namespace memory_channels_test {
namespace {

constexpr uint64_t kRound = 16 * 256;  // a block of each channel
constexpr uint64_t kUs = 1'000'000;    // ps

// Channels that stand as one where they can, beside channels that never do. Both get the same
// accesses; after every step both must have told the same.
class Pair {
 public:
  explicit Pair(const MemoryConfig& config, bool traced = true)
      : folded(config), plain(config, Folding::kOff) {
    if (!traced) return;
    folded.OnRuns(LogTo(folded_runs_));
    plain.OnRuns(LogTo(plain_runs_));
  }

  void Submit(const MemoryChannels::Access& access) {
    EXPECT_EQ(folded.Submit(access), plain.Submit(access)) << "next decision, ps";
  }
  uint64_t NextDecisionPs() const {
    EXPECT_EQ(folded.NextDecisionPs(), plain.NextDecisionPs());
    return plain.NextDecisionPs();
  }
  // Returns what has ended.
  std::vector<MemoryCompletion> Advance(uint64_t now_ps) {
    std::vector<MemoryCompletion> by_folded, by_plain;
    folded.Advance(now_ps, by_folded);
    plain.Advance(now_ps, by_plain);
    EXPECT_EQ(by_folded, by_plain) << "accesses, in the order in which they ended";
    EXPECT_EQ(folded_runs_, plain_runs_) << "slices of the trace";
    folded_runs_.clear();
    plain_runs_.clear();
    most_classes_ = std::max(most_classes_, folded.classes());
    merges_ += folded.classes() < classes_ ? 1 : 0;
    classes_ = folded.classes();
    return by_plain;
  }
  // Until nothing is left to do; returns the last decision.
  uint64_t Finish() {
    uint64_t now = 0;
    while (NextDecisionPs() != UINT64_MAX) Advance(now = NextDecisionPs());
    return now;
  }
  void ExpectSameStatistics() const {
    for (size_t i = 0; i < plain.size(); ++i)
      EXPECT_TRUE(folded.statistics(i) == plain.statistics(i)) << "counters of channel " << i;
  }
  size_t most_classes() const { return most_classes_; }
  size_t merges() const { return merges_; }

  MemoryChannels folded, plain;

 private:
  using Runs = std::vector<std::tuple<size_t, std::vector<MemoryRun>, bool>>;
  static MemoryChannels::RunSink LogTo(Runs& log) {
    return [&log](size_t channel, const std::vector<MemoryRun>& runs, bool at_rest) {
      log.emplace_back(channel, runs, at_rest);
    };
  }
  Runs folded_runs_, plain_runs_;
  size_t classes_ = 1, most_classes_ = 1, merges_ = 0;
};

TEST(MemoryChannels, AllChannelsAreOneClassAtFirstAndTheHighestLeads) {
  const MemoryChannels channels{MemoryConfig()};
  EXPECT_EQ(channels.classes(), 1u);
  for (size_t i = 0; i < channels.size(); ++i) EXPECT_EQ(channels.leader(i), 15u);
}

TEST(MemoryChannels, AWholeRoundAsksTheSameOfAllAndSplitsNothing) {
  Pair channels{MemoryConfig()};
  channels.Submit({0, 0, 0, kRound, false});
  channels.Submit({1, 0, 5 * kRound, 3 * kRound, true});
  channels.Finish();
  EXPECT_EQ(channels.folded.classes(), 1u);
  channels.ExpectSameStatistics();
  EXPECT_EQ(channels.folded.statistics(3).read_bytes, 256u);
  EXPECT_EQ(channels.folded.statistics(3).write_bytes, 3 * 256u);
}

TEST(MemoryChannels, AnAccessOfTwoBlocksSplitsTheirChannelsOffEachForItself) {
  Pair channels{MemoryConfig()};
  channels.Submit({0, 0, 3 * 256, 512, false});  // channels 3 and 4 read block 0 of theirs
  channels.Advance(0);
  EXPECT_EQ(channels.folded.classes(), 2u) << "both are asked for the same";
  EXPECT_EQ(channels.folded.leader(3), 4u);
  EXPECT_EQ(channels.folded.leader(4), 4u);
  EXPECT_EQ(channels.folded.leader(5), 15u);
  channels.Submit({1, 0, 3 * 256, 256, false});
  channels.Advance(0);
  EXPECT_EQ(channels.folded.classes(), 3u) << "channel 3 alone";
  EXPECT_EQ(channels.folded.leader(3), 3u);
  EXPECT_EQ(channels.folded.leader(4), 4u);
  channels.Finish();
  channels.ExpectSameStatistics();
  EXPECT_EQ(channels.folded.statistics(3).reads, 2u);
  EXPECT_EQ(channels.folded.statistics(4).reads, 1u);
  EXPECT_EQ(channels.folded.statistics(5).reads, 0u);
}

TEST(MemoryChannels, TheLeaderLeavesNobodyWhenItIsTheOneThatDiffers) {
  Pair channels{MemoryConfig()};
  channels.Submit({0, 0, 15 * 256, 256, false});
  channels.Advance(0);
  EXPECT_EQ(channels.folded.classes(), 2u);
  EXPECT_EQ(channels.folded.leader(15), 15u);
  EXPECT_EQ(channels.folded.leader(0), 14u) << "the others follow the highest of them";
  channels.Finish();
  channels.ExpectSameStatistics();
}

// One bank and one row: the first of the two to be served is the first to end.
TEST(MemoryChannels, AccessesOfTheSameTimeAreServedInTheOrderOfTheirRequesters) {
  for (const uint16_t first : {uint16_t{1}, uint16_t{2}}) {
    Pair channels{MemoryConfig()};
    channels.Submit({0, 100, 0, 256, false, first});
    channels.Submit({1, 100, 0, 128, false, static_cast<uint16_t>(3 - first)});
    channels.Submit({2, 99, 0, 64, false, 7});  // earlier, though in the same cycle of the clock
    std::vector<uint64_t> ended;
    while (channels.NextDecisionPs() != UINT64_MAX) {
      for (const MemoryCompletion& end : channels.Advance(channels.NextDecisionPs()))
        ended.push_back(end.id);
    }
    EXPECT_EQ(ended,
              (first == 1 ? std::vector<uint64_t>{2, 0, 1} : std::vector<uint64_t>{2, 1, 0}));
  }
}

TEST(MemoryChannels, ASplitInTheMiddleOfAnAccessEndsItOnce) {
  Pair channels{MemoryConfig()};
  channels.Submit({0, 0, 0, 8 * kRound, false});
  channels.Submit({1, 10'000, 2 * 256, 128, false});  // while all read their eight blocks
  std::vector<uint64_t> ended;
  while (channels.NextDecisionPs() != UINT64_MAX) {
    for (const MemoryCompletion& end : channels.Advance(channels.NextDecisionPs()))
      ended.push_back(end.id);
  }
  EXPECT_EQ(ended.size(), 2u);
  EXPECT_EQ(channels.most_classes(), 2u);
  channels.ExpectSameStatistics();
}

// The rows that a partial access leaves open are closed by the refresh; what comes then is the same
// for all.
TEST(MemoryChannels, ChannelsBecomeOneClassAgainAtARefreshUnderCommonTraffic) {
  for (const RefreshKind refresh : {RefreshKind::kAllBank, RefreshKind::kPerBank}) {
    MemoryConfig config;
    config.refresh = refresh;
    Pair channels{config};
    channels.Submit({0, 0, 7 * 256, 256, false});
    channels.Submit({1, 0, 9 * 256, 256, true});
    channels.Finish();
    EXPECT_EQ(channels.folded.classes(), 3u);
    // Rounds far enough apart for the channels to come to rest; two refreshes.
    for (uint32_t i = 0; i < 80; ++i) {
      channels.Submit({2 + i, kUs + i * kUs / 10, i * kRound, kRound, false});
    }
    channels.Finish();
    EXPECT_EQ(channels.folded.classes(), 1u);
    EXPECT_EQ(channels.folded.leader(7), 15u);
    channels.ExpectSameStatistics();
    EXPECT_EQ(channels.folded.statistics(7).reads, 81u) << "its own read is not forgotten";
    EXPECT_EQ(channels.folded.statistics(9).writes, 1u);
    EXPECT_EQ(channels.folded.statistics(8).reads, 80u);
    EXPECT_EQ(channels.folded.statistics(8).writes, 0u);
  }
}

TEST(MemoryChannels, ClassesBecomeOneWhileTheirAccessesAreInFlightAndTheseEndOnce) {
  Pair channels{MemoryConfig()};
  channels.Submit({0, 0, 7 * 256, 256, false});
  channels.Finish();
  std::vector<uint64_t> ended;
  uint32_t sent = 0;
  constexpr uint32_t kAll = 2000;  // eight at a time, over a dozen refreshes
  constexpr uint32_t kPause = 50;  // after so many, in which the channels catch up
  for (; sent < 8; ++sent) channels.Submit({sent, 3 * kUs, sent * kRound, kRound, false});
  while (channels.NextDecisionPs() != UINT64_MAX) {
    const uint64_t now = channels.NextDecisionPs();
    for (const MemoryCompletion& end : channels.Advance(now)) {
      ended.push_back(end.id);
      if (sent == kAll) continue;
      const uint64_t pause = sent / kPause * 2 * kUs;
      channels.Submit({static_cast<uint32_t>(end.id), std::max(end.done_ps, 3 * kUs + pause),
                       sent * kRound, kRound, false});
      ++sent;
    }
  }
  EXPECT_EQ(ended.size(), kAll);
  EXPECT_EQ(channels.folded.classes(), 1u);
  channels.ExpectSameStatistics();
}

// Requesters with a few accesses in flight each, as units of cores have. Now and then all of them
// are reset: what they have sent ends, but they send nothing more, and others begin elsewhere after
// a pause that may span refreshes.
class Traffic {
 public:
  Traffic(const MemoryConfig& config, uint64_t seed, bool traced)
      : round_(config.channels * config.interleave_bytes),
        channels_(config, traced),
        random_(seed) {}

  void Run(int resets, uint32_t accesses) {
    uint64_t now = 0;
    for (int i = 0; i < resets; ++i) {
      Begin(now);
      uint32_t left = accesses;
      while (channels_.NextDecisionPs() != UINT64_MAX) {
        ASSERT_GE(channels_.NextDecisionPs(), now) << "time goes forward";
        now = channels_.NextDecisionPs();
        for (const MemoryCompletion& end : channels_.Advance(now)) {
          const auto id = static_cast<uint32_t>(end.id);
          free_.push_back(id);
          if (left == 0 || sent_in_[id] != resets_) continue;
          --left;
          Send(std::max(now, end.done_ps));
        }
        if (::testing::Test::HasFailure()) return;
        if (left == 0 && random_() % 2 != 0) break;  // reset, with accesses in flight
      }
      channels_.ExpectSameStatistics();
      ++resets_;
      now += random_() % 3 == 0 ? random_() % (20 * kUs) : random_() % 1000;
      for (const MemoryCompletion& end : channels_.Advance(now))
        free_.push_back(static_cast<uint32_t>(end.id));
    }
    channels_.Finish();
    channels_.ExpectSameStatistics();
  }
  const Pair& channels() const { return channels_; }

 private:
  enum class Kind : uint8_t { kRounds, kUnaligned, kSmall, kHot };
  struct Stream {
    Kind kind;
    uint64_t at, bytes;
    unsigned writes_of_8;
  };

  void Begin(uint64_t now) {
    streams_.clear();
    // Mostly whole rounds, so that classes come together.
    const uint64_t odd = random_() % 4;
    const size_t count = 1 + random_() % 8;
    for (size_t i = 0; i < count; ++i) {
      Stream stream{Kind::kRounds, random_() % 1024 * round_, round_ * (1 + random_() % 3),
                    static_cast<unsigned>(random_() % 9)};
      if (random_() % 8 < odd) {
        stream.kind = static_cast<Kind>(1 + random_() % 3);
        stream.bytes = stream.kind == Kind::kUnaligned ? round_ : 32u << random_() % 5;
        stream.at += random_() % (round_ / 32) * 32;
      }
      streams_.push_back(stream);
    }
    const size_t in_flight = count * (1 + random_() % 6);
    for (size_t i = 0; i < in_flight; ++i) Send(now);
  }

  void Send(uint64_t arrival_ps) {
    Stream& stream = streams_[random_() % streams_.size()];
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(sent_in_.size()));
      sent_in_.push_back(0);
    }
    const uint32_t id = free_.back();
    free_.pop_back();
    sent_in_[id] = resets_;
    uint64_t at = stream.at;
    if (stream.kind == Kind::kHot) {
      at = stream.at / 4096 * 4096 + random_() % 64 * 32;  // reads meet queued writes
    } else {
      stream.at += stream.bytes;
    }
    channels_.Submit({id, arrival_ps + random_() % 4 * 10'000, at, stream.bytes,
                      random_() % 8 < stream.writes_of_8});
  }

  const uint64_t round_;
  Pair channels_;
  std::mt19937_64 random_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> free_;
  std::vector<int> sent_in_;  // by id: before which reset
  int resets_ = 0;
};

class MemoryChannelsProperty : public ::testing::TestWithParam<RefreshKind> {};

TEST_P(MemoryChannelsProperty, FoldedChannelsDoWhatChannelsByThemselvesDo) {
  size_t merges = 0;
  size_t most_classes = 0;
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    MemoryConfig config;
    config.refresh = GetParam();
    config.ecc = random() % 2 != 0 ? Ecc::kInline : Ecc::kNone;
    config.bank_mapping = static_cast<BankMapping>(random() % 3);
    config.channels = std::vector<uint64_t>{16, 16, 16, 5, 1}[random() % 5];
    if (random() % 4 == 0) config.t_ccd_l_ps = config.burst_length * 1'000'000 / 6400;  // one lane
    if (random() % 3 == 0) {
      config.read_queue = 4;
      config.write_queue = 8;
      config.write_high = 4;
      config.write_low = 1;
    }
    Traffic traffic(config, seed, random() % 2 != 0);
    traffic.Run(6, 400);
    merges += traffic.channels().merges();
    most_classes = std::max(most_classes, traffic.channels().most_classes());
  }
  EXPECT_EQ(most_classes, 16u) << "traffic that separates all channels";
  EXPECT_GT(merges, 30u) << "and traffic that brings them together";
}

std::string NameOf(const ::testing::TestParamInfo<RefreshKind>& test) {
  return test.param == RefreshKind::kAllBank   ? "AllBankRefresh"
         : test.param == RefreshKind::kPerBank ? "PerBankRefresh"
                                               : "NoRefresh";
}
// Random reads and writes, one behind the other; returns what has ended, and when nothing was left.
struct Served {
  std::vector<MemoryCompletion> ended;
  uint64_t rest_ps = 0;
};
Served Serve(MemoryChannels& channels, uint64_t from_ps, uint64_t seed) {
  std::mt19937_64 random(seed);
  Served traffic;
  uint64_t now = from_ps;
  for (uint32_t id = 0; id < 200; ++id) {
    const uint64_t address = random() % (1 << 24) / 256 * 256;
    channels.Submit({id, now, address, 256 * (1 + random() % 20), random() % 3 == 0});
    now += random() % 20000;
    channels.Advance(now, traffic.ended);
  }
  while (channels.NextDecisionPs() != UINT64_MAX)
    channels.Advance(traffic.rest_ps = channels.NextDecisionPs(), traffic.ended);
  return traffic;
}

TEST_P(MemoryChannelsProperty, WhatChannelsWereLeftWithDecidesHowLongTheNextAccessesTake) {
  MemoryConfig config;
  config.refresh = GetParam();
  for (const Folding folding : {Folding::kOff, Folding::kOn}) {
    MemoryChannels first(config, folding), second(config, folding);
    constexpr uint64_t kLater = 200'000;  // ps, when all that was under way is over
    const uint64_t now = Serve(first, 3 * kUs, 1).rest_ps + kLater;
    second.SetRest(first.RestAt(now), now);
    EXPECT_EQ(Serve(first, now, 2).ended, Serve(second, now, 2).ended);
  }
}

INSTANTIATE_TEST_SUITE_P(Under, MemoryChannelsProperty,
                         ::testing::Values(RefreshKind::kAllBank, RefreshKind::kPerBank,
                                           RefreshKind::kNone),
                         NameOf);

}  // namespace
}  // namespace memory_channels_test
}  // namespace spyre::model
