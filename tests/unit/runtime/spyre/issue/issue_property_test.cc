// SPDX-License-Identifier: Apache-2.0
// Random programs through the issue modes, on a card that runs whatever it may in any order: with
// all hazards ordered, by inference or by edges, they end as sequential execution does; with edges
// left out the tracker says which pairs are in no order, and automatic events order them.
#include <gtest/gtest.h>

#include "tests/unit/runtime/flex/program_runner.h"
#include "tests/unit/runtime/spyre/issue/program_tasks.h"

namespace spyre::runtime::issue_property_test {
namespace {

using test::AllEdges;
using test::EdgeOrder;
using test::FunctionFor;
using test::OptionsFor;
using test::ProgramOrder;
using test::ProgramRunner;
using test::ProgramTasks;
using test::RandomProgram;
using test::SomeEdges;
using test::TaskEdges;

RandomProgram ProgramOf(uint32_t seed, bool synchronize = true) {
  test::ProgramShape shape;
  shape.steps = 160;
  shape.sync_percent = 10;
  shape.synchronize = synchronize;
  return test::MakeProgram(seed, shape);
}

TEST(StreamIssueProperty, AnEdgeForEveryConflictMakesTheMemoryOfSequentialExecution) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const RandomProgram program = ProgramOf(seed);
    ProgramRunner runner(program, FunctionFor(seed),
                         OptionsFor(seed, seed % 3 == 0 ? "off" : "error"), seed);
    const auto issuer = Issue::Streams(runner.context(), {1 + seed % 5});
    ProgramTasks(program, runner.calls(), *issuer, AllEdges(program)).IssueAll();
    EXPECT_EQ(runner.Finish(), Execute(program, ProgramOrder(program))) << "seed " << seed;
  }
}

struct Kind {
  Release release;
  const char* deps;
};

class GraphIssueProperty : public testing::TestWithParam<Kind> {};

TEST_P(GraphIssueProperty, EndsWithTheMemoryOfSequentialExecution) {
  std::map<uint32_t, int> filled;  // by window
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const RandomProgram program = ProgramOf(seed);
    const GraphIssueOptions options =
        test::RandomGraphOptions(GetParam().release, GetParam().deps, random);
    const uint32_t window = options.graph.window.tasks;
    ProgramRunner runner(program, FunctionFor(seed),
                         OptionsFor(seed, seed % 3 == 0 ? "off" : "error"), seed);
    const auto issuer = Issue::TaskGraph(runner.context(), options);
    ProgramTasks tasks(program, runner.calls(), *issuer, test::EdgesFor(options, program, random));
    ASSERT_NO_THROW(tasks.IssueAll()) << "seed " << seed << ", " << test::Text(options);
    EXPECT_EQ(runner.Finish(), Execute(program, ProgramOrder(program)))
        << "seed " << seed << ", " << test::Text(options);
    EXPECT_EQ(issuer->Counts().completed, issuer->Counts().tasks) << "seed " << seed;
    EXPECT_LE(tasks.most_in_flight(), window) << "seed " << seed;
    if (tasks.most_in_flight() == window) ++filled[window];
  }
  for (const uint32_t window : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    EXPECT_GT(filled[window], 0) << "no program has filled a window of " << window << " tasks";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Issue, GraphIssueProperty,
    testing::Values(Kind{Release::kEvents, "bytes"}, Kind{Release::kEvents, "hybrid_bytes"},
                    Kind{Release::kEvents, "explicit"}, Kind{Release::kHost, "bytes"},
                    Kind{Release::kHost, "hybrid_bytes"}, Kind{Release::kHost, "explicit"}),
    [](const auto& test) { return std::string(Name(test.param.release)) + "_" + test.param.deps; });

// Edges left out. kExact: all of them, and the graph finds those between equal regions only.
enum class Mode { kStreams, kEvents, kHost, kExact };

