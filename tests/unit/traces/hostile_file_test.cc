// SPDX-License-Identifier: Apache-2.0
// Trace files that somebody has made up, with checksums that fit: every command works or says in a
// sentence what is wrong with the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/command_line/parse.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/unit/huge_file.h"
#include "tests/unit/traces/sample_trace.h"
#include "traces/cli.h"

namespace spyre::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Outcome {
  int status;
  std::string text;  // output, or what was wrong
};

Outcome RunTrace(const std::vector<std::string>& args) {
  std::ostringstream out;
  command_line::Command root("spyre-cosim trace", "");
  AddTraceCommands(root, out);
  try {
    const int status = Parse(root, args).command->action()();
    return {status, out.str()};
  } catch (const Error& error) {
    return {2, error.what()};
  } catch (const spyre::Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return {2, error.what()};
  }
}

// Every command that reads a trace.
std::vector<Outcome> RunAll(const std::string& path) {
  const std::string sample = path + ".sample";
  WriteTrace(SampleTrace(), sample);
  std::vector<Outcome> outcomes;
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"summary", path},
                                             {"summary", path, "--json", "--per-core"},
                                             {"query", path},
                                             {"query", path, "--json"},
                                             {"diff", path, sample},
                                             {"diff", sample, path, "--json", "--per-core"},
                                             {"export", path, "-o", "-"},
                                             {"export", path, "--format", "chrome", "-o", "-"},
                                             {"export", path, "--format", "csv", "-o", "-"},
                                             {"report", path, "-o", "-"}}) {
    outcomes.push_back(RunTrace(args));
  }
  return outcomes;
}

class HostileFile : public ::testing::Test {
 protected:
  HostileFile() { std::filesystem::create_directories(directory_); }
  ~HostileFile() override { std::filesystem::remove_all(directory_); }

  std::string Write(std::string bytes) {
    const uint64_t size = bytes.size();
    std::memcpy(bytes.data() + 16, &size, sizeof size);
    const uint64_t digest = XXH3_64bits(bytes.data(), bytes.size() - 8);
    std::memcpy(bytes.data() + bytes.size() - 8, &digest, sizeof digest);
    const std::string path = directory_ + "/run.sctrace";
    WriteFile(path, bytes, "trace");
    return path;
  }
  void ExpectRefused(const std::string& bytes, const std::string& why) {
    const std::string path = Write(bytes);
    for (const Outcome& outcome : RunAll(path)) {
      EXPECT_EQ(outcome.status, 2) << why;
      EXPECT_THAT(outcome.text, AllOf(HasSubstr(path + ": offset "), HasSubstr(why)));
    }
  }
  void ExpectRead(const Trace& trace) {
    const std::string path = directory_ + "/run.sctrace";
    WriteTrace(trace, path);
    for (const Outcome& outcome : RunAll(path)) EXPECT_EQ(outcome.status, 0) << outcome.text;
  }

  const std::string directory_ = fmt::format("out/tmp/hostile_trace_{}", getpid());
};

std::string WithMetadata(const std::string& metadata) {
  Trace trace = SampleTrace();
  trace.metadata = metadata;
  return EncodeTrace(trace);
}

