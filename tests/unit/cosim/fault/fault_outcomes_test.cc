// SPDX-License-Identifier: Apache-2.0
#include "cosim/fault/fault_outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spyre::cosim::fault_outcomes_test {
namespace {

using model::FaultEvent;
using model::FaultInjector;
using model::FaultKind;
using model::FaultOutcome;
using model::FaultSite;
using model::FaultSpec;
using ::testing::HasSubstr;

FaultInjector Struck(FaultKind kind) {
  FaultSpec fault;
  fault.kind = kind;
  FaultInjector injector({fault});
  injector.Strike(model::Info(kind).site, FaultEvent{}, 1'000'000);
  return injector;
}
FaultRecord Only(const FaultInjector& injector, const RunEnd& end) {
  return SettleFaults(injector, end).at(0);
}

TEST(FaultOutcomes, WhatTheCardHasSaidStays) {
  FaultInjector injector = Struck(FaultKind::kMemoryDoubleBit);
  FaultInjector::Detected(injector.injections().front(), "the code of the memory", 1'500'000);
  RunEnd end;
  end.compared = end.right = true;
  const FaultRecord record = Only(injector, end);
  EXPECT_EQ(record.outcome, FaultOutcome::kDetected);
  EXPECT_EQ(record.after_ps, 500'000u);
  EXPECT_EQ(FaultLines({record}),
            "memory_double_bit at the card, at 1.000 us: detected by the code of the memory after "
            "0.500 us");
}

TEST(FaultOutcomes, WrongResultsOfAFaultThatNobodyNoticedAreSilent) {
  RunEnd end;
  end.compared = true;
  EXPECT_EQ(Only(Struck(FaultKind::kCoreWrong), end).outcome, FaultOutcome::kSilent);
  end.right = true;
  EXPECT_EQ(Only(Struck(FaultKind::kCoreWrong), end).outcome, FaultOutcome::kMasked);
}

TEST(FaultOutcomes, ResultsThatNobodyHasComparedMayBeWrong) {
  RunEnd end;
  EXPECT_EQ(Only(Struck(FaultKind::kCoreWrong), end).outcome, FaultOutcome::kSilent);
  end.has_data = false;
  EXPECT_EQ(Only(Struck(FaultKind::kCoreWrong), end).outcome, FaultOutcome::kMasked);
}

TEST(FaultOutcomes, AnErrorOfTheHostDetectsWhatStopsTheCard) {
  RunEnd end;
  end.error = "no response within 10000.000 ms";
  end.time_ps = 3'000'000;
  const FaultRecord stuck = Only(Struck(FaultKind::kDmaStuck), end);
  EXPECT_EQ(stuck.outcome, FaultOutcome::kDetected);
  EXPECT_THAT(stuck.by, HasSubstr("no response"));
  EXPECT_EQ(stuck.after_ps, 2'000'000u);
  EXPECT_EQ(Only(Struck(FaultKind::kFirmwareCorrupt), end).outcome, FaultOutcome::kSilent);
}

// The bit may be one of an address; beside another fault, nobody knows whose the error is.
TEST(FaultOutcomes, AnErrorDetectsAWrongBitThatIsTheOnlyFault) {
  RunEnd end;
  end.error = "COMPUTE 'add' failed: PAGE_FAULT";
  EXPECT_EQ(Only(Struck(FaultKind::kCoreWrong), end).outcome, FaultOutcome::kDetected);
  FaultSpec wrong, late;
  wrong.kind = FaultKind::kCoreWrong;
  late.kind = FaultKind::kMsiLate;
  FaultInjector both({wrong, late});
  both.Strike(model::Info(wrong.kind).site, FaultEvent{}, 1'000'000);
  both.Strike(model::Info(late.kind).site, FaultEvent{}, 1'000'000);
  EXPECT_EQ(Only(both, end).outcome, FaultOutcome::kSilent);
}

TEST(FaultOutcomes, TheDriverCorrectsWhatItHasMet) {
  RunEnd end;
  end.compared = end.right = true;
  EXPECT_EQ(Only(Struck(FaultKind::kMsiLost), end).outcome, FaultOutcome::kMasked);
  EXPECT_EQ(Only(Struck(FaultKind::kResponseTorn), end).outcome, FaultOutcome::kMasked);
  end.missed_interrupt = end.torn_response = true;
  EXPECT_EQ(Only(Struck(FaultKind::kMsiLost), end).outcome, FaultOutcome::kCorrected);
  EXPECT_EQ(Only(Struck(FaultKind::kResponseTorn), end).outcome, FaultOutcome::kCorrected);
}

TEST(FaultOutcomes, AFaultThatNeverStruckIsNamedLast) {
  FaultSpec never, core;
  never.kind = FaultKind::kRingDead;
  core.kind = FaultKind::kCoreLate;
  FaultInjector injector({never, core});
  injector.Strike(FaultSite::kInstruction, FaultEvent{}, 5);
  const std::vector<FaultRecord> records = SettleFaults(injector, RunEnd{});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].number, 2u);
  EXPECT_FALSE(records[1].struck);
  EXPECT_THAT(FaultLines(records), HasSubstr("\nring_dead: did not strike"));
}

}  // namespace
}  // namespace spyre::cosim::fault_outcomes_test