class MissingEdges : public testing::TestWithParam<Mode> {
 protected:
  std::unique_ptr<Issuer> Make(flex::RuntimeContext& context, std::mt19937& random) const {
    if (GetParam() == Mode::kStreams) {
      return Issue::Streams(context, {1 + static_cast<uint32_t>(random() % 5)});
    }
    const Release release = GetParam() == Mode::kHost ? Release::kHost : Release::kEvents;
    const char* deps = GetParam() == Mode::kExact ? "exact" : "explicit";
    return Issue::TaskGraph(context, test::RandomGraphOptions(release, deps, random));
  }
  static TaskEdges EdgesOf(const RandomProgram& program, uint32_t percent, std::mt19937& random) {
    if (GetParam() == Mode::kExact) return TaskEdges(program.steps.size());
    return SomeEdges(AllEdges(program), percent, random);
  }
};

// The tracker judges the order in which tasks reach their streams, which is all that it sees.
TEST_P(MissingEdges, ThePairsInNoOrderAreReportedAndIfThereAreNoneTheMemoryIsRight) {
  int silent = 0, reported = 0, different = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const RandomProgram program = test::MakeProgram(seed, {seed % 3 == 0 ? 6u : 60u});
    const TaskEdges edges = EdgesOf(program, 20 + seed % 80, random);
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "warning"), seed);
    const auto issuer = Make(runner.context(), random);
    ProgramTasks tasks(program, runner.calls(), *issuer, edges);
    tasks.IssueAll();
    const bool right = runner.Finish() == Execute(program, tasks.enqueued());
    const flex::HazardReport report = runner.context().Hazards();
    ASSERT_EQ(report.hazards.size(), report.found);
    const EdgeOrder order(edges);
    for (const flex::Hazard& hazard : report.hazards) {
      const size_t earlier = hazard.earlier.tag, later = hazard.later.tag;
      EXPECT_FALSE(order.Ordered(earlier, later)) << "seed " << seed << ": " << ToString(hazard);
      EXPECT_TRUE(Conflict(program, program.steps[earlier],
                           hazard.kind != flex::HazardKind::kWriteAfterRead, program.steps[later],
                           hazard.kind != flex::HazardKind::kReadAfterWrite))
          << "seed " << seed << ": " << ToString(hazard);
    }
    EXPECT_TRUE(right || report.found > 0) << "seed " << seed << ": wrong, and nothing was found";
    ++(report.found == 0 ? silent : reported);
    different += !right;
  }
  EXPECT_GT(silent, 3);
  EXPECT_GT(reported, 20);
  EXPECT_GT(different, 10) << "of 60 programs with edges left out";
}

TEST_P(MissingEdges, AutomaticEventsKeepTheOrderInWhichTasksReachTheirStreams) {
  uint64_t waits = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const RandomProgram program = test::MakeProgram(seed, {60});
    ProgramRunner runner(program, FunctionFor(seed), OptionsFor(seed, "event"), seed);
    const auto issuer = Make(runner.context(), random);
    ProgramTasks tasks(program, runner.calls(), *issuer, EdgesOf(program, 20, random));
    tasks.IssueAll();
    EXPECT_EQ(runner.Finish(), Execute(program, tasks.enqueued())) << "seed " << seed;
    waits += runner.context().Hazards().waits;
    if (GetParam() == Mode::kHost) continue;
    EXPECT_TRUE(std::is_sorted(tasks.enqueued().begin(), tasks.enqueued().end()))
        << "seed " << seed << ": a task was not issued by its Submit";
  }
  EXPECT_GT(waits, 50u);
}

std::string NameOf(Mode mode) {
  const char* const names[] = {"streams", "events", "host", "exact"};
  return names[static_cast<size_t>(mode)];
}

INSTANTIATE_TEST_SUITE_P(Issue, MissingEdges,
                         testing::Values(Mode::kStreams, Mode::kEvents, Mode::kHost, Mode::kExact),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace spyre::runtime::issue_property_test
