// SPDX-License-Identifier: Apache-2.0
// Figures of a trace that dropped records are those of the complete trace in the same window. The
// oracle counts picosecond by picosecond in the records of the complete one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/ranges.h"
#include "tests/unit/traces/report_page.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/critical_path.h"
#include "traces/diff.h"
#include "traces/query.h"
#include "traces/summary.h"

namespace spyre::trace::window_test {
namespace {

using ::testing::HasSubstr;

uint64_t TimeOfKind(const CriticalPath& path, const std::string& kind) {
  uint64_t time = 0;
  for (const PathSegment& segment : path.segments)
    if (segment.kind == kind) time += segment.length_ps();
  return time;
}

constexpr uint64_t kEndPs = 3000;
constexpr uint64_t kKernelFlow = 7;

// A run in which records are not in the order of their ends, as those of a card are not.
void RecordChaos(Recorder& recorder, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  std::vector<TrackId> streams, units;
  for (int i = 0; i < 2; ++i)
    streams.push_back(recorder.AddTrack("card", "stream " + std::to_string(i)));
  for (const char* unit : {"load", "store", "pt"}) {
    for (const char* core : {"core 00", "core 01"}) units.push_back(recorder.AddTrack(core, unit));
  }
  const TrackId channel = recorder.AddTrack("memory", "channel 0");
  const TrackId host = recorder.AddTrack("host", "thread 0");
  for (uint64_t now = 0; now < kEndPs;) {
    now += below(25);
    const uint64_t start = now - std::min(now, below(60)), end = start + below(90);
    switch (below(10)) {
      case 0:
        recorder.Slice(kControl, streams[below(2)],
                       recorder.Intern(below(2) == 0 ? "COMPUTE a" : "DMA_IN"), start,
                       end + below(500), 100 + below(9), below(1000));
        break;
      case 1:
        recorder.Slice(kStep, streams[0], recorder.Intern("sdsc_" + std::to_string(below(3))),
                       start, end, 8, below(50));
        break;
      case 2:
        recorder.Slice(kMemory, channel, recorder.Intern("burst"), start, end, kKernelFlow,
                       below(4096));
        break;
      case 3:
        recorder.Slice(kHost, host, recorder.Intern("enqueue"), start, end);
        break;
      case 4:
      case 5: {
        constexpr const char* kWaits[] = {"token wait", "token wait", "partner wait"};
        recorder.Slice(kWait, units[below(6)], recorder.Intern(kWaits[below(3)]), start, end,
                       kKernelFlow, 0, units[below(6)]);
        break;
      }
      default:
        recorder.Slice(kCore, units[below(6)], recorder.Intern("tile"), start, end, kKernelFlow,
                       below(300));
    }
  }
  recorder.Slice(kControl, streams[0], recorder.Intern("COMPUTE long"), 100, kEndPs + 100,
                 kKernelFlow);
}

class Window : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    Recorder whole(1 << 20);
    RecordChaos(whole, GetParam());
    whole_ = Snapshot(whole);
    const size_t records = whole_.records.size();
    Recorder part(records / 2 + GetParam());
    RecordChaos(part, GetParam());
    part_ = DecodeTrace(EncodeTrace(Snapshot(part)), "part");  // also through a file
    ASSERT_GT(part_.dropped, 0u);
    for (size_t i = 0; i < part_.dropped; ++i) from_ = std::max(from_, whole_.records[i].end_ps);
    for (const Record& record : whole_.records) end_ = std::max(end_, record.end_ps);
  }

  std::vector<Record> Ended(const std::string& track) const {
    std::vector<Record> records;
    for (const Record& record : whole_.records) {
      const Track& t = whole_.tracks[record.track];
      if (t.process + "/" + t.name == track && record.end_ps > from_) records.push_back(record);
    }
    return records;
  }
  // The moments in the window at which a record of the track is under way.
  std::set<uint64_t> Busy(const std::string& track) const {
    std::set<uint64_t> moments;
    for (const Record& record : Ended(track)) {
      if (record.category == kWait) continue;
      for (uint64_t t = std::max(from_, record.start_ps); t < record.end_ps; ++t) moments.insert(t);
    }
    return moments;
  }

  Trace whole_, part_;
  uint64_t from_ = 0, end_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Seed, Window, ::testing::Range(1u, 31u));

TEST_P(Window, BeginsWhereNothingIsMissing) {
  const Summary summary = Summarize(part_);
  EXPECT_EQ(summary.begin_ps, from_);
  EXPECT_EQ(summary.end_ps, end_);
  EXPECT_THAT(ToText(summary), HasSubstr("on, where none is missing"));
}

TEST_P(Window, UnitsAreAsBusyAsInTheCompleteTrace) {
  const Summary summary = Summarize(part_);
  EXPECT_GE(summary.units.size(), 6u);
  for (const UnitSummary& unit : summary.units) {
    EXPECT_EQ(unit.busy_ps, Busy(unit.name).size()) << unit.name;
    uint64_t slices = 0, bytes = 0;
    for (const Record& record : Ended(unit.name)) {
      if (record.category == kWait) continue;
      ++slices;
      const double inside = static_cast<double>(record.end_ps - std::max(from_, record.start_ps));
      const double length = static_cast<double>(record.end_ps - record.start_ps);
      bytes += record.start_ps >= from_
                   ? record.bytes
                   : static_cast<uint64_t>(static_cast<double>(record.bytes) * inside / length);
    }
    EXPECT_EQ(unit.slices, slices) << unit.name;
    EXPECT_NEAR(static_cast<double>(unit.bytes), static_cast<double>(bytes),
                static_cast<double>(slices))
        << unit.name;
    EXPECT_GE(unit.first_ps, from_);
  }
}

