// SPDX-License-Identifier: Apache-2.0
// Random programs over streams, policies, ring sizes and modes, on a card that runs whatever it may
// in any order: with their hazards ordered they end as sequential execution does, and the tracker
// finds the hazards that the definition of order gives, and no others.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/unit/runtime/flex/program_runner.h"

namespace spyre::flex::hazard_property_test {
namespace {

using test::ExpectedHazard;
using test::FunctionFor;
using test::HazardsOf;
using test::OptionsFor;
using test::ProgramOrder;
using test::ProgramRunner;
using test::ProgramShape;
using test::RandomProgram;
using test::Step;

std::set<ExpectedHazard> Found(const HazardReport& report, uint64_t memory) {
  std::set<ExpectedHazard> found;
  for (const Hazard& hazard : report.hazards) {
    ExpectedHazard key{};
    key.earlier = hazard.earlier.tag;
    key.later = hazard.later.tag;
    key.earlier_writes = hazard.kind != HazardKind::kWriteAfterRead;
    key.later_writes = hazard.kind != HazardKind::kReadAfterWrite;
    key.first_stick = static_cast<uint32_t>((RawOffset(hazard.handle) - memory) / test::kStick);
    key.sticks = static_cast<uint32_t>(hazard.shared_bytes / test::kStick);
    EXPECT_LE(hazard.size, hazard.shared_bytes);
    EXPECT_TRUE(found.insert(key).second) << "listed twice: " << ToString(hazard);
  }
  return found;
}

std::string Text(const RandomProgram& program) {
  const char* const kinds[] = {"in",     "fill", "out",         "kernel",
                               "record", "wait", "sync stream", "sync event"};
  std::string text;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    text += fmt::format("{}: stream {} {}", i, step.stream, kinds[static_cast<size_t>(step.kind)]);
    text += step.works() ? fmt::format(" {} sticks from {} to {}\n", step.count, step.from, step.to)
                         : fmt::format(" event {}\n", step.event);
  }
  return text;
}
std::string Text(const std::set<ExpectedHazard>& hazards) {
  std::string text;
  for (const ExpectedHazard& hazard : hazards) {
    text +=
        fmt::format("  {} {}, {} {}: {} sticks, the first is {}\n", hazard.earlier,
                    hazard.earlier_writes ? "writes" : "reads", hazard.later,
                    hazard.later_writes ? "writes" : "reads", hazard.sticks, hazard.first_stick);
  }
  return text;
}
std::set<ExpectedHazard> Without(std::set<ExpectedHazard> set, const std::set<ExpectedHazard>& of) {
  for (const ExpectedHazard& hazard : of) set.erase(hazard);
  return set;
}

TEST(HazardProperty, OrderedProgramsEndAsSequentialExecutionInAnyOrderTheCardMayTake) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const RandomProgram program = WithEvents(test::MakeProgram(seed));
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "error"), seed);
    ASSERT_NO_THROW(runner.calls().MakeAll()) << "seed " << seed;
    EXPECT_EQ(runner.Finish(), Execute(program, ProgramOrder(program))) << "seed " << seed;
  }
}

TEST(HazardProperty, UnorderedProgramsDoNotSoThatTheseTestsCanFail) {
  int different = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const RandomProgram program = test::MakeProgram(seed);
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "off"), seed);
    runner.calls().MakeAll();
    different += !(runner.Finish() == Execute(program, ProgramOrder(program)));
  }
  EXPECT_GT(different, 5) << "of 20 programs with hazards";
}

