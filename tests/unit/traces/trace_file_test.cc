// SPDX-License-Identifier: Apache-2.0
#include "traces/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "tests/unit/traces/sample_trace.h"

namespace spyre::trace {
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

template <typename T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

// A hostile writer gets the checksum right.
std::string Resealed(std::string bytes) {
  const size_t body = bytes.size() - 8;
  const uint64_t checksum = XXH3_64bits(bytes.data(), body);
  return With(std::move(bytes), body, checksum);
}

bool Equal(const Trace& a, const Trace& b) {
  const auto same_track = [](const Track& x, const Track& y) {
    return x.process == y.process && x.name == y.name;
  };
  return a.metadata == b.metadata && a.names == b.names && a.dropped == b.dropped &&
         a.whole_from_ps == b.whole_from_ps && a.digest == b.digest &&
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

TEST(TraceFile, LayoutIsTheDocumentedOne) {
  const std::string bytes = EncodeTrace(SampleTrace());
  const auto word = [&](size_t offset) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 8), "SPYRETRC");
  EXPECT_EQ(word(8), 1U);
  EXPECT_EQ(word(12), 48U);
  EXPECT_EQ(word(16), bytes.size());
  EXPECT_EQ(word(40), std::strlen(R"({"card":"spyre","config":"1f03"})"));
  EXPECT_EQ(word(44), 6U) << "tracks";
  EXPECT_EQ(word(48), 7U) << "names";
  EXPECT_EQ(word(56), 11U) << "records";
  EXPECT_EQ((bytes.size() - 8 - 11 * 48) % 8, 0U) << "records are aligned";
}

TEST(TraceFile, RefusesEveryTruncation) {
  const std::string bytes = EncodeTrace(SampleTrace());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Problem(bytes.substr(0, size)), AllOf(HasSubstr("run.trace"), HasSubstr("offset")))
        << "cut to " << size << " bytes";
  }
  EXPECT_THAT(Problem(bytes + "x"), HasSubstr("data after the end"));
}

TEST(TraceFile, RefusesEveryFlippedByte) {
  const std::string bytes = EncodeTrace(SampleTrace());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE(Problem(With(bytes, i, static_cast<char>(bytes[i] ^ 0x41))), "") << "byte " << i;
  }
}

// With a right checksum a changed byte may make another valid file, but never a crash or a trace
// that breaks the promises of struct Trace.
TEST(TraceFile, SurvivesEveryResealedByte) {
  const std::string bytes = EncodeTrace(SampleTrace());
  int accepted = 0;
  for (size_t i = 0; i + 8 < bytes.size(); ++i) {
    for (const char value : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
      try {
        const Trace trace = DecodeTrace(Resealed(With(bytes, i, value)), "run.trace");
        ++accepted;
        for (const Record& record : trace.records) {
          ASSERT_LT(record.track, trace.tracks.size()) << "byte " << i;
          ASSERT_LT(record.name, trace.names.size()) << "byte " << i;
          ASSERT_LE(record.start_ps, record.end_ps) << "byte " << i;
        }
      } catch (const Error& error) {
        ASSERT_THAT(error.what(), HasSubstr("run.trace: offset")) << "byte " << i;
      }
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(TraceFile, NamesWhatIsWrongInAHostileFile) {
  const Trace trace = SampleTrace();
  const std::string bytes = EncodeTrace(trace);
  const size_t records_at = bytes.size() - 8 - trace.records.size() * 48;
  EXPECT_THAT(Problem("PNG and more than enough bytes"), HasSubstr("not a trace file"));
  EXPECT_THAT(Problem(With(bytes, 8, 2)), HasSubstr("version 2; this program reads version 1"));
  EXPECT_THAT(Problem(With(bytes, 12, 40)), HasSubstr("records of 40 bytes"));
  EXPECT_THAT(Problem(With(bytes, 30, 'x')), HasSubstr("corrupt: checksum"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 40, 0xFFFFFFFFu))), HasSubstr("metadata needs"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 40, 3))), HasSubstr("not a JSON object"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 44, 0xFFFFFFFFu))), HasSubstr("tracks; at most"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 44, 60000u))), HasSubstr("bytes, but only"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 48, 0xFFFFFFFFu))), HasSubstr("bytes, but only"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 52, 1))), HasSubstr("a window of 1 bytes"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 52, 8))), HasSubstr("with 0 dropped records"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 56, UINT64_MAX))), HasSubstr("records of 48 bytes"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 56, UINT64_MAX / 48 + 12))),
              HasSubstr("records of 48 bytes"));
  EXPECT_THAT(Problem(Resealed(With(bytes, records_at + 32, 6))),
              HasSubstr("track 6, there are 6"));
  EXPECT_THAT(Problem(Resealed(With(bytes, records_at + 36, 7))), HasSubstr("name 7, there are 7"));
  EXPECT_THAT(Problem(Resealed(With(bytes, records_at, UINT64_MAX))),
              HasSubstr("before its start"));
  EXPECT_THAT(Problem(Resealed(With(bytes, records_at + 40, 3))),
              HasSubstr("unknown category 0x3"));
  EXPECT_THAT(Problem(Resealed(With(bytes, records_at + 40, 0x400))), HasSubstr("0x400"));
  EXPECT_THAT(Problem(Resealed(With(bytes, 64 + 32 + 4, '\n'))), HasSubstr("not printable"));
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
}  // namespace spyre::trace
