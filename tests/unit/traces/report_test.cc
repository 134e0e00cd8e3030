// SPDX-License-Identifier: Apache-2.0
#include "traces/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/traces/sample_trace.h"

namespace spyre::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Report(const Trace& trace, const std::string& title, size_t max = kReportSlices) {
  std::ostringstream out;
  WriteReport(trace, title, out, max);
  return out.str();
}

nlohmann::json Data(const std::string& page) {
  const std::string mark = "const data = ";
  const size_t start = page.find(mark) + mark.size();
  return nlohmann::json::parse(page.substr(start, page.find(";\n", start) - start));
}

// Count and bytes over all bars of the page: [start, length, name, flow, bytes, count, row] each.
std::pair<uint64_t, uint64_t> CountAndBytes(const nlohmann::json& data) {
  uint64_t count = 0, bytes = 0;
  for (const auto& process : data["timeline"]["processes"]) {
    for (const auto& track : process["tracks"]) {
      for (size_t i = 0; i < track["bars"].size(); i += 7) {
        bytes += track["bars"][i + 4].get<uint64_t>();
        count += track["bars"][i + 5].get<uint64_t>();
      }
    }
  }
  return {count, bytes};
}

TEST(Report, IsOnePageWithoutNetworkThatHoldsAllSlices) {
  const std::string page = Report(SampleTrace(), "run.trace");
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, HasSubstr("<h1>run.trace</h1>"));
  const auto data = Data(page);
  EXPECT_EQ(CountAndBytes(data), std::make_pair(uint64_t{11}, uint64_t{9216}));
  EXPECT_EQ(data["end_ps"], 8000);
  EXPECT_EQ(data["timeline"]["processes"][0]["name"], "host");
  EXPECT_EQ(data["summary"]["kernels"][0]["name"], "COMPUTE mm");
  EXPECT_EQ(data["timeline"]["merged_below_ps"], 0);
}

TEST(Report, OverlappingSlicesGetRows) {
  const auto card = Data(Report(SampleTrace(), "t"))["timeline"]["processes"][1];
  EXPECT_EQ(card["tracks"][2]["name"], "dma in");
  EXPECT_EQ(card["tracks"][2]["rows"], 2);
}

TEST(Report, NoNameCanLeaveTheScriptOrTheTitle) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("host", "</script><b>");
  recorder.Slice(kHost, track, recorder.Intern("</script><script>x"), 0, 10);
  const std::string page = Report(Snapshot(recorder), "<i>&");
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>")) << "one script element, closed once";
  EXPECT_THAT(page, HasSubstr("<h1>&lt;i&gt;&amp;</h1>"));
  EXPECT_EQ(Data(page)["timeline"]["names"][0], "</script><script>x");
}

TEST(Report, LongRunsAreMergedToTheLimitWithoutLosingCountOrBytes) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  for (uint64_t i = 0; i < 50000; ++i) {
    recorder.Slice(kMemory, track, name, i * 1000, i * 1000 + 600, 0, 64);
  }
  const auto data = Data(Report(Snapshot(recorder), "t", 500));
  EXPECT_GT(data["timeline"]["merged_below_ps"], 0);
  EXPECT_LE(data["timeline"]["processes"][0]["tracks"][0]["bars"].size(), 500U * 7);
  EXPECT_EQ(CountAndBytes(data), std::make_pair(uint64_t{50000}, uint64_t{50000 * 64}));
}

TEST(Report, EndsOnTheLongestPossibleRun) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  for (int i = 0; i < 3; ++i) recorder.Slice(kMemory, track, name, 0, UINT64_MAX);
  EXPECT_EQ(CountAndBytes(Data(Report(Snapshot(recorder), "t", 0))).first, 3U);
}

}  // namespace
}  // namespace spyre::trace
