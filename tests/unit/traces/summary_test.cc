// SPDX-License-Identifier: Apache-2.0
#include "traces/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/traces/sample_trace.h"
#include "traces/intervals.h"

namespace spyre::trace::summary_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename T>
const T& Find(const std::vector<T>& items, const std::string& name) {
  for (const T& item : items) {
    if (item.name == name) return item;
  }
  throw std::runtime_error("nothing is named " + name);
}

TEST(Intervals, CountOverlappingAndTouchingSlicesOnce) {
  const IntervalSet set({{50, 60}, {0, 10}, {5, 20}, {20, 30}, {7, 7}, {52, 53}});
  EXPECT_EQ(set.length_ps(), 40U);
  EXPECT_EQ(set.intervals().size(), 2U);
}

TEST(Intervals, OverlapsOfSeveralSetsAddUp) {
  const IntervalSet set({{0, 30}, {50, 60}}), other({{20, 55}, {55, 58}});
  const auto overlap = [](const std::vector<const IntervalSet*>& sets,
                          const std::vector<Interval>& during) {
    return Occupancy(sets).OverlapPs(IntervalSet(during));
  };
  EXPECT_EQ(overlap({&set}, {{25, 55}}), 10U);
  EXPECT_EQ(overlap({&set}, {{30, 50}}), 0U);
  EXPECT_EQ(overlap({&set}, {{0, 1}, {29, 51}, {59, 99}}), 4U);
  EXPECT_EQ(overlap({&set, &other}, {{25, 57}}), 5U + 7 + 32);
  EXPECT_EQ(overlap({&set, &other}, {{0, 1000}}), 40U + 38);
  EXPECT_EQ(overlap({}, {{0, 10}}), 0U);
  EXPECT_EQ(overlap({&set}, {}), 0U);
}

TEST(Summary, RunGoesFromZeroToTheLastEnd) {
  const Summary summary = Summarize(SampleTrace());
  EXPECT_EQ(summary.begin_ps, 0U);
  EXPECT_EQ(summary.run_ps(), 8000U);
  EXPECT_EQ(summary.records, 11U);
}

TEST(Summary, AfterDroppedRecordsTheRunStartsWhereNoneIsMissing) {
  Recorder recorder(3);
  RecordSample(recorder);
  const Summary summary = Summarize(Snapshot(recorder));
  EXPECT_EQ(summary.dropped, 8U);
  EXPECT_EQ(summary.begin_ps, 6000U) << "the end of the COMPUTE, which was dropped";
  EXPECT_EQ(summary.run_ps(), 2000U);
  EXPECT_THAT(ToText(summary), HasSubstr("oldest 8 records were dropped"));
}

TEST(Summary, UnitsAreBusyForTheUnionOfTheirSlices) {
  const Summary summary = Summarize(SampleTrace());
  const UnitSummary& dma = Find(summary.units, "card/dma in");
  EXPECT_EQ(dma.busy_ps, 2000U) << "[0,1200] and [1000,2000] overlap by 200 ps";
  EXPECT_EQ(dma.slices, 2U);
  EXPECT_EQ(dma.bytes, 4096U);
  EXPECT_EQ(dma.first_ps, 0U);
  EXPECT_EQ(dma.last_ps, 2000U);
  EXPECT_EQ(Find(summary.units, "host/thread 0").busy_ps, 900U);
  EXPECT_EQ(summary.units.size(), 4U) << "streams are not units";
}

TEST(Summary, CoresAreGroupedByUnit) {
  const Summary summary = Summarize(SampleTrace());
  const GroupSummary& pt = Find(summary.groups, "core */pt");
  EXPECT_EQ(pt.units.size(), 2U);
  EXPECT_EQ(pt.busy_sum_ps, 3000U);
  EXPECT_EQ(pt.busy_min_ps, 1000U);
  EXPECT_EQ(pt.busy_max_ps, 2000U);
  EXPECT_EQ(pt.busy_any_ps, 2000U);
  EXPECT_EQ(pt.first_ps, 3000U);
  EXPECT_EQ(pt.last_ps, 5000U);
  EXPECT_EQ(summary.groups.front().name, "card/dma in") << "busiest first";
}

TEST(Summary, KernelsHaveCountAndTimesAndTheirBusiestUnits) {
  const Summary summary = Summarize(SampleTrace());
  ASSERT_EQ(summary.operations.size(), 3U);
  const OperationSummary& mm = summary.operations.front();
  EXPECT_EQ(mm.name, "COMPUTE mm");
  EXPECT_TRUE(mm.is_kernel);
  EXPECT_EQ(mm.count, 2U);
  EXPECT_EQ(mm.total_ps, 5000U);
  EXPECT_EQ(mm.min_ps, 2000U);
  EXPECT_EQ(mm.max_ps, 3000U);
  ASSERT_EQ(mm.units.size(), 1U);
  EXPECT_EQ(mm.units[0].group, "core */pt");
  EXPECT_DOUBLE_EQ(mm.units[0].utilization, 3000.0 / (2 * 3500.0)) << "runs at once from 2500 on";
  const OperationSummary& dma_in = Find(summary.operations, "DMA_IN");
  EXPECT_FALSE(dma_in.is_kernel);
  EXPECT_EQ(dma_in.bytes, 4096U);
  EXPECT_DOUBLE_EQ(dma_in.units.at(0).utilization, 1.0);
}

