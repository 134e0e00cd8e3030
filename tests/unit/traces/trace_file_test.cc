// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "tests/unit/traces/sample_trace.h"
#include "tests/unit/traces/trace_blocks.h"

namespace spyre::trace::trace_file_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Problem(const std::string& bytes) {
  try {
    DecodeTrace(bytes, "run.trace");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool Equal(const Trace& a, const Trace& b) {
  const auto same_track = [](const Track& x, const Track& y) {
    return x.process == y.process && x.name == y.name;
  };
  return a.metadata == b.metadata && a.names == b.names && a.dropped == b.dropped &&
         a.whole_from_ps == b.whole_from_ps && a.digest == b.digest &&
         a.is_interrupted == b.is_interrupted &&
         std::equal(a.tracks.begin(), a.tracks.end(), b.tracks.begin(), b.tracks.end(),
                    same_track) &&
         a.records.size() == b.records.size() &&
         (a.records.empty() ||
          std::memcmp(a.records.data(), b.records.data(), a.records.size() * sizeof(Record)) == 0);
}

TEST(TraceFile, ReadsBackWhatWasWritten) {
  const std::string path = ::testing::TempDir() + "trace_file_" + std::to_string(getpid());
  Trace trace = SampleTrace();
  trace.dropped = 5;
  trace.whole_from_ps = 1234;
  WriteTrace(trace, path);
  EXPECT_TRUE(Equal(ReadTrace(path), trace));
  std::remove(path.c_str());
}

TEST(TraceFile, HoldsAnEmptyRun) {
  const Trace empty = Snapshot(Recorder(0));
  EXPECT_TRUE(Equal(DecodeTrace(EncodeTrace(empty), "empty"), empty));
}

TEST(TraceFile, HoldsRecordsOfSeveralBlocks) {
  Recorder recorder;
  const TrackId track = recorder.AddTrack("memory", "channel 00");
  std::mt19937_64 random(1);
  for (int i = 0; i < 150'000; ++i) {
    const uint64_t start = random() >> 1;
    recorder.Slice(kMemory, track, recorder.Intern(std::to_string(random() % 5000)), start,
                   start + (random() >> 1), random(), random(), static_cast<uint32_t>(random()));
  }
  const Trace trace = Snapshot(recorder);
  EXPECT_TRUE(Equal(DecodeTrace(EncodeTrace(trace), "long"), trace));
}

TEST(TraceFile, LayoutIsTheDocumentedOne) {
  const Trace trace = SampleTrace();
  const std::string bytes = EncodeTrace(trace);
  EXPECT_EQ(bytes.substr(0, 8), "SPYRETRC");
  EXPECT_EQ(NumberAt<uint32_t>(bytes, 8), 2U);
  EXPECT_EQ(NumberAt<uint32_t>(bytes, 12), 48U);
  EXPECT_EQ(NumberAt<uint64_t>(bytes, 16), bytes.size());
  const FileParts parts = Split(bytes);
  EXPECT_EQ(Joined(parts), bytes) << "checksums too";
  ASSERT_EQ(parts.blocks.size(), 4U);
  const FileBlock& metadata = parts.blocks[0];
  EXPECT_EQ(metadata.kind, 1U);
  EXPECT_EQ(metadata.content, R"({"card":"spyre","config":"1f03"})");
  const FileBlock& tracks = parts.blocks[1];
  EXPECT_EQ(tracks.kind, 2U);
  EXPECT_EQ(tracks.entries, 6U);
  EXPECT_EQ(tracks.content.substr(0, 20), std::string("\4\0\0\0host\x8\0\0\0thread 0", 20));
  const FileBlock& names = parts.blocks[2];
  EXPECT_EQ(names.kind, 3U);
  EXPECT_EQ(names.entries, 7U);
  EXPECT_EQ(names.content.substr(0, 11), std::string("\7\0\0\0enqueue", 11));
  const FileBlock& records = parts.blocks[3];
  EXPECT_EQ(records.kind, 4U);
  EXPECT_EQ(records.entries, 11U);
  EXPECT_EQ(records.digest, trace.digest);
  ASSERT_EQ(records.content.size(), 11U * 48);
  // The third record, DMA_IN, starts at 0 after one that starts at 400, and takes 2000.
  EXPECT_EQ(NumberAt<int64_t>(records.content, 2 * 8), -400);
  EXPECT_EQ(NumberAt<uint64_t>(records.content, (11 + 2) * 8), 2000U);
  EXPECT_EQ(NumberAt<uint64_t>(records.content, (22 + 2) * 8), 0U) << "flow 7, as before";
  EXPECT_EQ(NumberAt<uint64_t>(records.content, (33 + 2) * 8), 4096U) << "bytes";
  EXPECT_EQ(NumberAt<uint32_t>(records.content, 44 * 8 + 2 * 4), 1U) << "track";
  EXPECT_EQ(NumberAt<uint32_t>(records.content, 44 * 8 + (11 + 2) * 4), 2U) << "name";
  EXPECT_EQ(NumberAt<uint32_t>(records.content, 44 * 8 + (22 + 2) * 4), kControl);
  EXPECT_EQ(NumberAt<uint32_t>(records.content, 44 * 8 + (33 + 9) * 4), 1U) << "core 01";
}

TEST(TraceFile, RefusesEveryTruncation) {
  const std::string bytes = EncodeTrace(SampleTrace());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Problem(bytes.substr(0, size)),
                AllOf(HasSubstr("run.trace"), HasSubstr("offset"), HasSubstr("truncated")))
        << "cut to " << size << " bytes";
  }
  EXPECT_THAT(Problem(bytes + "x"), HasSubstr("data after the end"));
}