TEST_F(HostileFile, MetadataNestedDeeplyAreRefused) {
  const std::string open(100'000, '['), close(100'000, ']');
  ExpectRefused(WithMetadata("{\"a\":" + open + close + "}"), "the metadata is not a JSON object");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  ExpectRefused(WithMetadata(objects), "the metadata is not a JSON object");
  ExpectRefused(WithMetadata(std::string("{}\0{}", 5)), "the metadata is not a JSON object");
  ExpectRefused(WithMetadata("{\"a\":\"\xff\"}"), "the metadata is not a JSON object");
  ExpectRefused(WithMetadata("{\"a\":1e999}"), "the metadata is not a JSON object");
}

TEST_F(HostileFile, SizesThatLieAreRefused) {
  const std::string good = EncodeTrace(SampleTrace());
  const auto with = [&](size_t offset, uint32_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return bytes;
  };
  ExpectRefused(with(40, 0xFFFFFFFF), "metadata needs 4294967295 bytes");
  ExpectRefused(with(44, 0xFFFFFFFF), "4294967295 tracks; at most 65536");
  ExpectRefused(with(48, 0xFFFFFFFF), "name needs");
  ExpectRefused(with(52, 8), "a window of 8 bytes in a trace with 0 dropped records");
  ExpectRefused(with(60, 0xFFFFFFFF), "announced");
  const size_t texts = 64 + SampleTrace().metadata.size();
  ExpectRefused(with(texts, 0xFFFFFF00), "track process needs 4294967040 bytes");
  ExpectRefused(with(texts + 4, 0x01020304), "not printable");
  std::string cut = good.substr(0, good.size() - 60);
  ExpectRefused(cut, "records of 48 bytes announced");
}

TEST_F(HostileFile, TheLargestNumbersAreRead) {
  Trace trace = SampleTrace();
  for (Record& record : trace.records) {
    record.bytes = record.flow = UINT64_MAX;
    record.detail = UINT32_MAX;
    record.start_ps /= 2;
    record.end_ps = UINT64_MAX;
  }
  ExpectRead(trace);
  trace.dropped = UINT64_MAX;
  ExpectRead(trace);
  trace.whole_from_ps = UINT64_MAX - 1;
  ExpectRead(trace);
  trace.whole_from_ps = kUnknownPs;
  ExpectRead(trace);
}

// A name of its own for each control block and unit: what is compared with what must not grow with
// the square of the file.
TEST_F(HostileFile, ManyKernelsOfManyNamesEndInTime) {
  Recorder recorder(1 << 20);
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  for (uint64_t i = 0; i < 20'000; ++i) {
    recorder.Slice(kControl, stream, recorder.Intern("COMPUTE " + std::to_string(i) + "x"), i,
                   i + 2, i);
  }
  const Trace trace = Snapshot(recorder);
  ExpectRead(trace);
  const std::string path = directory_ + "/run.sctrace";
  WriteTrace(trace, path);
  EXPECT_THAT(RunTrace({"summary", path, "--kernel", "nothing"}).text,
              AllOf(HasSubstr("0 to 19999"), HasSubstr("COMPUTE 19x, ...")));
}

TEST_F(HostileFile, ManyUnitsWithManyControlBlocksAreRefusedWithTheLimit) {
  Recorder recorder(1 << 20);
  const TrackId stream = recorder.AddTrack("card", "stream 0");
  const NameId work = recorder.Intern("work");
  for (uint64_t i = 0; i < 30'000; ++i) {
    recorder.Slice(kControl, stream, recorder.Intern("COMPUTE " + std::to_string(i)), 0, 1000, i);
    recorder.Slice(kCore, recorder.AddTrack("x", std::to_string(i) + "x"), work, 0, 1000, i);
  }
  const std::string path = directory_ + "/run.sctrace";
  WriteTrace(Snapshot(recorder), path);
  for (const Outcome& outcome : RunAll(path)) {
    if (outcome.status == 0) continue;  // queries and exports compare nothing
    EXPECT_THAT(outcome.text,
                HasSubstr("30000 control blocks or steps with 30000 groups of units"));
  }
  EXPECT_EQ(RunTrace({"summary", path}).status, 2);
}

TEST_F(HostileFile, AFileThatIsMostlyAHoleTakesNoMemory) {
  const std::string good = EncodeTrace(SampleTrace());
  std::string claims = good;            // the size of the hole
  const uint64_t claimed = 1ull << 30;  // is read to its end, for the checksum
  std::memcpy(claims.data() + 16, &claimed, 8);
  struct Refusal {
    std::string start;
    uint64_t bytes;
    const char* why;
  };
  const Refusal refusals[] = {{"", HugeFile::kBytes, "not a trace file"},
                              {good, HugeFile::kBytes, "data after the end"},
                              {claims, claimed, "corrupt: checksum"}};
  for (const auto& [start, bytes, refusal] : refusals) {
    const HugeFile file("huge.sctrace", start, bytes);
    const Outcome outcome = RunTrace({"summary", file.path()});
    EXPECT_THAT(outcome.text, AllOf(HasSubstr(file.path()), HasSubstr(refusal)));
    EXPECT_LT(file.PeakGrowthBytes(), 100u << 20) << refusal;
  }
  const HugeFile larger("larger.sctrace", good, 17ull << 30);
  EXPECT_THAT(RunTrace({"report", larger.path()}).text,
              HasSubstr("18253611008 bytes are too many for a trace; at most 17179869184"));
}

}  // namespace
}  // namespace spyre::trace