TEST(Summary, StepsOfAKernelAreListedInTheirOrderWithTheUnitsMeanwhile) {
  Recorder recorder;
  RecordSample(recorder);
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  recorder.Slice(kStep, stream, recorder.Intern("sdsc_1"), 3000, 4000, 8, 256, 0);
  recorder.Slice(kStep, stream, recorder.Intern("sdsc_0"), 4000, 5500, 8, 0, 0);
  recorder.Slice(kStep, stream, recorder.Intern("sdsc_1"), 5500, 6000, 8, 128, 1);
  const Summary summary = Summarize(Snapshot(recorder));
  ASSERT_EQ(summary.steps.size(), 2U);
  EXPECT_EQ(summary.steps[0].name, "sdsc_1");
  EXPECT_EQ(summary.steps[0].count, 2U);
  EXPECT_EQ(summary.steps[0].total_ps, 1500U);
  EXPECT_EQ(summary.steps[0].bytes, 384U);
  EXPECT_DOUBLE_EQ(summary.steps[0].units.at(0).utilization, 2000.0 / (2 * 1500.0));
  EXPECT_EQ(summary.steps[1].total_ps, 1500U);
  // They are neither control blocks nor a unit.
  EXPECT_EQ(summary.operations.size(), 3U);
  EXPECT_EQ(summary.streams[0].operations.size(), 3U);
  EXPECT_EQ(summary.streams[0].busy_ps, 7000U);
  EXPECT_EQ(summary.units.size(), 4U);
  EXPECT_THAT(ToText(summary), HasSubstr("Steps of the kernels, in their order"));
  EXPECT_EQ(ToJson(summary)["steps"][1]["name"], "sdsc_0");
  EXPECT_THAT(ToText(Summarize(SampleTrace())), Not(HasSubstr("Steps")));
}

TEST(Summary, StreamsListOperationsInOrderWithTheGapsBetween) {
  const Summary summary = Summarize(SampleTrace());
  ASSERT_EQ(summary.streams.size(), 2U);
  const StreamSummary& stream = summary.streams[0];
  ASSERT_EQ(stream.operations.size(), 3U);
  EXPECT_EQ(stream.operations[0].name, "DMA_IN");
  EXPECT_EQ(stream.operations[0].gap_ps, 0U);
  EXPECT_EQ(stream.operations[1].gap_ps, 1000U);
  EXPECT_EQ(stream.operations[2].gap_ps, 0U);
  EXPECT_EQ(stream.gap_total_ps, 1000U);
  EXPECT_EQ(stream.gap_largest_ps, 1000U);
  EXPECT_EQ(stream.busy_ps, 7000U);
  EXPECT_EQ(summary.streams[1].operations.size(), 1U);
}

TEST(Summary, RatesAreDecimalGigabytesPerSecondOfBusyTime) {
  EXPECT_DOUBLE_EQ(GigabytesPerSecond(4096, 2000), 2048.0);
  EXPECT_EQ(GigabytesPerSecond(4096, 0), 0.0);
  const auto json = ToJson(Summarize(SampleTrace()));
  EXPECT_EQ(json["units"].at(1)["name"], "card/dma in");
  EXPECT_EQ(json["units"].at(1)["gb_per_s"], 2048.0);
}

TEST(Summary, JsonHoldsTheFiguresInNanoseconds) {
  const auto json = ToJson(Summarize(SampleTrace()));
  EXPECT_EQ(json["sim_time_ns"], 8.0);
  EXPECT_EQ(json["metadata"]["card"], "spyre");
  ASSERT_EQ(json["kernels"].size(), 1U);
  EXPECT_EQ(json["kernels"][0]["mean_ns"], 2.5);
  EXPECT_EQ(json["control_blocks"].size(), 2U);
  EXPECT_EQ(json["streams"][0]["gap_largest_ns"], 1.0);
  ASSERT_EQ(json["units"].size(), 4U);
  EXPECT_EQ(json["units"][1]["name"], "card/dma in");
  EXPECT_EQ(json["units"][1]["utilization"], 0.25);
  EXPECT_EQ(json["units"][1]["utilization_active"], 1.0);
}

TEST(Summary, TextShowsGroupsAndOnRequestEveryCore) {
  const Summary summary = Summarize(SampleTrace());
  const std::string text = ToText(summary);
  EXPECT_THAT(text, HasSubstr("card = spyre"));
  EXPECT_THAT(text, HasSubstr("core */pt"));
  EXPECT_THAT(text, Not(HasSubstr("core 01/pt")));
  EXPECT_THAT(text, HasSubstr("stream 0: 3 operations, busy 7.000 ns, gaps 1.000 ns in total"));
  SummaryOptions options;
  options.per_core = true;
  options.stream_operations = 1;
  const std::string full = ToText(summary, options);
  EXPECT_THAT(full, HasSubstr("core 01/pt"));
  EXPECT_THAT(full, HasSubstr("... 2 more"));
}

TEST(Summary, OfARunWithoutRecordsSaysSo) {
  const Summary summary = Summarize(Snapshot(Recorder(10, 0)));
  EXPECT_EQ(summary.run_ps(), 0U);
  EXPECT_THAT(ToText(summary), HasSubstr("No records"));
  EXPECT_EQ(ToJson(summary)["units"].size(), 0U);
}

TEST(Summary, SurvivesTheLargestTimes) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  const NameId name = recorder.Intern("read");
  recorder.Slice(kMemory, track, name, 0, UINT64_MAX, 0, UINT64_MAX);
  recorder.Slice(kMemory, track, name, 5, UINT64_MAX, 0, UINT64_MAX);
  const Summary summary = Summarize(Snapshot(recorder));
  EXPECT_EQ(summary.units.at(0).busy_ps, UINT64_MAX);
  EXPECT_THAT(ToText(summary), HasSubstr("memory/channel 00"));
}

}  // namespace
}  // namespace spyre::trace::summary_test
