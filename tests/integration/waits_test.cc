// SPDX-License-Identifier: Apache-2.0
// What units wait for, as counters and as trace records, on programs small enough to say exactly
// when each wait begins and ends.
#include <gtest/gtest.h>

#include "model/common/clock.h"
#include "tests/integration/card_fixture.h"
#include "traces/critical_path.h"

namespace spyre::test::waits_test {
namespace {

using model::Loss;

// Core 1 loads 64 KiB before the barrier, core 0 comes to it at once.
constexpr const char* kBarrier = R"(
.program barrier
.cores 0x3
.lx 65536
.table 1
.section load 0x2
  tab r1, 0
  li r2, 65536
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x2
  li r1, 3
  barrier r1, r0 wait=t1
.section ring 0x1
  li r1, 3
  barrier r1, r0
)";

class Waits : public CardFixture {
 protected:
  model::UnitStatistics UnitNamed(const std::string& name) {
    for (const model::UnitStatistics& unit : transport_->card().Statistics()) {
      if (unit.name == name) return unit;
    }
    ADD_FAILURE() << "the card has no unit " << name;
    return {};
  }
  // The only record of that name on "core NN/unit".
  trace::Record RecordNamed(const std::string& track, const std::string& name) {
    std::vector<trace::Record> found;
    for (const trace::Record& record : recorder_->Records()) {
      const trace::Track& on = recorder_->tracks()[record.track];
      if (on.process + "/" + on.name == track && recorder_->names()[record.name] == name)
        found.push_back(record);
    }
    EXPECT_EQ(found.size(), 1u) << name << " on " << track;
    return found.empty() ? trace::Record{} : found.front();
  }
  std::string TrackOf(uint32_t id) {
    return recorder_->tracks().at(id).process + "/" + recorder_->tracks().at(id).name;
  }
};

TEST_F(Waits, ForATokenLastFromAskingUntilItsGiverHasFinishedAndTheTokenHasTravelled) {
  Open();
  Run(kBarrier, {context_->Allocate(65536)});
  const trace::Record load = RecordNamed("core 01/load", "load");
  const trace::Record wait = RecordNamed("core 01/ring", "token wait");
  const model::Clock clock(config_.clock.core_mhz);
  EXPECT_EQ(wait.category, trace::kWait);
  EXPECT_EQ(wait.end_ps, clock.After(load.end_ps, config_.core.token_cycles));
  EXPECT_EQ(TrackOf(wait.detail), "core 01/load");
  EXPECT_EQ(UnitNamed("core01.ring").lost(Loss::kTokenWait), wait.end_ps - wait.start_ps);
  EXPECT_EQ(UnitNamed("core00.ring").lost(Loss::kTokenWait), 0u) << "it waits for no token";
}

TEST_F(Waits, AtABarrierEndWhenTheLastCoreArrives) {
  Open();
  Run(kBarrier, {context_->Allocate(65536)});
  const trace::Record last = RecordNamed("core 01/ring", "barrier");
  const trace::Record wait = RecordNamed("core 00/ring", "barrier wait");
  EXPECT_EQ(wait.end_ps, last.start_ps);
  EXPECT_EQ(TrackOf(wait.detail), "core 01/ring");
  EXPECT_EQ(UnitNamed("core00.ring").lost(Loss::kBarrierWait), wait.end_ps - wait.start_ps);
  EXPECT_EQ(UnitNamed("core01.ring").lost(Loss::kBarrierWait), 0u) << "nobody was later";
}

// Both cores load the same 4 KiB; core 1 counts to 1000 first, two cycles each time.
constexpr const char* kMulticast = R"(
.program multicast
.cores 0x3
.lx 4096
.table 1
.section load 0x1
  tab r1, 0
  li r2, 4096
  li r3, 1
  li r4, 3
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r4
.section load 0x2
  tab r1, 0
  li r2, 4096
  li r3, 1
  li r4, 3
  li r5, 1000
  loop r6, r5
    nop
  end
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r4
)";

TEST_F(Waits, InAMulticastEndWhenItsLastMemberAsks) {
  Open();
  Run(kMulticast, {context_->Allocate(4096)});
  const trace::Record first = RecordNamed("core 00/load", "load");
  const trace::Record last = RecordNamed("core 01/load", "load");
  const trace::Record wait = RecordNamed("core 00/load", "partner wait");
  const model::Clock clock(config_.clock.core_mhz);
  EXPECT_EQ(wait.start_ps, clock.After(first.start_ps, config_.mmu.translate_cycles));
  EXPECT_EQ(wait.end_ps, clock.After(last.start_ps, config_.mmu.translate_cycles));
  EXPECT_EQ(TrackOf(wait.detail), "core 01/load");
  EXPECT_EQ(UnitNamed("core00.load").lost(Loss::kPartnerWait), wait.end_ps - wait.start_ps);
  EXPECT_EQ(UnitNamed("core01.load").lost(Loss::kPartnerWait), 0u);
}

TEST_F(Waits, AreWhatTheCriticalPathGoesThrough) {
  Open();
  const auto done = Run(kBarrier, {context_->Allocate(65536)});
  const trace::Trace trace = trace::Snapshot(*recorder_);
  const trace::CriticalPath path =
      trace::FollowCriticalPath(trace, trace::FindKernel(trace, "barrier").value());
  std::vector<std::string> steps;
  for (const trace::PathSegment& segment : path.segments) {
    if (segment.kind != "sequencer") steps.push_back(segment.unit + " " + segment.kind);
  }
  const std::vector<std::string> expected = {" launch", "core 01/load load",
                                             "core 01/load token hand-over", "core 00/ring ring"};
  EXPECT_EQ(steps, expected);
  EXPECT_EQ(path.segments.front().start_ps, done.started_ps);
  EXPECT_EQ(path.segments.back().end_ps, done.finished_ps);
}

TEST_F(Waits, AreCountedWithoutATraceToo) {
  recorder_.emplace(size_t{1} << 20, 0);
  Open();
  Run(kBarrier, {context_->Allocate(65536)});
  EXPECT_TRUE(recorder_->Records().empty());
  EXPECT_GT(UnitNamed("core01.ring").lost(Loss::kTokenWait), 465'000u)
      << "64 KiB over a port of 128 bytes at 1.1 GHz take 465 ns";
}

}  // namespace
}  // namespace spyre::test::waits_test