TEST(HazardProperty, WarningsAreExactlyTheUnorderedPairs) {
  size_t pairs = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    ProgramShape shape;
    shape.wait_first = seed % 3 == 0;
    shape.sync_percent = seed % 2 == 0 ? 25 : 50;
    const RandomProgram program = test::MakeProgram(seed, shape);
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "warning"), seed);
    runner.calls().MakeAll();
    const test::ProgramResult result = runner.Finish();
    const HazardReport report = runner.context().Hazards();
    const ProgramOrder order(program);
    const auto expected = HazardsOf(program, order, true);
    const auto all = HazardsOf(program, order, false);
    const auto found = Found(report, 0);
    ASSERT_EQ(report.hazards.size(), report.found);
    ASSERT_TRUE(found == expected) << "seed " << seed << "\n"
                                   << Text(program) << "missing:\n"
                                   << Text(Without(expected, found)) << "too many:\n"
                                   << Text(Without(found, expected));
    EXPECT_EQ(found.empty(), all.empty()) << "seed " << seed;
    EXPECT_TRUE(!found.empty() || result == Execute(program, order)) << "seed " << seed;
    pairs += found.size();
  }
  EXPECT_GT(pairs, 1000u);
}

// Makes the calls, but each run of work on one stream as the replay of a graph captured from it.
void MakeByReplays(const RandomProgram& program, ProgramRunner& runner) {
  const auto together = [&](size_t i) {
    return program.steps[i].works() && program.steps[i + 1].works() &&
           program.steps[i].stream == program.steps[i + 1].stream;
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    FlexStream& stream = runner.context().Stream(program.steps[i].stream);
    const bool works = program.steps[i].works();
    if (works && (i == 0 || !together(i - 1))) runner.context().BeginCapture(stream);
    runner.calls().Make(i);
    if (works && (i + 1 == program.steps.size() || !together(i))) {
      runner.context().EndCapture(stream).Launch(stream);
    }
  }
}

TEST(HazardProperty, ReplaysOfCapturedWorkMakeTheSameHazardsAndWithEventsNone) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    ProgramShape shape;
    shape.wait_first = seed % 3 == 0;
    const RandomProgram program = test::MakeProgram(seed, shape);
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "warning"), seed);
    MakeByReplays(program, runner);
    runner.context().Synchronize();
    const auto expected = HazardsOf(program, ProgramOrder(program), true);
    EXPECT_EQ(Text(Found(runner.context().Hazards(), 0)), Text(expected)) << "seed " << seed;

    const RandomProgram ordered = WithEvents(test::MakeProgram(seed));
    ProgramRunner again(ordered, FunctionFor(seed), OptionsFor(seed, "error"), seed);
    ASSERT_NO_THROW(MakeByReplays(ordered, again)) << "seed " << seed;
    EXPECT_EQ(again.Finish(), Execute(ordered, ProgramOrder(ordered))) << "seed " << seed;
  }
}

TEST(HazardProperty, AutomaticEventsMakeUnorderedProgramsEndAsSequentialExecution) {
  uint64_t events = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    const RandomProgram program = test::MakeProgram(seed);
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "event"), seed);
    runner.calls().MakeAll();
    ASSERT_EQ(runner.Finish(), Execute(program, ProgramOrder(program))) << "seed " << seed;
    const HazardReport report = runner.context().Hazards();
    EXPECT_LE(report.waits, report.found) << "seed " << seed;
    EXPECT_LE(report.events, report.waits) << "seed " << seed;
    events += report.events;
  }
  EXPECT_GT(events, 100u);
}

TEST(HazardProperty, ErrorsStopTheFirstOperationThatWouldRaceAndOnlyThat) {
  int refused = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const RandomProgram program = test::MakeProgram(seed);
    const auto expected = HazardsOf(program, ProgramOrder(program), false);
    size_t first = program.steps.size();
    for (const ExpectedHazard& hazard : expected) first = std::min(first, hazard.later);
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "error"), seed);
    for (size_t i = 0; i < first; ++i) ASSERT_NO_THROW(runner.calls().Make(i)) << "seed " << seed;
    if (first == program.steps.size()) continue;
    ++refused;
    const uint64_t queued = runner.context().Counts().queued;
    EXPECT_THROW(runner.calls().Make(first), Error) << "seed " << seed << ", step " << first;
    EXPECT_EQ(runner.context().Counts().queued, queued) << "nothing is enqueued";
    runner.context().Synchronize();
    EXPECT_NO_THROW(runner.calls().Make(first)) << "ordered by the host now";
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace spyre::flex::hazard_property_test
