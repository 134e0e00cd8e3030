// SPDX-License-Identifier: Apache-2.0
#include "traces/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "tests/unit/traces/report_page.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/run_results.h"

namespace spyre::trace::report_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Of(const Trace& trace, const std::string& title, size_t max = kReportSlices) {
  return Report({{trace, title, nullptr}}, max);
}

// Count and bytes over all slices of the page.
std::pair<uint64_t, uint64_t> CountAndBytes(const std::string& page) {
  uint64_t count = 0, bytes = 0;
  for (const PageSlice& slice : Slices(page)) {
    count += slice.count;
    bytes += slice.bytes;
  }
  return {count, bytes};
}

TEST(Report, IsOnePageThatAsksNobodyForAnything) {
  const std::string page = Of(SampleTrace(), "run.trace");
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("fetch(")));
  EXPECT_THAT(page, HasSubstr("<title>run.trace</title>"));
  EXPECT_THAT(page, Not(HasSubstr("%DATA%")));
}

TEST(Report, HoldsEverySliceAsItWasRecorded) {
  const Trace trace = KernelTrace();
  using Row = std::tuple<std::string, std::string, uint64_t, uint64_t, uint64_t, uint64_t>;
  std::vector<Row> expected, found;
  for (const Record& r : trace.records) {
    expected.emplace_back(trace.tracks[r.track].process + "/" + trace.tracks[r.track].name,
                          trace.names[r.name], r.start_ps, r.end_ps - r.start_ps, r.flow, r.bytes);
  }
  for (const PageSlice& s : Slices(Of(trace, "t")))
    found.emplace_back(s.track, s.name, s.start_ps, s.length_ps, s.flow, s.bytes);
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
}

TEST(Report, AWaitNamesTheTrackThatEndedIt) {
  const std::string page = Of(KernelTrace(), "t");
  const auto tracks = Head(page)["tracks"];
  for (const PageSlice& slice : Slices(page)) {
    if (slice.track != "core 01/vector" || slice.category != "wait") continue;
    EXPECT_EQ(tracks[slice.detail]["process"], "core 01");
    EXPECT_EQ(tracks[slice.detail]["name"], "load");
    return;
  }
  FAIL() << "the wait of the vector unit is not there";
}

TEST(Report, HasTheCriticalPathOfItsKernel) {
  const auto head = Head(Of(KernelTrace(), "t"));
  ASSERT_EQ(head["paths"].size(), 1U);
  const auto& path = head["paths"][0];
  uint64_t time = 0;
  for (size_t i = 4; i < path["segments"].size(); i += 5)
    time += path["segments"][i].get<uint64_t>();
  EXPECT_EQ(time, 8000U) << "the segments have no gaps";
  EXPECT_EQ(path["shares"][0]["kind"], "vector");
  EXPECT_EQ(path["shares"][0]["time_ps"], 3700);
}

// Copies, launches on two streams that the host queues within another call, and what comes behind.
Trace TwoLaunches() {
  Recorder recorder;
  const TrackId host = recorder.AddTrack("host", "stream 0");
  const TrackId streams[] = {recorder.AddTrack("card", "stream 0"),
                             recorder.AddTrack("card", "stream 1")};
  recorder.Slice(kHost, host, recorder.Intern("CopyToDevice"), 100, 200, 1, 64);
  recorder.Slice(kControl, streams[0], recorder.Intern("DMA_IN"), 300, 400, 1, 64);
  recorder.Slice(kHost, host, recorder.Intern("LaunchTiled"), 1000, 1800);
  recorder.Slice(kHost, host, recorder.Intern("Launch"), 1100, 1200, 2);
  recorder.Slice(kControl, streams[1], recorder.Intern("COMPUTE mm"), 2500, 7000, 3);
  recorder.Slice(kControl, streams[0], recorder.Intern("COMPUTE mm"), 2000, 5000, 2);
  recorder.Slice(kControl, streams[0], recorder.Intern("DMA_OUT"), 6000, 9000, 4);
  return Snapshot(recorder);
}

TEST(Report, TimeIsThatOfTheLaunchesAsTheRunMeasuredThem) {
  Trace trace = TwoLaunches();
  RunResults results;
  results.launch_begin_ps = 1150;  // the first operation is queued within the call
  results.launch_end_ps = 8500;    // behind the kernels: the launch's last operation is a copy
  trace.results = EncodeRunResults(results);
  EXPECT_EQ(Head(Of(trace, "t"))["launch"], nlohmann::json({1150, 8500}));
}

TEST(Report, WithoutTheRunsMeasureTimeIsThatOfTheKernelsOnAllStreams) {
  EXPECT_EQ(Head(Of(TwoLaunches(), "t"))["launch"], nlohmann::json({2000, 7000}));
  Trace killed = TwoLaunches();
  killed.is_interrupted = true;
  EXPECT_EQ(Head(Of(killed, "t"))["launch"], nlohmann::json({2000, 7000}));
}