TEST(TraceFile, OfAnInterruptedRunIsReadUpToItsLastWholeBlock) {
  Trace trace = SampleTrace();
  trace.is_interrupted = true;
  const std::string bytes = EncodeTrace(trace);
  EXPECT_TRUE(Equal(DecodeTrace(bytes, "run.trace"), trace));
  std::vector<size_t> ends = {48};
  for (const FileBlock& block : Split(bytes).blocks)
    ends.push_back(ends.back() + Joined(block).size());
  ASSERT_EQ(ends.back(), bytes.size());
  for (size_t size = 0; size < ends[1]; ++size) {
    EXPECT_THAT(Problem(bytes.substr(0, size)), HasSubstr("truncated")) << size;
  }
  for (size_t size = ends[1]; size < bytes.size(); ++size) {
    const Trace part = DecodeTrace(bytes.substr(0, size), "run.trace");
    EXPECT_TRUE(part.is_interrupted);
    EXPECT_EQ(part.metadata, trace.metadata);
    EXPECT_EQ(part.tracks.size(), size < ends[2] ? 0U : 6U) << size;
    EXPECT_EQ(part.names.size(), size < ends[3] ? 0U : 7U) << size;
    EXPECT_TRUE(part.records.empty()) << size;
  }
}

TEST(TraceFile, RefusesEveryFlippedByte) {
  const std::string bytes = EncodeTrace(SampleTrace());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE(Problem(With(bytes, i, static_cast<char>(bytes[i] ^ 0x41))), "") << "byte " << i;
  }
}