TEST_P(Window, ControlBlocksThatEndInItHaveTheirWholeTime) {
  const Summary summary = Summarize(part_);
  size_t seen = 0;
  for (const OperationSummary& operation : summary.operations) {
    uint64_t count = 0, total = 0, shortest = UINT64_MAX, bytes = 0;
    std::set<uint64_t> during;
    for (const std::string track : {"card/stream 0", "card/stream 1"}) {
      for (const Record& record : Ended(track)) {
        if (record.category != kControl || whole_.names[record.name] != operation.name) continue;
        ++count;
        total += record.end_ps - record.start_ps;
        shortest = std::min(shortest, record.end_ps - record.start_ps);
        bytes += record.bytes;
        for (uint64_t t = std::max(from_, record.start_ps); t < record.end_ps; ++t)
          during.insert(t);
      }
    }
    EXPECT_EQ(operation.count, count) << operation.name;
    EXPECT_EQ(operation.total_ps, total) << operation.name;
    EXPECT_EQ(operation.min_ps, shortest) << operation.name;
    EXPECT_EQ(operation.bytes, bytes) << operation.name;
    for (const GroupShare& share : operation.units) {
      const bool is_core = share.group.rfind("core *", 0) == 0;
      uint64_t busy = 0;
      for (const std::string core : {"core 00", "core 01"}) {
        const std::string track = is_core ? core + share.group.substr(6) : share.group;
        for (const uint64_t t : Busy(track)) busy += during.count(t);
        if (!is_core) break;
      }
      EXPECT_DOUBLE_EQ(
          share.utilization,
          static_cast<double>(busy) / static_cast<double>(during.size()) / (is_core ? 2.0 : 1.0))
          << operation.name << " and " << share.group;
      ++seen;
    }
  }
  EXPECT_GT(seen, 3u);
}

TEST_P(Window, TheCriticalPathSaysNothingElseThanTheCompleteOne) {
  for (const std::string kernel : {"long", "a"}) {
    std::optional<KernelRun> run;
    for (const KernelRun& k : Kernels(part_)) {
      if (k.name == "COMPUTE " + kernel) run = k;
    }
    if (!run) continue;
    const CriticalPath whole = FollowCriticalPath(whole_, *run);
    const CriticalPath part = FollowCriticalPath(part_, *run);
    uint64_t at = run->start_ps;
    for (const PathSegment& segment : part.segments) {
      EXPECT_EQ(segment.start_ps, at);
      at = segment.end_ps;
      if (segment.kind == "not recorded") continue;
      EXPECT_GE(segment.start_ps, run->start_ps < from_ ? from_ : 0);
      const bool is_known = AnyFits(whole.segments, [&](const PathSegment& other) {
        return other.kind == segment.kind && other.unit == segment.unit &&
               other.name == segment.name && other.start_ps <= segment.start_ps &&
               other.end_ps == segment.end_ps;
      });
      EXPECT_TRUE(is_known) << segment.kind << " of " << segment.unit << " from "
                            << segment.start_ps << " to " << segment.end_ps << ", window from "
                            << from_;
    }
    EXPECT_EQ(at, run->end_ps);
    if (run->start_ps < from_) {
      EXPECT_THAT(ToText(part), HasSubstr("were dropped"));
      EXPECT_GE(TimeOfKind(part, "not recorded"), from_ - run->start_ps);
    }
  }
}

TEST_P(Window, ADifferenceIsOfTheTimeAtWhichBothAreWhole) {
  Trace other = whole_;
  other.digest = 1;
  for (const Diff& diff : {Compare(part_, other), Compare(other, part_)}) {
    EXPECT_EQ(diff.from_ps, from_);
    EXPECT_EQ(diff.run_a_ps, end_ - from_);
    EXPECT_EQ(diff.run_b_ps, end_ - from_);
    for (const auto* changes : {&diff.operations, &diff.groups, &diff.units}) {
      EXPECT_FALSE(changes->empty());
      for (const Change& change : *changes) EXPECT_FALSE(change.IsChange()) << change.name;
    }
    EXPECT_THAT(ToText(diff, false), HasSubstr("where neither misses any"));
  }
}

TEST(WindowOfTheReport, HoldsTheTimelineToo) {
  Recorder recorder(3);
  RecordSample(recorder);
  const Trace trace = Snapshot(recorder);
  const std::string page = Report({{trace, "run", nullptr}});
  EXPECT_EQ(Head(page)["begin_ps"], 6000);
  ASSERT_EQ(Slices(page).size(), 1U);
  EXPECT_EQ(Slices(page)[0].name, "DMA_OUT");
}

}  // namespace
}  // namespace spyre::trace::window_test