TEST(Report, AKernelKnowsWhichTileItIs) {
  Trace trace = TwoLaunches();
  RunResults results;
  results.kernels[3] = {};
  results.macs[3] = 77;
  results.labels[3] = "tile 1 of 2, m=4..7";
  trace.results = EncodeRunResults(results);
  const nlohmann::json kernels = Head(Of(trace, "t"))["kernels"];
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["label"], "");
  EXPECT_EQ(kernels[1]["label"], "tile 1 of 2, m=4..7");
  EXPECT_EQ(kernels[1]["macs"], 77);
}

TEST(Report, WithoutKernelsTimeBeginsWithTheTrace) {
  Recorder recorder;
  recorder.Slice(kHost, recorder.AddTrack("host", "a"), recorder.Intern("x"), 50, 70);
  EXPECT_EQ(Head(Of(Snapshot(recorder), "t"))["launch"], nlohmann::json({0, 70}));
}

TEST(Report, SlicesAtTheSameTimeHaveLanes) {
  const auto head = Head(Of(SampleTrace(), "t"));
  for (const auto& track : head["tracks"]) {
    // Bursts overlap, and the doorbell is rung inside the call.
    const bool overlaps = track["name"] == "dma in" || track["name"] == "thread 0";
    EXPECT_EQ(track["lanes"], overlaps ? 2 : 1) << track;
  }
}

TEST(Report, WaitsLieBehindTheWorkOfTheirUnit) {
  for (const PageSlice& slice : Slices(Of(KernelTrace(), "t"))) {
    if (slice.category != "wait") continue;
    EXPECT_EQ(slice.lane, 0U) << slice.track;
  }
}

TEST(Report, NoNameCanLeaveItsElement) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("host", "</script><b>");
  recorder.Slice(kHost, track, recorder.Intern("</script><script>x"), 0, 10);
  const std::string page = Of(Snapshot(recorder), "</title><i>&");
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<script>x")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;i&gt;&amp;</title>"));
  EXPECT_EQ(Slices(page)[0].name, "</script><script>x");
}

TEST(Report, LongRunsAreMergedToTheLimitWithoutLosingCountOrBytes) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  for (uint64_t i = 0; i < 50000; ++i) {
    recorder.Slice(kMemory, track, name, i * 1000, i * 1000 + 600, 0, 64);
  }
  const std::string page = Of(Snapshot(recorder), "t", 500);
  EXPECT_GT(Head(page)["merged_below_ps"], 600);
  EXPECT_LE(Slices(page).size(), 500U);
  EXPECT_EQ(CountAndBytes(page), std::make_pair(uint64_t{50000}, uint64_t{50000 * 64}));
}

TEST(Report, BlocksGoOnWhereTheLastOneEnded) {
  Recorder recorder;
  const TrackId a = recorder.AddTrack("memory", "channel 00");
  const TrackId b = recorder.AddTrack("memory", "channel 01");
  const NameId name = recorder.Intern("read");
  constexpr uint64_t kEach = 50'000;  // two blocks, the second begins inside a track
  for (uint64_t i = 0; i < kEach; ++i) {
    recorder.Slice(kMemory, a, name, i * 10, i * 10 + 5, i, 64);
    recorder.Slice(kMemory, b, name, 7 + i * 20, 7 + i * 20 + 3, kEach - i, 32);
  }
  const auto slices = Slices(Of(Snapshot(recorder), "t"));
  ASSERT_EQ(slices.size(), 2 * kEach);
  for (uint64_t i = 0; i < kEach; ++i) {
    ASSERT_EQ(slices[i].start_ps, i * 10);
    ASSERT_EQ(slices[i].flow, i);
    ASSERT_EQ(slices[kEach + i].start_ps, 7 + i * 20);
    ASSERT_EQ(slices[kEach + i].flow, kEach - i);
  }
}

TEST(Report, ALevelSaysHowBusyATrackWasInEachPartOfTheLaunches) {
  // A kernel of 4096 x 100 ps, so that a bin is 100 ps, and a unit busy for 25 ps of each.
  Recorder recorder;
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  const TrackId pt = recorder.AddTrack("core 00", "pt");
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE mm"), 1000, 1000 + 409'600, 1);
  for (uint64_t i = 0; i < 4096; ++i) {
    recorder.Slice(kCore, pt, recorder.Intern(i < 2000 ? "matmul" : "load block"), 1000 + i * 100,
                   1000 + i * 100 + 25, 1);
  }
  const std::string page = Of(Snapshot(recorder), "t");
  const auto head = Head(page);
  ASSERT_EQ(head["levels"]["tracks"].size(), 1U) << "a track of one slice needs none";
  EXPECT_EQ(head["levels"]["from_ps"], 1000);
  const std::string bytes = Part(page, "run-0-levels");
  ASSERT_EQ(bytes.size(), 4096U * 4);
  for (size_t bin = 0; bin < 4096; ++bin) {
    ASSERT_EQ(static_cast<uint8_t>(bytes[bin]), 64) << "a quarter of 255, in bin " << bin;
    ASSERT_EQ(bytes[4096 + bin], 0) << "nobody waited";
    const size_t kind = static_cast<uint8_t>(bytes[8192 + 2 * bin]);
    ASSERT_EQ(head["names"][head["kinds"][kind]["name"].get<size_t>()],
              bin < 2000 ? "matmul" : "load block");
  }
}

