// SPDX-License-Identifier: Apache-2.0
#include "traces/run_results.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/traces/sample_trace.h"
#include "traces/critical_path.h"
#include "traces/summary.h"
#include "traces/trace_block.h"

namespace spyre::trace::run_results_test {
namespace {

using ::testing::HasSubstr;

// The sample's kernel of flow 8 takes 3000 ps: 2000 in the ring's links, 1000 in memory.
RunResults SampleResults() {
  RunResults results;
  results.launch_begin_ps = 2000;
  results.launch_end_ps = 8000;
  results.card_ps = 5500;
  results.host_ps = 300;
  results.idle_ps = 200;
  results.path[static_cast<size_t>(Cause::kRing)] = 6000;
  PathTimes kernel{};
  kernel[static_cast<size_t>(Cause::kRing)] = 2000;
  kernel[static_cast<size_t>(Cause::kMemoryRead)] = 1000;
  results.kernels[8] = kernel;
  results.macs[8] = 4096;
  results.labels[8] = "tile 1 of 4, m=1024..2047";
  results.programs[8] = "mm";
  results.lx_bytes = 2097152;
  results.lx = {{"mm", {"sdsc_0.json", "sdsc_1.json"}, {{"a", 128, 256, 0, 1, 0x80000001}}}};
  return results;
}

Trace WithResults() {
  Trace trace = SampleTrace();
  trace.results = EncodeRunResults(SampleResults());
  return trace;
}

TEST(RunResults, GoThroughAFileWithTheirPicoseconds) {
  const RunResults back =
      ParseRunResults(DecodeTrace(EncodeTrace(WithResults()), "sample").results);
  EXPECT_EQ(back.launch_begin_ps, 2000u);
  EXPECT_EQ(back.launch_end_ps, 8000u);
  EXPECT_EQ(back.card_ps, 5500u);
  EXPECT_EQ(back.host_ps, 300u);
  EXPECT_EQ(back.idle_ps, 200u);
  EXPECT_EQ(back.path, SampleResults().path);
  EXPECT_EQ(back.kernels, SampleResults().kernels);
  EXPECT_EQ(back.macs.at(8), 4096u);
  EXPECT_EQ(back.labels.at(8), "tile 1 of 4, m=1024..2047");
  EXPECT_EQ(back.programs.at(8), "mm");
  EXPECT_EQ(back.lx_bytes, 2097152u);
  ASSERT_EQ(back.lx.size(), 1u);
  EXPECT_EQ(back.lx[0].program, "mm");
  EXPECT_EQ(back.lx[0].steps, (std::vector<std::string>{"sdsc_0.json", "sdsc_1.json"}));
  ASSERT_EQ(back.lx[0].buffers.size(), 1u);
  const LxBuffer& buffer = back.lx[0].buffers[0];
  EXPECT_EQ(buffer.name, "a");
  EXPECT_EQ(buffer.address, 128u);
  EXPECT_EQ(buffer.bytes, 256u);
  EXPECT_EQ(buffer.first_step, 0u);
  EXPECT_EQ(buffer.last_step, 1u);
  EXPECT_EQ(buffer.cores, 0x80000001u);
}

TEST(RunResults, ChangeNeitherDigestNorWhatAFileWithoutThemIs) {
  EXPECT_EQ(WithResults().digest, SampleTrace().digest);
  EXPECT_EQ(DecodeTrace(EncodeTrace(SampleTrace()), "sample").results, "{}");
}

TEST(RunResults, WhatAForeignFileDoesNotSayIsNotKnown) {
  for (const char* text : {"{}", R"({"launch": 3, "kernels": {}})",
                           R"({"launch": {"begin_ns": "x", "end_ns": -1}, "kernels": [4, {}]})",
                           R"({"lx": {"core_bytes": -1, "programs": 7}})", R"({"lx": []})"}) {
    const RunResults results = ParseRunResults(text);
    EXPECT_FALSE(results.known()) << text;
    EXPECT_TRUE(results.kernels.empty()) << text;
    EXPECT_TRUE(results.lx.empty()) << text;
    EXPECT_EQ(results.lx_bytes, 0u) << text;
  }
}

TEST(RunResults, NothingStandsBehindThem) {
  std::string bytes = EncodeTrace(WithResults());
  Trace interrupted = WithResults();
  interrupted.is_interrupted = true;
  bytes = EncodeTrace(interrupted) + EncodeResults("{}", 0);
  try {
    DecodeTrace(bytes, "sample");
    FAIL() << "a second block of results was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("behind the results"));
  }
}

TEST(RunResults, TheSummarySaysWhereTheWindowWentAndWhatBoundIt) {
  const std::string text = ToText(Summarize(WithResults()));
  EXPECT_THAT(text, HasSubstr("Launches 6.000 ns from 2.000 ns: window = card 5.500 ns + host 300 "
                              "ps + idle 200 ps\n"));
  EXPECT_THAT(text, HasSubstr("Bound by the ring's links: 100.0 % of the launches' critical path"));
  EXPECT_EQ(ToJson(Summarize(WithResults()))["launches"]["bounds"]["bound_by"], "ring");
}

TEST(RunResults, ACriticalPathShowsTheCausesThatTheRunMeasured) {
  const Trace trace = WithResults();
  const CriticalPath path = FollowCriticalPath(trace, *FindKernel(trace, "1"));
  ASSERT_TRUE(path.causes.has_value());
  const std::string text = ToText(path);
  EXPECT_THAT(text, HasSubstr("Bound by the ring's links: 66.7 %"));
  EXPECT_THAT(text, HasSubstr("memory read"));
  EXPECT_EQ(ToJson(path)["bounds"]["causes_ns"]["memory_read"], 1.0);
  EXPECT_FALSE(FollowCriticalPath(trace, *FindKernel(trace, "0")).causes.has_value());
}

}  // namespace
}  // namespace spyre::trace::run_results_test
