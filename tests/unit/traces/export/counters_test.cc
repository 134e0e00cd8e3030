// SPDX-License-Identifier: Apache-2.0
#include "traces/export/counters.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/traces/sample_trace.h"
#include "traces/run_results.h"

namespace spyre::trace::counters_test {
namespace {

const Counter* Find(const Counters& counters, const std::string& name) {
  for (const Counter& counter : counters.counters) {
    if (counter.name == name) return &counter;
  }
  return nullptr;
}

// Two channels: 4096 bytes are read from 0 to 2 ns, and 1024 written from 1 to 2 ns.
TEST(Counters, RatesAreTheBytesOfEachPeriod) {
  Recorder recorder;
  recorder.Slice(kMemory, recorder.AddTrack("memory", "channel 00"), recorder.Intern("read"), 0,
                 2000, 0, 4096);
  recorder.Slice(kMemory, recorder.AddTrack("memory", "channel 01"), recorder.Intern("write"), 1000,
                 2000, 0, 1024);
  const Counters counters = CountersOf(Snapshot(recorder), 0, 4000, 4);
  EXPECT_EQ(counters.period_ps, 1000u);
  const Counter* const memory = Find(counters, "memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->unit, "GB/s");
  ASSERT_EQ(memory->values.size(), 4u);
  EXPECT_DOUBLE_EQ(memory->values[0], 2048) << "half of 4096 bytes in a nanosecond";
  EXPECT_DOUBLE_EQ(memory->values[1], 3072);
  EXPECT_DOUBLE_EQ(memory->values[2], 0);
  const Counter* const read = Find(counters, "memory read");
  const Counter* const write = Find(counters, "memory write");
  ASSERT_TRUE(read != nullptr && write != nullptr);
  EXPECT_EQ(read->values, (std::vector<double>{2048, 2048, 0, 0}));
  EXPECT_EQ(write->values, (std::vector<double>{0, 1024, 0, 0}));
}

TEST(Counters, LoadsAreTheMeanOfTheUnitsThatAreThere) {
  const Counters counters = CountersOf(SampleTrace(), 0, 8000, 8);
  const Counter* const pt = Find(counters, "pt");
  ASSERT_NE(pt, nullptr);
  EXPECT_EQ(pt->unit, "%");
  EXPECT_DOUBLE_EQ(pt->values[3], 100) << "both from 3 to 4 ns";
  EXPECT_DOUBLE_EQ(pt->values[4], 50) << "one of two";
  EXPECT_DOUBLE_EQ(pt->values[5], 0);
  EXPECT_EQ(Find(counters, "vector"), nullptr) << "no such unit has a slice";
}

TEST(Counters, MacsOfAKernelAreSpreadOverItsPtSlices) {
  Trace trace = SampleTrace();
  RunResults results;
  results.launch_end_ps = 1;
  results.kernels[8] = {};
  results.macs[8] = 3000;  // over three slices of one nanosecond
  trace.results = EncodeRunResults(results);
  const Counters counters = CountersOf(trace, 0, 8000, 8);
  const Counter* const macs = Find(counters, "macs");
  ASSERT_NE(macs, nullptr);
  EXPECT_DOUBLE_EQ(macs->values[3], 2000) << "GMAC/s: 2000 in a nanosecond";
  EXPECT_DOUBLE_EQ(macs->values[4], 1000);
}

TEST(Counters, TheQueueHasWhatWasSubmittedAndHasNotEnded) {
  Recorder recorder;
  const TrackId host = recorder.AddTrack("host", "driver, function 1");
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  recorder.Slice(kHost, host, recorder.Intern("submit"), 0, 1000, 5);
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE a"), 2000, 4000, 5);
  const Counters counters = CountersOf(Snapshot(recorder), 0, 4000, 4);
  const Counter* const depth = Find(counters, "queue depth");
  ASSERT_NE(depth, nullptr);
  EXPECT_EQ(depth->values, (std::vector<double>{0, 1, 1, 1}));
}

TEST(Counters, ByThemselvesTheyAreOfTheTimeInWhichTheCardWorks) {
  Recorder recorder;
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  recorder.Slice(kHost, recorder.AddTrack("host", "x"), recorder.Intern("y"), 0, 10, 1);
  recorder.Slice(kControl, stream, recorder.Intern("COMPUTE a"), 5'000'000, 6'000'000, 5);
  const Counters counters = CountersOf(Snapshot(recorder));
  EXPECT_EQ(counters.from_ps, 5'000'000u);
  EXPECT_EQ(counters.period_ps, 1000u);
  EXPECT_TRUE(CountersOf(Trace{}).counters.empty());
}

}  // namespace
}  // namespace spyre::trace::counters_test
