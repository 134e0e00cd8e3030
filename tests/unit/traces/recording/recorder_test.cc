// SPDX-License-Identifier: Apache-2.0
#include "traces/recording/recorder.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/printable.h"
#include "tests/unit/traces/sample_trace.h"

namespace spyre::trace::recorder_test {
namespace {

TEST(Recorder, KeepsRecordsInOrderWithTheirTracksAndNames) {
  Recorder recorder;
  RecordSample(recorder);
  const auto records = recorder.Records();
  ASSERT_EQ(records.size(), 11U);
  EXPECT_EQ(recorder.names()[records[2].name], "DMA_IN");
  EXPECT_EQ(recorder.tracks()[records[2].track].name, "stream 0");
  EXPECT_EQ(records[2].bytes, 4096U);
  EXPECT_EQ(records[2].flow, 7U);
  EXPECT_EQ(recorder.dropped(), 0U);
}

TEST(Recorder, GivesTheSameIdForTheSameTrackAndName) {
  Recorder recorder;
  const TrackId a = recorder.AddTrack("core 00", "pt");
  EXPECT_NE(recorder.AddTrack("core 00", "load"), a);
  EXPECT_NE(recorder.AddTrack("core 01", "pt"), a);
  EXPECT_EQ(recorder.AddTrack("core 00", "pt"), a);
  EXPECT_EQ(recorder.Intern("tile"), recorder.Intern("tile"));
  EXPECT_NE(recorder.Intern("tile"), recorder.Intern("burst"));
}

TEST(Recorder, DropsAndCountsTheOldestRecordsWhenFull) {
  Recorder recorder(/*capacity=*/4);
  const TrackId track = recorder.AddTrack("host", "thread 0");
  const NameId name = recorder.Intern("call");
  for (uint64_t i = 0; i < 11; ++i) recorder.Slice(kHost, track, name, i, i + 1);
  EXPECT_EQ(recorder.dropped(), 7U);
  const auto records = recorder.Records();
  ASSERT_EQ(records.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(records[i].start_ps, 7 + i) << "record " << i;
}

TEST(Recorder, WithoutCapacityOnlyCountsAndDigests) {
  Recorder none(0), all;
  RecordSample(none);
  RecordSample(all);
  EXPECT_TRUE(none.Records().empty());
  EXPECT_EQ(none.dropped(), 11U);
  EXPECT_EQ(none.Digest(), all.Digest());
}

TEST(Recorder, RecordsOnlyTheCategoriesOfItsMask) {
  Recorder recorder(100, kDma | kHost);
  RecordSample(recorder);
  EXPECT_FALSE(recorder.Wants(kCore));
  ASSERT_EQ(recorder.Records().size(), 4U);
  for (const Record& record : recorder.Records()) {
    EXPECT_NE(record.category & (kDma | kHost), 0U) << CategoryName(Category(record.category));
  }
}

TEST(Recorder, DigestIsEqualForEqualRunsWhateverWasDropped) {
  Recorder a, b, small(3);
  RecordSample(a);
  RecordSample(b);
  RecordSample(small);
  EXPECT_EQ(a.Digest(), b.Digest());
  EXPECT_EQ(a.Digest(), small.Digest());
}

TEST(Recorder, DigestSeesEveryField) {
  const auto digest = [](Record r, const char* track = "t", const char* name = "n") {
    Recorder recorder;
    recorder.AddTrack("p", track);
    recorder.AddTrack("p", "other");
    recorder.Intern(name);
    recorder.Intern("other");
    recorder.Slice(Category(r.category), r.track, r.name, r.start_ps, r.end_ps, r.flow, r.bytes,
                   r.detail);
    return recorder.Digest();
  };
  const Record base{10, 20, 1, 64, 0, 0, kDma, 3};
  Record changed[8] = {base, base, base, base, base, base, base, base};
  changed[0].start_ps = 11;
  changed[1].end_ps = 21;
  changed[2].flow = 2;
  changed[3].bytes = 65;
  changed[4].track = 1;
  changed[5].name = 1;
  changed[6].category = kRing;
  changed[7].detail = 4;
  for (int i = 0; i < 8; ++i) EXPECT_NE(digest(changed[i]), digest(base)) << "field " << i;
  EXPECT_NE(digest(base, "u"), digest(base));
  EXPECT_NE(digest(base, "t", "m"), digest(base));
  EXPECT_EQ(digest(base), digest(base));
}

TEST(Recorder, DigestSeesTheOrderOfRecords) {
  const auto digest = [](uint64_t first, uint64_t second) {
    Recorder recorder;
    const TrackId track = recorder.AddTrack("p", "t");
    const NameId name = recorder.Intern("n");
    recorder.Slice(kDma, track, name, first, 100);
    recorder.Slice(kDma, track, name, second, 100);
    return recorder.Digest();
  };
  EXPECT_NE(digest(1, 2), digest(2, 1));
}

TEST(Recorder, RefusesRecordsThatNoFileCouldHold) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("p", "t");
  const NameId name = recorder.Intern("n");
  EXPECT_THROW(recorder.Slice(kDma, track, name, 20, 10), std::logic_error);
  EXPECT_THROW(recorder.Slice(kDma, track + 1, name, 10, 20), std::logic_error);
  EXPECT_THROW(recorder.Slice(kDma, track, name + 1, 10, 20), std::logic_error);
  EXPECT_TRUE(recorder.Records().empty());
}

TEST(Recorder, MakesNamesPrintable) {
  Recorder recorder;
  recorder.Intern("a\x1b[2Jb\xff\xc3\xa9\x7f");
  EXPECT_EQ(recorder.names()[0], "a?[2Jb?\xc3\xa9?");
  EXPECT_TRUE(IsPrintable(recorder.names()[0]));
}

TEST(Categories, NamesBecomeAMaskAndUnknownOnesAreNamed) {
  EXPECT_EQ(CategoryMask({"host", "core"}), uint32_t{kHost} | kCore | kWait)
      << "the waits of the cores come with their slices";
  EXPECT_EQ(CategoryMask({"control"}), uint32_t{kControl} | kStep)
      << "the steps of a program come with its control block";
  EXPECT_EQ(CategoryMask({"all"}), uint32_t{kAll});
  EXPECT_EQ(CategoryMask({}), 0U);
  for (uint32_t bit = 1; bit <= kFirmware; bit <<= 1) {
    if (bit == kCore || bit == kControl) continue;
    EXPECT_EQ(CategoryMask({CategoryName(Category(bit))}), bit);
  }
  try {
    CategoryMask({"host", "cores"});
    FAIL() << "'cores' was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'cores'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("firmware"), std::string::npos) << error.what();
  }
}

TEST(Recorder, ThreadsMayRecordAtTheSameTime) {
  constexpr uint64_t kSlices = 5'000;
  constexpr int kThreads = 4;
  Recorder recorder;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&recorder, t] {
      for (uint64_t i = 0; i < kSlices; ++i) {
        const TrackId track = recorder.AddTrack("host", "thread " + std::to_string(t));
        const NameId name = recorder.Intern("slice " + std::to_string(i % 50));
        recorder.Slice(kHost, track, name, i, i + 1, 0, 0, static_cast<uint32_t>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<uint32_t, uint64_t> slices;
  for (const Record& record : recorder.Records()) {
    EXPECT_EQ(recorder.tracks()[record.track].name, "thread " + std::to_string(record.detail));
    EXPECT_EQ(recorder.names()[record.name], "slice " + std::to_string(record.start_ps % 50));
    ++slices[record.detail];
  }
  for (uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(slices[t], kSlices) << "thread " << t;
}

}  // namespace
}  // namespace spyre::trace::recorder_test
