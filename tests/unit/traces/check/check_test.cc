// SPDX-License-Identifier: Apache-2.0
#include "traces/check/check.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/run_results.h"

namespace spyre::trace::check_test {
namespace {

using ::testing::HasSubstr;

// Copies of three tiles, and their kernels. The copy of tile i + 1 is to overlap kernel i.
//
//   time in ns  0    10    20    30    40    50    60
//   dma in      |t0--|     |t1---|     |t2---|
//   stream 0         |k0---------------|k1---------------|k2----|
Trace Tiles() {
  Recorder recorder;
  const TrackId dma = recorder.AddTrack("card", "dma in");
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  const TrackId pt = recorder.AddTrack("core 00", "pt");
  const NameId tile = recorder.Intern("DMA_IN");
  const NameId kernel = recorder.Intern("COMPUTE tile");
  const NameId wait = recorder.Intern("token wait");
  for (uint64_t i = 0; i < 3; ++i)
    recorder.Slice(kDma, dma, tile, i * 20'000, i * 20'000 + 10'000, 0, 4096);
  recorder.Slice(kControl, stream, kernel, 10'000, 40'000, 1);
  recorder.Slice(kControl, stream, kernel, 40'000, 70'000, 2);
  recorder.Slice(kControl, stream, kernel, 70'000, 80'000, 3);
  recorder.Slice(kCore, pt, recorder.Intern("matmul"), 10'000, 24'000, 1);
  recorder.Slice(kWait, pt, wait, 24'000, 38'000, 1);
  Trace trace = Snapshot(recorder);
  RunResults results;
  results.launch_begin_ps = 10'000;
  results.launch_end_ps = 80'000;
  results.card_ps = 63'000;
  results.host_ps = 7'000;
  results.path[static_cast<size_t>(Cause::kRing)] = 70'000;
  results.kernels[1][static_cast<size_t>(Cause::kPtRows)] = 30'000;
  trace.results = EncodeRunResults(results);
  return trace;
}

RuleResult Check(const std::string& rule) {
  const std::vector<RuleResult> results =
      CheckRules(Tiles(), ParseRules("[[rule]]\n" + rule, "rules.toml"));
  EXPECT_EQ(results.size(), 1u);
  return results.at(0);
}

TEST(TraceCheck, KernelsAreHeldToTimesCountsAndBounds) {
  EXPECT_TRUE(Check("kind = \"kernel\"\nmax_time_us = 0.031").passed);
  const RuleResult slow = Check("kind = \"kernel\"\nkernel = \"tile\"\nmax_time_us = 0.02");
  EXPECT_EQ(slow.failures, 2u) << "the first two take 30 ns";
  EXPECT_THAT(slow.problems.at(0), HasSubstr("kernel 0 (COMPUTE tile): 0.030 us, at most 0.02"));
  EXPECT_FALSE(Check("kind = \"kernel\"\nmin_count = 4").passed);
  EXPECT_THAT(Check("kind = \"kernel\"\nbound_by = [\"memory\"]").problems.at(0),
              HasSubstr("is bound by pt, not by memory"));
}

TEST(TraceCheck, UnitsAndWaitsAreSharesOfTheLaunches) {
  EXPECT_TRUE(Check("kind = \"unit\"\nunit = \"/pt\"\nmin_percent = 20\nmax_percent = 20").passed)
      << "14 of 70 ns";
  EXPECT_TRUE(Check("kind = \"wait\"\nunit = \"/pt\"\nmax_percent = 20").passed);
  EXPECT_FALSE(Check("kind = \"wait\"\nwait = \"token\"\nmax_time_us = 0.013").passed);
}

TEST(TraceCheck, TheCopyOfTheNextTileOverlapsTheKernel) {
  // Copy 1 lies in kernel 0 as a whole; copy 2 from 40 to 50 in kernel 1.
  const std::string overlap =
      "kind = \"overlap\"\nof = { track = \"dma in\" }\nwith = { category = \"control\" }\n"
      "shift = 1\nmin_percent = ";
  const RuleResult result = Check(overlap + "80");
  EXPECT_TRUE(result.passed) << result.problems.size();
  EXPECT_THAT(result.found, HasSubstr("2 pairs"));
  // Without the shift copy 0 is beside no kernel.
  EXPECT_FALSE(Check("kind = \"overlap\"\nof = { track = \"dma in\" }\nwith = { category = "
                     "\"control\" }\nmin_percent = 1")
                   .passed);
}

TEST(TraceCheck, OrderIsOfPairsOfSlices) {
  EXPECT_TRUE(Check("kind = \"order\"\nfirst = { track = \"dma in\" }\nthen = { name = \"COMPUTE\" "
                    "}")
                  .passed);
  const RuleResult wrong =
      Check("kind = \"order\"\nfirst = { name = \"COMPUTE\" }\nthen = { track = \"dma in\" }");
  EXPECT_EQ(wrong.failures, 3u);
}

TEST(TraceCheck, TheWindowHasShares) {
  EXPECT_TRUE(Check("kind = \"window\"\nmax_time_us = 0.07\nmax_host_percent = 10\nbound_by = "
                    "\"ring\"")
                  .passed);
  EXPECT_THAT(Check("kind = \"window\"\nmax_host_percent = 5").problems.at(0),
              HasSubstr("host: 10.000 %, at most 5"));
}

TEST(TraceCheck, CountersHaveMeanAndPeak) {
  EXPECT_FALSE(Check("kind = \"counter\"\ncounter = \"pt\"\nmax_peak = 99").passed);
  EXPECT_TRUE(Check("kind = \"counter\"\ncounter = \"pt\"\nmax_mean = 20.1").passed);
}

TEST(TraceCheck, ABaselineMayBeExceededByItsTolerance) {
  const ScratchDirectory directory("trace_check");
  Trace faster = Tiles();
  RunResults results = ParseRunResults(faster.results);
  results.launch_end_ps = 75'000;
  faster.results = EncodeRunResults(results);
  WriteTrace(faster, directory.path() + "/base.sctrace");
  const auto check = [&](const std::string& tolerance) {
    return CheckRules(Tiles(), ParseRules("[[rule]]\nkind = \"baseline\"\nfile = \"base.sctrace\"\n"
                                          "tolerance_percent = " +
                                              tolerance,
                                          directory.path() + "/rules.toml"))
        .at(0);
  };
  EXPECT_TRUE(check("8").passed) << "70 instead of 65 ns";
  EXPECT_THAT(check("7").problems.at(0), HasSubstr("launches: 70.000 ns instead of 65.000 ns"));
}

TEST(TraceCheck, ARuleAboutNothingFails) {
  EXPECT_FALSE(Check("kind = \"kernel\"\nkernel = \"no such\"\nmax_time_us = 1").passed);
  EXPECT_FALSE(Check("kind = \"unit\"\nunit = \"no such\"\nmax_percent = 1").passed);
  EXPECT_FALSE(Check("kind = \"counter\"\ncounter = \"no such\"\nmax_peak = 1").passed);
  EXPECT_FALSE(
      Check("kind = \"order\"\nfirst = { name = \"no such\" }\nthen = { name = \"x\" }").passed);
}

TEST(TraceCheck, BadRulesNameFileRuleAndKey) {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      ParseRules(text, "rules.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(problem("[[rule]]\nkind = \"kernl\""), HasSubstr("rules.toml:1: rule 1: kind"));
  EXPECT_THAT(problem("[[rule]]\nkind = \"kernel\"\nmax_time_us = 1\nmax_tme = 2"),
              HasSubstr("unknown key 'max_tme'"));
  EXPECT_THAT(problem("[[rule]]\nkind = \"kernel\""), HasSubstr("says no limit"));
  EXPECT_THAT(problem("[[rule]]\nkind = \"kernel\"\nmax_time_us = \"1\""),
              HasSubstr("must be a number"));
  EXPECT_THAT(problem("[[rule]]\nkind = \"order\"\nfirst = 3"), HasSubstr("must be a table"));
  EXPECT_THAT(problem("x = 1"), HasSubstr("[[rule]]"));
  EXPECT_THAT(problem(""), HasSubstr("no [[rule]]"));
  EXPECT_THAT(problem("[[rule"), HasSubstr("rules.toml:1"));
}

TEST(TraceCheck, JunitHasATestCaseForEachRule) {
  const std::vector<RuleResult> results = CheckRules(
      Tiles(), ParseRules("[[rule]]\nname = \"a < b\"\nkind = \"kernel\"\nmax_time_us = 0.02\n"
                          "[[rule]]\nkind = \"window\"\nmax_time_us = 1\n",
                          "rules.toml"));
  const std::string xml = ToJunit(results, "run.sctrace");
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"run.sctrace\" tests=\"2\" failures=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("name=\"a &lt; b\"><failure message=\"2 of the rule\">"));
  EXPECT_THAT(ToText(results), HasSubstr("1 of 2 rules FAILED"));
  EXPECT_EQ(ToJson(results)["passed"], false);
}

}  // namespace
}  // namespace spyre::trace::check_test
