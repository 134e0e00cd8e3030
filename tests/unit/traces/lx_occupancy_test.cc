// SPDX-License-Identifier: Apache-2.0
#include "traces/lx_occupancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace spyre::trace::lx_occupancy_test {
namespace {

using ::testing::HasSubstr;

// Addresses 0 to 100 on cores 0 and 1 in the first step, 50 to 150 on core 1 alone in both, and 200
// to 230 on core 0 in the second.
LxProgram TwoSteps() {
  return {"list",
          {"sdsc_0.json", "sdsc_1.json"},
          {{"x", 0, 100, 0, 0, 0b11}, {"y", 50, 100, 0, 1, 0b10}, {"z", 200, 30, 1, 1, 0b01}}};
}

Trace TraceOf(RunResults results) {
  Recorder recorder;
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  recorder.Slice(kStep, stream, recorder.Intern("sdsc_0.json"), 1000, 1400, 5);
  recorder.Slice(kStep, stream, recorder.Intern("sdsc_1.json"), 1400, 2000, 5);
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE list"), 1000, 2000, 5);
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE other"), 2500, 2600, 6);
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE list"), 3000, 4000, 7);
  Trace trace = Snapshot(recorder);
  for (const uint64_t flow : {uint64_t{5}, uint64_t{7}}) {
    results.kernels[flow] = {};
    if (!results.lx.empty()) results.programs[flow] = results.lx[0].program;
  }
  trace.results = EncodeRunResults(results);
  return trace;
}

TEST(LxOccupancy, CountsSharedBytesOnceOnTheCoreThatHoldsMost) {
  EXPECT_EQ(BytesHeld(TwoSteps(), 0), 150u) << "core 1: 0 to 150";
  EXPECT_EQ(BytesHeld(TwoSteps(), 1), 100u) << "core 1: 50 to 150; core 0: 30";
  EXPECT_EQ(BytesHeld(TwoSteps(), 2), 0u);
}

TEST(LxOccupancy, FollowsTheStepsThatWereRecordedAndElseTakesTheFullestOne) {
  RunResults results;
  results.lx_bytes = 1000;
  results.lx = {TwoSteps()};
  const LxOccupancy occupancy = LxOverTime(TraceOf(results));
  ASSERT_EQ(occupancy.moments.size(), 3u) << "the kernel without a program is left out";
  const LxMoment& first = occupancy.moments[0];
  EXPECT_EQ(first.start_ps, 1000u);
  EXPECT_EQ(first.end_ps, 1400u);
  EXPECT_EQ(first.step, "sdsc_0.json");
  EXPECT_EQ(first.bytes, 150u);
  EXPECT_EQ(first.buffers, 2u);
  EXPECT_EQ(occupancy.moments[1].bytes, 100u);
  const LxMoment& last = occupancy.moments[2];
  EXPECT_EQ(last.start_ps, 3000u);
  EXPECT_EQ(last.step, "");
  EXPECT_EQ(last.kernel, 2u);
  EXPECT_EQ(last.bytes, 150u);
  const std::string text = ToText(occupancy, 1000, 2);
  EXPECT_THAT(text, HasSubstr("at most 150 B of 1000 B (15.0 %) held, in kernel 0, list, step "
                              "sdsc_0.json\n"));
  EXPECT_THAT(text, HasSubstr("1 more times; --rows N shows more"));
  EXPECT_THAT(text, HasSubstr("1 more buffers"));
  EXPECT_THAT(text, HasSubstr("0..1"));
  EXPECT_EQ(ToJson(occupancy)["peak_bytes"], 150);
  EXPECT_EQ(ToJson(occupancy)["moments"][1]["end_ns"], 2.0);
}

TEST(LxOccupancy, SaysThatNothingIsKnown) {
  EXPECT_EQ(ToText(LxOverTime(TraceOf({})), 0, 20),
            "The trace does not say what its kernels keep in LX.\n");
}

TEST(LxOccupancy, TakesWhatAForgedTraceSays) {
  RunResults results;
  results.lx = {{"list", {}, {{"x", UINT64_MAX, UINT64_MAX, 7, 3, ~0u}, {"", 5, 1, 0, 9, 0}}}};
  const LxOccupancy occupancy = LxOverTime(TraceOf(results));
  EXPECT_EQ(occupancy.moments.size(), 2u);
  EXPECT_EQ(occupancy.moments[0].bytes, 0u) << "on no core, or in no step";
}

}  // namespace
}  // namespace spyre::trace::lx_occupancy_test