// With right checksums a changed byte may make another valid file, but never a crash or a trace
// that breaks the promises of struct Trace.
TEST(TraceFile, SurvivesEveryResignedByte) {
  const FileParts parts = Split(EncodeTrace(SampleTrace()));
  int accepted = 0;
  const auto decode = [&](const std::string& bytes) {
    try {
      const Trace trace = DecodeTrace(bytes, "run.trace");
      ++accepted;
      for (const Record& record : trace.records) {
        ASSERT_LT(record.track, trace.tracks.size());
        ASSERT_LT(record.name, trace.names.size());
        ASSERT_LE(record.start_ps, record.end_ps);
      }
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("run.trace: offset"));
    }
  };
  for (const char value : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
    for (size_t i = 0; i < 40; ++i) {
      FileParts changed = parts;
      changed.header[i] = value;
      decode(Joined(changed));
    }
    for (size_t block = 0; block < parts.blocks.size(); ++block) {
      for (size_t i = 0; i < parts.blocks[block].content.size(); ++i) {
        FileParts changed = parts;
        changed.blocks[block].content[i] = value;
        decode(Joined(changed));
      }
      // The packed bytes themselves, and the block's header.
      const std::string whole = Joined(parts.blocks[block]);
      for (size_t i = 0; i < whole.size(); ++i) {
        std::string bytes = whole;
        bytes[i] = value;
        bytes = Signed(bytes.substr(0, 32), bytes.substr(32));
        std::string file;
        for (size_t other = 0; other < parts.blocks.size(); ++other)
          file += other == block ? bytes : Joined(parts.blocks[other]);
        decode(SignedHeader(With(parts.header, 16, uint64_t{48 + file.size()})) + file);
      }
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(TraceFile, NamesWhatIsWrongInAHostileFile) {
  const FileParts parts = Split(EncodeTrace(SampleTrace()));
  const auto with_header = [&](size_t offset, auto value) {
    return SignedHeader(With(parts.header, offset, value)) + Joined(parts).substr(48);
  };
  EXPECT_THAT(Problem("PNG and more than enough bytes"), HasSubstr("not a trace file"));
  EXPECT_THAT(Problem(with_header(8, 1)), HasSubstr("version 1; this program reads version 2"));
  EXPECT_THAT(Problem(with_header(12, 40)), HasSubstr("records of 40 bytes"));
  EXPECT_THAT(Problem(with_header(16, uint64_t{1} << 40)), HasSubstr("truncated: the header says"));
  EXPECT_THAT(Problem(with_header(32, uint64_t{5})), HasSubstr("with 0 dropped records"));
  EXPECT_THAT(Problem(With(Joined(parts), 30, 'x')), HasSubstr("corrupt: checksum"));
  EXPECT_THAT(Problem(With(Joined(parts), 90, 'x')), HasSubstr("corrupt: checksum"));

  const auto with_block = [&](size_t block, auto change) {
    FileParts changed = parts;
    change(changed.blocks[block]);
    return Problem(Joined(changed));
  };
  const auto with_content = [&](size_t block, size_t offset, auto value) {
    return with_block(
        block, [&](FileBlock& changed) { changed.content = With(changed.content, offset, value); });
  };
  EXPECT_THAT(with_block(0, [](FileBlock& block) { block.content = "[1]"; }),
              HasSubstr("not a JSON object"));
  EXPECT_THAT(with_block(0, [](FileBlock& block) { block.kind = 3; }),
              HasSubstr("the metadata is the first block, and no other is"));
  EXPECT_THAT(with_block(2, [](FileBlock& block) { block.kind = 1; }),
              HasSubstr("the metadata is the first block, and no other is"));
  EXPECT_THAT(with_block(1, [](FileBlock& block) { block.kind = 6; }),
              HasSubstr("a block of unknown kind 6"));
  EXPECT_THAT(with_block(1, [](FileBlock& block) { block.entries = 0xFFFFFFFF; }),
              HasSubstr("tracks; at most"));
  EXPECT_THAT(with_block(1, [](FileBlock& block) { block.entries = 60000; }),
              HasSubstr("the track process is cut off"));
  EXPECT_THAT(with_block(2, [](FileBlock& block) { block.entries = 0xFFFFFFFF; }),
              HasSubstr("the name is cut off"));
  EXPECT_THAT(with_block(2, [](FileBlock& block) { block.entries = 6; }),
              HasSubstr("8 bytes behind the last entry"));
  EXPECT_THAT(with_content(2, 0, 0xFFFFFFFFu), HasSubstr("name needs 4294967295 bytes, but only"));
  EXPECT_THAT(with_content(1, 4, '\n'), HasSubstr("not printable"));
  EXPECT_THAT(with_block(3, [](FileBlock& block) { block.entries = 12; }),
              HasSubstr("12 records of 48 bytes announced, 528 bytes are there"));
  EXPECT_THAT(with_content(3, 44 * 8, 6u), HasSubstr("track 6, there are 6"));
  EXPECT_THAT(with_content(3, 44 * 8 + 11 * 4, 7u), HasSubstr("name 7, there are 7"));
  EXPECT_THAT(with_content(3, 11 * 8 + 8, UINT64_MAX), HasSubstr("before its start"));
  EXPECT_THAT(with_content(3, 44 * 8 + 22 * 4, 3u), HasSubstr("unknown category 0x3"));
  EXPECT_THAT(with_content(3, 44 * 8 + 22 * 4, 0x400u), HasSubstr("0x400"));
}

// Sizes are looked at before memory is taken by them, and what a block unpacks to before it is
// believed.
TEST(TraceFile, RefusesBlocksWhoseSizesLie) {
  const FileParts parts = Split(EncodeTrace(SampleTrace()));
  const std::string metadata = Joined(parts.blocks[0]);
  const auto problem = [&](size_t offset, uint32_t value) {
    const std::string block =
        Signed(With(metadata.substr(0, 32), offset, value), metadata.substr(32));
    return Problem(SignedHeader(With(parts.header, 16, uint64_t{48 + block.size()})) + block);
  };
  const auto bytes = static_cast<uint32_t>(parts.blocks[0].content.size());
  EXPECT_THAT(problem(8, 0xFFFFFFFF), HasSubstr("at most 33554432"));
  EXPECT_THAT(problem(8, bytes + 1),
              HasSubstr(fmt::format("does not unpack to {} bytes", bytes + 1)));
  EXPECT_THAT(problem(8, bytes - 1),
              HasSubstr(fmt::format("does not unpack to {} bytes", bytes - 1)));
  EXPECT_THAT(problem(12, 0xFFFFFFFF), HasSubstr("at most 33554432"));
  EXPECT_THAT(problem(12, static_cast<uint32_t>(metadata.size() - 32 + 1)),
              HasSubstr("truncated: a block needs"));
}

TEST(TraceFile, SaysWhichFileCannotBeReadOrWritten) {
  const auto problem = [](auto action) -> std::string {
    try {
      action();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(problem([] { ReadTrace("/nonexistent/a.trace"); }),
              AllOf(HasSubstr("/nonexistent/a.trace"), HasSubstr("No such file")));
  EXPECT_THAT(problem([] { ReadTrace("/tmp"); }), HasSubstr("/tmp"));
  EXPECT_THAT(problem([] { ReadTrace("/dev/zero"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(problem([] { WriteTrace(SampleTrace(), "/nonexistent/a.trace"); }),
              HasSubstr("/nonexistent/a.trace"));
}

TEST(TraceFile, MetadataMustBeAJsonObject) {
  EXPECT_THROW(Snapshot(Recorder(0), "card = spyre"), Error);
  EXPECT_THROW(Snapshot(Recorder(0), "[1]"), Error);
}

}  // namespace
}  // namespace spyre::trace::trace_file_test