TEST(Report, LeadsWithTheVerdictOfTheRunWithoutAScript) {
  const auto before_scripts = [](const std::string& page) {
    return page.substr(0, page.find("<script"));
  };
  EXPECT_THAT(before_scripts(Of(SampleTrace(), "t")), HasSubstr("is not known here"));
  const nlohmann::json wrong = {
      {"verdict",
       {{"status", "wrong"},
        {"ran", "add <a & b>"},
        {"checked", "2 of 64 elements differ"},
        {"time", "3 us"},
        {"lines",
         {{{"label", "ran"}, {"text", "add <a & b>"}},
          {{"label", "WRONG"}, {"text", "2 of 64 elements differ"}},
          {{"label", "problem"}, {"text", "c, element 7: got 1, expected 2"}},
          {{"label", "bound by"}, {"text", "PCIe, 40 %"}},
          {{"label", "next"}, {"text", "PCIe twice as fast: 20.1 % less time (simulated)"}}}}}}};
  const std::string page = before_scripts(Report({{SampleTrace(), "t", wrong}}, kReportSlices));
  for (const char* text :
       {"class=\"verdict bad\"", "<dt class=\"status\">WRONG</dt>", "add &lt;a &amp; b&gt;",
        "2 of 64 elements differ", "c, element 7: got 1, expected 2", "PCIe, 40 %",
        "<dt>next</dt><dd>PCIe twice as fast: 20.1 % less time (simulated)</dd>"})
    EXPECT_THAT(page, HasSubstr(text));
  nlohmann::json right = wrong;
  right["verdict"]["status"] = "verified";
  EXPECT_THAT(Report({{SampleTrace(), "A", right}, {SampleTrace(), "B", wrong}}, kReportSlices),
              ::testing::AllOf(HasSubstr("verdict good"), HasSubstr("<dt>run</dt><dd>B</dd>")));
  // A report of a version that did not write the lines.
  right["verdict"].erase("lines");
  EXPECT_THAT(Report({{SampleTrace(), "t", right}}, kReportSlices),
              ::testing::AllOf(HasSubstr("<dt>time</dt><dd>3 us</dd>"),
                               HasSubstr("<dt class=\"status\">verified</dt>")));
  // What is not as a report has it is left out.
  right["verdict"] = {{"status", 3}, {"lines", {"soon", 7}}, {"time", 7}};
  EXPECT_THAT(Report({{SampleTrace(), "t", right}}, kReportSlices), HasSubstr("class=\"verdict\""));
}

TEST(Report, TwoRunsStandInOnePage) {
  const Trace a = SampleTrace(), b = KernelTrace();
  const std::string page = Report({{a, "a.trace", nullptr}, {b, "b.trace", nullptr}});
  EXPECT_EQ(Head(page, 0)["title"], "a.trace");
  EXPECT_EQ(Head(page, 1)["title"], "b.trace");
  EXPECT_EQ(Slices(page, 0).size(), a.records.size());
  EXPECT_EQ(Slices(page, 1).size(), b.records.size());
  EXPECT_THAT(page, HasSubstr("<title>a.trace and b.trace</title>"));
}

TEST(Report, TakesTheReportBesideTheTraceOnlyIfItIsOfTheSameRun) {
  const Trace trace = SampleTrace();  // its digest is e4e4188715cf1327
  const std::string folder = ::testing::TempDir() + "/report_beside";
  std::filesystem::create_directories(folder);
  const auto beside = [&](const std::string& text) {
    std::ofstream(folder + "/report.json") << text;
    return ReportBeside(folder + "/trace.sctrace", trace);
  };
  EXPECT_EQ(beside(R"({"trace": {"digest": "e4e4188715cf1327"}, "launch_ns": 8.0})")["launch_ns"],
            8.0);
  EXPECT_TRUE(beside(R"({"trace": {"digest": "0000000000000000"}})").is_null());
  EXPECT_TRUE(beside(R"({"trace": 3})").is_null());
  EXPECT_TRUE(beside("no JSON").is_null());
  std::filesystem::remove(folder + "/report.json");
  EXPECT_TRUE(ReportBeside(folder + "/trace.sctrace", trace).is_null());
}

TEST(Report, EndsOnTheLongestPossibleRun) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  for (int i = 0; i < 3; ++i) recorder.Slice(kMemory, track, name, 0, UINT64_MAX);
  EXPECT_EQ(CountAndBytes(Of(Snapshot(recorder), "t", 0)).first, 3U);
}

}  // namespace
}  // namespace spyre::trace::report_test
