// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "tests/unit/traces/trace_blocks.h"
#include "traces/trace_file.h"

namespace spyre::trace::trace_writer_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMetadata = R"({"card":"spyre"})";

// Tracks and names appear as the run goes on, and ends are in another order than starts.
void RecordTraffic(Recorder& recorder, uint64_t slices) {
  std::mt19937 random(7);
  uint64_t now = 0;
  for (uint64_t i = 0; i < slices; ++i) {
    const TrackId track = recorder.AddTrack("memory", std::to_string(random() % (1 + i / 1000)));
    const NameId name = recorder.Intern("burst " + std::to_string(random() % (1 + i / 2000)));
    now += random() % 100;
    recorder.Slice(kMemory, track, name, now, now + random() % 10'000, i / 100, 4096);
  }
}

bool SameRecords(const std::vector<Record>& a, const Record* b) {
  return std::memcmp(a.data(), b, a.size() * sizeof(Record)) == 0;
}

class TraceWriterTest : public ::testing::Test {
 protected:
  // What a recorder that keeps all has to say about the same run.
  static Trace Whole(uint64_t slices) {
    Recorder recorder(slices);
    RecordTraffic(recorder, slices);
    return Snapshot(recorder, kMetadata);
  }

  const std::string path_ = ::testing::TempDir() + "writer_" + std::to_string(getpid());
  void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(TraceWriterTest, TheFileHasWhatARecorderThatKeepsAllHas) {
  constexpr uint64_t kSlices = 200'000;
  TraceWriter writer(path_, kMetadata, 1 << 20);
  Recorder recorder(0);
  recorder.HandTo(writer, writer.block_records());
  RecordTraffic(recorder, kSlices);
  EXPECT_LT(recorder.Records().size(), writer.block_records()) << "records stay in memory";
  recorder.Flush();
  writer.Finish();

  const Trace whole = Whole(kSlices);
  const Trace read = ReadTrace(path_);
  EXPECT_EQ(read.metadata, kMetadata);
  EXPECT_EQ(read.digest, whole.digest);
  EXPECT_EQ(read.dropped, 0U);
  EXPECT_EQ(read.names, whole.names);
  EXPECT_EQ(read.tracks.size(), whole.tracks.size());
  EXPECT_FALSE(read.is_interrupted);
  EXPECT_EQ(writer.records(), kSlices);
  ASSERT_EQ(read.records.size(), kSlices);
  EXPECT_TRUE(SameRecords(read.records, whole.records.data()));
  EXPECT_LT(std::filesystem::file_size(path_), kSlices * sizeof(Record) / 4);
}

TEST_F(TraceWriterTest, TheFileCanBeReadWhileTheRunGoesOn) {
  TraceWriter writer(path_, kMetadata, 1 << 20);
  Recorder recorder(0);
  recorder.HandTo(writer, 1000);
  EXPECT_TRUE(ReadTrace(path_).is_interrupted) << "before the first record";
  RecordTraffic(recorder, 3500);
  const Trace read = ReadTrace(path_);
  EXPECT_TRUE(read.is_interrupted);
  const Trace whole = Whole(3000);
  EXPECT_EQ(read.digest, whole.digest) << "of what is there";
  ASSERT_EQ(read.records.size(), 3000U);
  EXPECT_TRUE(SameRecords(read.records, whole.records.data()));
}

TEST_F(TraceWriterTest, TheOldestBlocksGoWhenThereAreMoreRecordsThanTheFileKeeps) {
  constexpr uint64_t kSlices = 100'000, kCapacity = 8192;
  const Trace whole = Whole(kSlices);
  TraceWriter writer(path_, kMetadata, kCapacity);
  Recorder recorder(0);
  recorder.HandTo(writer, writer.block_records());
  RecordTraffic(recorder, kSlices);
  const uint64_t while_it_runs = std::filesystem::file_size(path_);
  recorder.Flush();
  writer.Finish();

  const Trace read = ReadTrace(path_);
  EXPECT_GE(read.records.size(), kCapacity);
  EXPECT_LT(read.records.size(), kCapacity + writer.block_records());
  EXPECT_EQ(read.records.size(), writer.records());
  EXPECT_EQ(read.dropped, kSlices - read.records.size());
  EXPECT_EQ(read.dropped, writer.dropped());
  EXPECT_TRUE(SameRecords(read.records, whole.records.data() + read.dropped)) << "the latest";
  uint64_t latest_end = 0;
  for (size_t i = 0; i < read.dropped; ++i)
    latest_end = std::max(latest_end, whole.records[i].end_ps);
  EXPECT_EQ(read.whole_from_ps, latest_end);
  EXPECT_EQ(read.digest, whole.digest);
  EXPECT_EQ(read.names, whole.names) << "also those that only dropped records had";
  EXPECT_EQ(read.tracks.size(), whole.tracks.size());
  EXPECT_LT(while_it_runs, 3 * std::filesystem::file_size(path_));
}

TEST_F(TraceWriterTest, NamesWithoutRecordsAreInTheDigest) {
  TraceWriter writer(path_, kMetadata, 1000);
  Recorder recorder(0), other;
  recorder.HandTo(writer, 2);
  for (Recorder* each : {&recorder, &other}) {
    const TrackId track = each->AddTrack("host", "thread 0");
    for (int i = 0; i < 2; ++i) each->Slice(kHost, track, each->Intern("call"), 1, 2);
    each->Intern("never used");
  }
  recorder.Flush();
  writer.Finish();
  EXPECT_EQ(ReadTrace(path_).digest, other.Digest());
}

TEST_F(TraceWriterTest, AFileThatCannotBeWrittenFailsAtTheEnd) {
  for (const char* path : {"/nonexistent/run.sctrace", "/dev/full"}) {
    TraceWriter writer(path, kMetadata, 1000);
    Recorder recorder(0);
    recorder.HandTo(writer, 100);
    RecordTraffic(recorder, 5000);
    recorder.Flush();
    EXPECT_NE(recorder.Digest(), 0U);
    try {
      writer.Finish();
      ADD_FAILURE() << path;
    } catch (const spyre::Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr(std::string(path) + ": cannot write the trace: "));
    }
  }
}

TEST_F(TraceWriterTest, MetadataMustBeAJsonObject) {
  EXPECT_THROW(TraceWriter(path_, "card = spyre", 1000), Error);
}

}  // namespace
}  // namespace spyre::trace::trace_writer_test
