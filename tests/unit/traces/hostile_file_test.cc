// SPDX-License-Identifier: Apache-2.0
// Trace files that somebody has made up, with checksums that fit: every command works or says in a
// sentence what is wrong with the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/command_line/parse.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/unit/huge_file.h"
#include "tests/unit/traces/sample_trace.h"
#include "tests/unit/traces/trace_blocks.h"
#include "traces/cli.h"
#include "traces/export/export_command.h"

namespace spyre::trace::hostile_file_test {
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
  AddExportCommand(root, out);
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

  void ExpectRefused(const FileParts& parts, const std::string& why) {
    const std::string path = directory_ + "/run.sctrace";
    WriteFile(path, Joined(parts), "trace");
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

FileParts WithMetadata(const std::string& metadata) {
  FileParts parts = Split(EncodeTrace(SampleTrace()));
  parts.blocks[0].content = metadata;
  return parts;
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

TEST_F(HostileFile, CountsThatLieAreRefused) {
  const FileParts good = Split(EncodeTrace(SampleTrace()));
  const auto with = [&](size_t block, uint32_t entries) {
    FileParts parts = good;
    parts.blocks[block].entries = entries;
    return parts;
  };
  ExpectRefused(with(1, 0xFFFFFFFF), "tracks; at most 65536");
  ExpectRefused(with(2, 0xFFFFFFFF), "the name is cut off");
  ExpectRefused(with(3, 0xFFFFFFFF), "announced");
  FileParts text = good;
  text.blocks[1].content = With(text.blocks[1].content, 0, 0xFFFFFF00u);
  ExpectRefused(text, "track process needs 4294967040 bytes");
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
  trace.whole_from_ps = UINT64_MAX;
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
  const auto claiming = [&](uint64_t bytes) {
    return SignedHeader(With(good.substr(0, 48), 16, bytes)) + good.substr(48);
  };
  struct Refusal {
    std::string start;
    const char* why;
  };
  const Refusal refusals[] = {{"", "not a trace file"},
                              {good, "data after the end"},
                              {claiming(HugeFile::kBytes), "a block of unknown kind 0"},
                              {claiming(0), "a block of unknown kind 0"}};
  for (const auto& [start, refusal] : refusals) {
    const HugeFile file("huge.sctrace", start, HugeFile::kBytes);
    const Outcome outcome = RunTrace({"summary", file.path()});
    EXPECT_THAT(outcome.text, AllOf(HasSubstr(file.path()), HasSubstr(refusal)));
    EXPECT_LT(file.PeakGrowthBytes(), 100u << 20) << refusal;
  }
  const HugeFile larger("larger.sctrace", good, 17ull << 30);
  EXPECT_THAT(RunTrace({"report", larger.path()}).text,
              HasSubstr("18253611008 bytes are too many for a trace; at most 17179869184"));
}

}  // namespace
}  // namespace spyre::trace::hostile_file_test
