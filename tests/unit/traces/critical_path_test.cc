// SPDX-License-Identifier: Apache-2.0
#include "traces/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/unit/traces/sample_trace.h"
#include "traces/summary.h"

namespace spyre::trace::critical_path_test {
namespace {

using ::testing::HasSubstr;

CriticalPath PathOf(const Trace& trace) {
  return FollowCriticalPath(trace, FindKernel(trace, "").value());
}

uint64_t TimeOf(const CriticalPath& path, const std::string& kind) {
  for (const PathShare& share : path.shares) {
    if (share.kind == kind) return share.time_ps;
  }
  return 0;
}

// No gaps, no overlaps, and the shares are those of all of it.
void ExpectWhole(const CriticalPath& path) {
  uint64_t at = path.kernel.start_ps;
  for (const PathSegment& segment : path.segments) {
    EXPECT_EQ(segment.start_ps, at) << segment.kind << " of " << segment.unit;
    EXPECT_GT(segment.end_ps, segment.start_ps);
    at = segment.end_ps;
  }
  EXPECT_EQ(at, path.kernel.end_ps);
  const uint64_t sum =
      std::accumulate(path.shares.begin(), path.shares.end(), uint64_t{0},
                      [](uint64_t total, const PathShare& s) { return total + s.time_ps; });
  EXPECT_EQ(sum, path.kernel.end_ps - path.kernel.start_ps);
}

// Slices of one kernel [0, 1000] ps, flow 1, with what a test adds.
class Drawn {
 public:
  TrackId Unit(int core, const char* unit) {
    return recorder_.AddTrack("core 0" + std::to_string(core), unit);
  }
  void Work(TrackId track, uint64_t start, uint64_t end) {
    recorder_.Slice(kCore, track, recorder_.Intern("work"), start, end, 1);
  }
  void Wait(TrackId track, uint64_t start, uint64_t end, TrackId by,
            const char* name = "token wait") {
    recorder_.Slice(kWait, track, recorder_.Intern(name), start, end, 1, 0, by);
  }
  CriticalPath Path() {
    recorder_.Slice(kControl, recorder_.AddTrack("card", "stream 0"), recorder_.Intern("COMPUTE k"),
                    0, 1000, 1);
    CriticalPath path = PathOf(Snapshot(recorder_));
    ExpectWhole(path);
    return path;
  }

