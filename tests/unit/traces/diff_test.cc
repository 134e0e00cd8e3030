// SPDX-License-Identifier: Apache-2.0
#include "traces/diff.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/traces/sample_trace.h"

namespace spyre::trace::diff_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The sample with one more kernel on core 01, and a control block that the first has not.
Trace LongerTrace() {
  Recorder recorder;
  RecordSample(recorder);
  recorder.Slice(kControl, 1, recorder.Intern("COMPUTE mm"), 8000, 9000, 11);
  recorder.Slice(kControl, 1, recorder.Intern("DMA_FILL"), 9000, 9500, 12, 512);
  recorder.Slice(kCore, 5, recorder.Intern("tile"), 8000, 8600, 11);
  return Snapshot(recorder);
}

const Change& Find(const std::vector<Change>& changes, const std::string& name) {
  for (const Change& change : changes) {
    if (change.name == name) return change;
  }
  throw std::runtime_error("no change of " + name);
}

TEST(Diff, EqualRunsAreIdenticalByDigest) {
  const Diff diff = Compare(SampleTrace(), SampleTrace());
  EXPECT_TRUE(diff.is_identical);
  EXPECT_THAT(ToText(diff, false), HasSubstr("identical"));
  EXPECT_EQ(ToJson(diff)["identical"], true);
}

TEST(Diff, KernelsAndUnitsChangeByAbsoluteAndRelativeAmounts) {
  const Diff diff = Compare(SampleTrace(), LongerTrace());
  EXPECT_FALSE(diff.is_identical);
  EXPECT_EQ(diff.run_a_ps, 8000U);
  EXPECT_EQ(diff.run_b_ps, 9500U);
  const Change& mm = Find(diff.operations, "COMPUTE mm");
  EXPECT_EQ(mm.count_a, 2U);
  EXPECT_EQ(mm.count_b, 3U);
  EXPECT_EQ(mm.time_a_ps, 5000U);
  EXPECT_EQ(mm.time_b_ps, 6000U);
  EXPECT_EQ(diff.operations.front().name, "COMPUTE mm") << "the largest change comes first";
  const Change& fill = Find(diff.operations, "DMA_FILL");
  EXPECT_EQ(fill.count_a, 0U);
  EXPECT_EQ(fill.bytes_b, 512U);
  EXPECT_EQ(Find(diff.groups, "core */pt").time_b_ps - Find(diff.groups, "core */pt").time_a_ps,
            600U);
  EXPECT_FALSE(Find(diff.units, "core 00/pt").IsChange());
  EXPECT_TRUE(Find(diff.units, "core 01/pt").IsChange());
}

TEST(Diff, TextShowsChangesAndCountsTheRest) {
  const Diff diff = Compare(SampleTrace(), LongerTrace());
  const std::string text = ToText(diff, false);
  EXPECT_THAT(text, HasSubstr("A 8.000 ns, B 9.500 ns, change +1.500 ns (+18.8 %)"));
  EXPECT_THAT(text, HasSubstr("+20.0 %"));
  EXPECT_THAT(text, HasSubstr("new"));
  EXPECT_THAT(text, HasSubstr("2 more with the same figures"));
  EXPECT_THAT(text, Not(HasSubstr("core 01/pt")));
  EXPECT_THAT(ToText(diff, true), HasSubstr("core 01/pt"));
}

TEST(Diff, BeginsWithHowMuchLongerTheLaunchesTakeAndWhere) {
  const Diff diff = Compare(SampleTrace(), LongerTrace());
  ASSERT_GT(diff.launch_a_ps, 0u);
  const double longer =
      100 * (static_cast<double>(diff.launch_b_ps) / static_cast<double>(diff.launch_a_ps) - 1);
  const std::string text = ToText(diff, false);
  EXPECT_EQ(text.rfind(fmt::format("B's launches take {:.1f} % longer: ", longer), 0), 0u) << text;
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("; most of it in COMPUTE mm (+"));
}

TEST(Diff, SaysWhenItComparesPartsOfRuns) {
  Recorder recorder(3);
  RecordSample(recorder);
  recorder.Slice(kControl, 1, recorder.Intern("DMA_IN"), 8000, 9000);
  const Diff diff = Compare(SampleTrace(), Snapshot(recorder));
  EXPECT_THAT(ToText(diff, false), HasSubstr("dropped, A 0, B 9."));
  EXPECT_EQ(ToJson(diff)["dropped_b"], 9);
}

TEST(Diff, SaysThatTheRunsAreOfDifferentWorkloads) {
  Trace a = SampleTrace(), b = LongerTrace();
  a.metadata = R"({"workload": "matmul m=64"})";
  b.metadata = R"({"workload": "neg rows=64"})";
  const std::string text = ToText(Compare(a, b), false);
  EXPECT_EQ(text.rfind("A and B ran different workloads: A matmul m=64; B neg rows=64\n", 0), 0u)
      << text;
  EXPECT_EQ(ToJson(Compare(a, b))["workload_b"], "neg rows=64");
  b.metadata = a.metadata;
  EXPECT_THAT(ToText(Compare(a, b), false), Not(HasSubstr("different workloads")));
}

TEST(Diff, IsSymmetric) {
  const Diff diff = Compare(LongerTrace(), SampleTrace());
  EXPECT_THAT(ToText(diff, false), HasSubstr("-1.500 ns (-15.8 %)"));
}

}  // namespace
}  // namespace spyre::trace::diff_test
