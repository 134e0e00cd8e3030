// SPDX-License-Identifier: Apache-2.0
#include "model/fault/fault_injector.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace spyre::model::fault_injector_test {
namespace {

FaultSpec OfKind(FaultKind kind) {
  FaultSpec fault;
  fault.kind = kind;
  return fault;
}

FaultEvent AtCore(uint64_t core) {
  FaultEvent event;
  event.core = core;
  return event;
}

TEST(FaultKinds, AreInTheOrderOfTheirNumbersWithNamesOfTheirOwn) {
  std::set<std::string> names;
  for (size_t i = 0; i < FaultKinds().size(); ++i) {
    const FaultKindInfo& info = FaultKinds()[i];
    EXPECT_EQ(static_cast<size_t>(info.kind), i) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_NE(std::string(info.effect), "") << info.name;
    EXPECT_NE(std::string(info.recovery), "") << info.name;
    EXPECT_NE(info.outcome, FaultOutcome::kPending) << info.name;
    EXPECT_EQ(info.lasts == nullptr, info.lasts_us == 0) << info.name;
  }
  EXPECT_EQ(FaultKinds().back().kind, FaultKind::kRtlBitFlip);
}

TEST(FaultInjector, StrikesTheFirstEventAndNoOther) {
  FaultInjector injector({OfKind(FaultKind::kCoreStop)});
  Injection* const injection = injector.Strike(FaultSite::kInstruction, AtCore(3), 5'000'000);
  ASSERT_NE(injection, nullptr);
  EXPECT_EQ(injection->place, "core 3");
  EXPECT_EQ(injection->Text(), "core_stop at core 3, at 5.000 us");
  EXPECT_EQ(injection->outcome, FaultOutcome::kPending);
  EXPECT_EQ(injector.Strike(FaultSite::kInstruction, AtCore(3), 6'000'000), nullptr);
}

TEST(FaultInjector, StrikesOnlyWhereItIsDeclared) {
  FaultSpec fault = OfKind(FaultKind::kCoreStop);
  fault.where.core = 2;
  FaultInjector injector({fault});
  EXPECT_EQ(injector.Strike(FaultSite::kInstruction, AtCore(3), 0), nullptr);
  EXPECT_EQ(injector.Strike(FaultSite::kLx, AtCore(2), 0), nullptr) << "another site";
  EXPECT_EQ(injector.Strike(FaultSite::kInstruction, FaultEvent{}, 0), nullptr) << "of no core";
  EXPECT_NE(injector.Strike(FaultSite::kInstruction, AtCore(2), 0), nullptr);
}

TEST(FaultInjector, CountsEventsThereFromItsTimeOn) {
  FaultSpec fault = OfKind(FaultKind::kCoreLate);
  fault.where.core = 1;
  fault.when.time_ps = 100;
  fault.when.count = 3;
  fault.times = 2;
  FaultInjector injector({fault});
  const auto strikes = [&](uint64_t core, uint64_t ps) {
    return injector.Strike(FaultSite::kInstruction, AtCore(core), ps) != nullptr;
  };
  EXPECT_FALSE(strikes(1, 99));   // too early to count
  EXPECT_FALSE(strikes(1, 100));  // the first
  EXPECT_FALSE(strikes(0, 101));  // elsewhere
  EXPECT_FALSE(strikes(1, 102));  // the second
  EXPECT_TRUE(strikes(1, 103));
  EXPECT_TRUE(strikes(1, 104));
  EXPECT_FALSE(strikes(1, 105)) << "twice is enough";
  ASSERT_EQ(injector.injections().size(), 2u);
  EXPECT_EQ(injector.injections()[0].time_ps, 103u);
}

TEST(FaultInjector, StrikesTheAccessThatTouchesItsAddress) {
  FaultSpec fault = OfKind(FaultKind::kMemoryPoison);
  fault.where.address = 1000;
  FaultInjector injector({fault});
  FaultEvent event;
  event.address = 872;
  event.bytes = 128;
  EXPECT_EQ(injector.Strike(FaultSite::kMemory, event, 0), nullptr) << "it ends before";
  event.address = 1001;
  EXPECT_EQ(injector.Strike(FaultSite::kMemory, event, 0), nullptr) << "it begins behind";
  event.address = 873;
  EXPECT_NE(injector.Strike(FaultSite::kMemory, event, 0, true), nullptr);
}

TEST(FaultInjector, AProbabilityHitsItsShareAndTheSameEventsForTheSameSeed) {
  const auto hits = [](uint64_t seed) {
    FaultSpec fault = OfKind(FaultKind::kRingRetry);
    fault.when.probability = 0.25;
    fault.when.seed = seed;
    fault.times = 1'000'000;
    FaultInjector injector({fault});
    std::vector<int> struck;
    for (int i = 0; i < 10'000; ++i) {
      if (injector.Strike(FaultSite::kRing, FaultEvent{}, 0) != nullptr) struck.push_back(i);
    }
    return struck;
  };
  // Four standard deviations of a binomial distribution of 10,000 events.
  EXPECT_NEAR(static_cast<double>(hits(1).size()), 2500.0, 4 * 43.3);
  EXPECT_EQ(hits(1), hits(1));
  EXPECT_NE(hits(1), hits(2));
}

TEST(FaultInjector, TheFirstOutcomeCountsUnlessWorkWasRightInTheEnd) {
  FaultInjector injector({OfKind(FaultKind::kPciePoisonedCompletion)});
  Injection& injection = *injector.Strike(FaultSite::kCompletion, FaultEvent{}, 10);
  FaultInjector::Detected(injection, "the endpoint", 20);
  FaultInjector::Masked(injection, "nobody", 30);
  EXPECT_EQ(injection.outcome, FaultOutcome::kDetected);
  EXPECT_EQ(injection.by, "the endpoint");
  EXPECT_EQ(injection.outcome_ps, 20u);
  FaultInjector::Recovered(injection, "a second read", 40);
  EXPECT_EQ(injection.outcome, FaultOutcome::kCorrected);
  EXPECT_EQ(injection.outcome_ps, 40u);
}

TEST(FaultInjector, InjectionsOfACopyOutliveTheCard) {
  std::optional<FaultInjector> card;
  card.emplace(std::vector<FaultSpec>{OfKind(FaultKind::kDmaStuck)});
  card->Strike(FaultSite::kDma, FaultEvent{}, 7);
  const FaultInjector copy = *card;
  card.reset();
  EXPECT_EQ(copy.injections().front().Text(), "dma_stuck at the card, at 0.000 us");
}

}  // namespace
}  // namespace spyre::model::fault_injector_test