 private:
  Recorder recorder_;
};

TEST(CriticalPath, GoesFromTheEndToTheLaunchThroughWhateverWasWaitedFor) {
  const CriticalPath path = PathOf(KernelTrace());
  ExpectWhole(path);
  const std::vector<std::tuple<std::string, std::string, uint64_t, uint64_t>> expected = {
      {"launch", "", 1000, 1500},
      {"load", "core 01/load", 1500, 3500},
      {"token hand-over", "core 01/load", 3500, 3600},
      {"vector", "core 01/vector", 3600, 7300},
      {"token hand-over", "core 01/vector", 7300, 7400},
      {"ring", "core 00/ring", 7400, 7500},
      {"token hand-over", "core 00/ring", 7500, 7600},
      {"store", "core 00/store", 7600, 8900},
      {"launch", "", 8900, 9000}};
  ASSERT_EQ(path.segments.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const PathSegment& segment = path.segments[i];
    EXPECT_EQ(std::tie(segment.kind, segment.unit, segment.start_ps, segment.end_ps),
              std::tie(std::get<0>(expected[i]), std::get<1>(expected[i]), std::get<2>(expected[i]),
                       std::get<3>(expected[i])))
        << "segment " << i;
  }
}

TEST(CriticalPath, SharesSumToTheKernelAndComeLargestFirst) {
  const CriticalPath path = PathOf(KernelTrace());
  ASSERT_EQ(path.shares.size(), 6U);
  EXPECT_EQ(path.shares[0].kind, "vector");
  EXPECT_EQ(path.shares[0].time_ps, 3700U);
  EXPECT_EQ(TimeOf(path, "load"), 2000U);
  EXPECT_EQ(TimeOf(path, "store"), 1300U);
  EXPECT_EQ(TimeOf(path, "launch"), 600U);
  EXPECT_EQ(TimeOf(path, "token hand-over"), 300U);
  EXPECT_EQ(TimeOf(path, "ring"), 100U);
  const PathShare& load = path.shares[1];
  EXPECT_DOUBLE_EQ(load.memory_busy.value(), 500.0 / 2000) << "the channel's burst in [1500, 3500]";
  EXPECT_DOUBLE_EQ(load.pt_busy.value(), 400.0 / 2000) << "the matmul from 3100 on";
}

TEST(CriticalPath, OverlappingLoadsCountFromTheirIssue) {
  Drawn drawn;
  const TrackId load = drawn.Unit(0, "load");
  drawn.Work(load, 100, 700);
  drawn.Work(load, 200, 1000);
  drawn.Work(load, 150, 800);
  const CriticalPath path = drawn.Path();
  ASSERT_EQ(path.segments.size(), 4U);
  EXPECT_EQ(path.segments[3].start_ps, 200U);
  EXPECT_EQ(path.segments[2].start_ps, 150U);
  EXPECT_EQ(path.segments[1].start_ps, 100U);
  EXPECT_EQ(path.segments[0].kind, "launch");
  EXPECT_EQ(TimeOf(path, "load"), 900U);
}

TEST(CriticalPath, TimeBetweenInstructionsIsTheSequencers) {
  Drawn drawn;
  const TrackId pt = drawn.Unit(0, "pt");
  drawn.Wait(drawn.Unit(0, "store"), 10, 20, pt);
  drawn.Work(pt, 50, 400);
  drawn.Work(pt, 450, 1000);
  const CriticalPath path = drawn.Path();
  EXPECT_EQ(TimeOf(path, "sequencer"), 50U + 40U) << "between the two, and before the first";
  EXPECT_EQ(TimeOf(path, "launch"), 10U) << "until the first unit does something";
  EXPECT_EQ(TimeOf(path, "pt"), 900U);
}

TEST(CriticalPath, AUnitThatPassesATokenOnIsPassedThrough) {
  Drawn drawn;
  const TrackId load = drawn.Unit(0, "load");
  const TrackId vector = drawn.Unit(0, "vector");
  const TrackId store = drawn.Unit(0, "store");
  drawn.Work(load, 0, 500);
  drawn.Wait(vector, 0, 510, load);
  drawn.Wait(store, 0, 530, vector);
  drawn.Work(store, 530, 1000);
  const CriticalPath path = drawn.Path();
  EXPECT_EQ(TimeOf(path, "token hand-over"), 30U);
  EXPECT_EQ(TimeOf(path, "load"), 500U);
  EXPECT_EQ(TimeOf(path, "store"), 470U);
}

TEST(CriticalPath, AWaitWhoseGiverIsUnknownStaysAWait) {
  Drawn drawn;
  const TrackId pt = drawn.Unit(0, "pt");
  drawn.Work(pt, 0, 300);
  drawn.Wait(pt, 300, 600, 4000000000U);
  drawn.Work(pt, 600, 1000);
  const CriticalPath path = drawn.Path();
  EXPECT_EQ(TimeOf(path, "token wait"), 300U);
  EXPECT_EQ(TimeOf(path, "pt"), 700U);
}

TEST(CriticalPath, ReturnsToAUnitThatWasPartnerEarlier) {
  // Two bursts of one load each wait for the other core's.
  Drawn drawn;
  const TrackId a = drawn.Unit(0, "load");
  const TrackId b = drawn.Unit(1, "load");
  drawn.Work(a, 100, 1000);
  drawn.Work(b, 100, 900);
  drawn.Wait(a, 500, 800, b, "partner wait");
  drawn.Wait(b, 200, 400, a, "partner wait");
  const CriticalPath path = drawn.Path();
  ASSERT_EQ(path.segments.size(), 4U);
  EXPECT_EQ(path.segments[1].unit, "core 00/load") << "from 100 to 400";
  EXPECT_EQ(path.segments[2].unit, "core 01/load") << "from 400 to 800";
  EXPECT_EQ(path.segments[3].unit, "core 00/load") << "from 800 on";
}

TEST(CriticalPath, OfAForgedTraceInWhichTwoUnitsWaitForEachOtherEnds) {
  Drawn drawn;
  const TrackId a = drawn.Unit(0, "pt");
  const TrackId b = drawn.Unit(1, "pt");
  drawn.Wait(a, 100, 1000, b);
  drawn.Wait(b, 100, 1000, a);
  EXPECT_EQ(TimeOf(drawn.Path(), "not recorded"), 900U);
}

TEST(CriticalPath, WithoutUnitsInTheTraceSaysWhatToRecord) {
  const CriticalPath path = PathOf(KernelTrace(kControl));
  ExpectWhole(path);
  EXPECT_EQ(TimeOf(path, "not recorded"), 8000U);
  EXPECT_THAT(ToText(path), HasSubstr("trace.categories = [\"core\", \"control\"]"));
}

TEST(CriticalPath, DoesNotCallLaunchWhatTheRecorderDropped) {
  Recorder recorder(5);
  RecordKernel(recorder);
  const CriticalPath path = PathOf(Snapshot(recorder));
  ExpectWhole(path);
  EXPECT_EQ(TimeOf(path, "launch"), 100U) << "after the last unit";
  EXPECT_GT(TimeOf(path, "not recorded"), 0U);
}

TEST(CriticalPath, KernelsAreFoundByNumberByNameAndByLength) {
  const Trace trace = SampleTrace();
  EXPECT_EQ(Kernels(trace).size(), 2U);
  EXPECT_EQ(FindKernel(trace, "")->flow, 8U) << "3000 ps";
  EXPECT_EQ(FindKernel(trace, "0")->flow, 9U) << "starts first";
  EXPECT_EQ(FindKernel(trace, "mm")->flow, 8U);
  EXPECT_EQ(FindKernel(trace, "COMPUTE mm")->flow, 8U);
  EXPECT_THROW(FindKernel(trace, "DMA_IN"), Error);
  EXPECT_THROW(FindKernel(trace, "99999999999999999999"), Error);
  const Trace empty = Snapshot(Recorder());
  EXPECT_FALSE(FindKernel(empty, "").has_value());
  EXPECT_THROW(FindKernel(empty, "0"), Error);
}

TEST(CriticalPath, JsonHasSharesAndTheLongestSegments) {
  const auto json = ToJson(PathOf(KernelTrace()), 2);
  EXPECT_EQ(json["device_ns"], 8.0);
  EXPECT_EQ(json["segments"], 9);
  EXPECT_EQ(json["shares"][0]["kind"], "vector");
  EXPECT_EQ(json["shares"][0]["share"], 0.4625);
  double sum = 0;
  for (const auto& share : json["shares"]) sum += share["share"].get<double>();
  EXPECT_DOUBLE_EQ(sum, 1.0);
  ASSERT_EQ(json["longest"].size(), 2U);
  EXPECT_EQ(json["longest"][1]["unit"], "core 01/load");
}

TEST(Summary, WaitsAreNotBusyTime) {
  const Summary summary = Summarize(KernelTrace());
  for (const UnitSummary& unit : summary.units) {
    if (unit.name != "core 00/pt") continue;
    EXPECT_EQ(unit.busy_ps, 900U + 1400U);
    EXPECT_EQ(unit.slices, 2U);
  }
}

}  // namespace
}  // namespace spyre::trace::critical_path_test
