// SPDX-License-Identifier: Apache-2.0
// Runs that do not come to their end, that meet another one, or that would destroy what they read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "tests/integration/program_fixture.h"
#include "tests/integration/running_program.h"
#include "tests/paths.h"
#include "traces/trace_file.h"

namespace spyre::cosim::unfinished_runs_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A quarter of a million launches: most of a minute, if nobody ends it; and it begins soon.
constexpr const char* kLong =
    "[workload]\nop = \"neg\"\nrows = 262144\ncols = 64\ntile = { rows = 1 }\n"
    "functional = false\n";
constexpr const char* kShort = "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n";

class UnfinishedRuns : public test::ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    Write("long.toml", kLong);
    Write("short.toml", kShort);
  }
  test::RunningProgram Start(std::vector<std::string> words) const {
    words.insert(words.begin(), SPYRE_BUILD_DIR "/spyre-cosim");
    return {dir_, std::move(words), "log.txt"};
  }
  bool Exists(const std::string& name) const { return fs::exists(dir_ + "/" + name); }
  std::vector<std::string> Names(const std::string& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_ + "/" + directory))
      names.push_back(entry.path().filename().string());
    return names;
  }
};

class Signals : public UnfinishedRuns, public ::testing::WithParamInterface<int> {};

TEST_P(Signals, EndARunInOrder) {
  test::RunningProgram run = Start({"run", "long.toml", "--out", "out", "--no-progress"});
  ASSERT_TRUE(run.Await([&] { return Exists("out/spyrecode/spyrecode.json"); })) << Read("log.txt");
  run.Signal(GetParam());
  EXPECT_EQ(run.Join(), 128 + GetParam());
  EXPECT_THAT(Read("log.txt"),
              AllOf(HasSubstr(GetParam() == SIGINT ? "interrupted by SIGINT" : "SIGTERM"),
                    HasSubstr("out")));
  EXPECT_FALSE(Exists("out/report.json"));
  EXPECT_THAT(Names("tmp"), IsEmpty());
  for (const std::string& name : Names("out"))
    EXPECT_THAT(name, ::testing::Not(HasSubstr(".part")));
  if (Exists("out/trace.sctrace")) {
    EXPECT_NO_THROW(trace::ReadTrace(dir_ + "/out/trace.sctrace"));
  }
  EXPECT_EQ(Call("run short.toml --out out").status, 0) << "the directory is free";
}

// In the middle of what several members do: one of them meets the signal first.
TEST_P(Signals, EndARunOfSeveralCardsOrTenantsInOrder) {
  const std::string workload =
      "workload = { op = \"neg\", rows = 32768, cols = 64, tile = { rows = 1 }, functional = false "
      "}\n";
  Write("cards.toml", workload + "[card]\nmode = \"pf\"\n[cards]\ncount = 2\n");
  Write("tenants.toml",
        "[card]\nnum_vfs = 2\n[tenants]\nalone = false\n[[tenant]]\nname = \"a\"\nfunction = 1\n" +
            workload + "[[tenant]]\nname = \"b\"\nfunction = 2\n" + workload);
  for (const std::string name : {"cards", "tenants"}) {
    const std::string trace = dir_ + "/" + name + "/trace.sctrace";
    test::RunningProgram run = Start({"run", name + ".toml", "--out", name, "--no-progress"});
    ASSERT_TRUE(run.Await([&] { return fs::exists(trace) && fs::file_size(trace) > 300'000; }))
        << Read("log.txt");
    run.Signal(GetParam());
    EXPECT_EQ(run.Join(), 128 + GetParam()) << name << ": " << Read("log.txt");
    EXPECT_FALSE(Exists(name + "/report.json"));
  }
}

TEST_P(Signals, EndACalibrationInOrder) {
  Write("points.json",
        R"({"points": [{"op": "neg", "rows": 524288, "cols": 4096, "cores": 32, "predicted_us": 1},
                       {"op": "neg", "rows": 524288, "cols": 4096, "cores": 32, "predicted_us": 1}]})");
  test::RunningProgram run = Start({"calibrate", "points.json", "--jobs", "2"});
  ASSERT_TRUE(run.Await([&] {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(
             dir_ + "/tmp", fs::directory_options::skip_permission_denied, ignored))
      if (entry.path().filename() == "spyrecode.json") return true;
    return false;
  })) << Read("log.txt");
  run.Signal(GetParam());
  EXPECT_EQ(run.Join(), 128 + GetParam()) << Read("log.txt");
  EXPECT_THAT(Names("tmp"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(IntAndTerm, Signals, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& which) {
                           return std::string(which.param == SIGINT ? "SIGINT" : "SIGTERM");
                         });

TEST_F(UnfinishedRuns, ARunThatIsKilledLeavesATraceOfWhatItDid) {
  const std::string path = dir_ + "/out/trace.sctrace";
  test::RunningProgram run = Start({"run", "long.toml", "--out", "out", "--no-progress"});
  // More than metadata and names: blocks of records.
  ASSERT_TRUE(run.Await([&] {
    return Exists("out/trace.sctrace") && fs::file_size(path) > 300'000;
  })) << Read("log.txt");
  run.Signal(SIGKILL);
  run.Join();
  const trace::Trace trace = trace::ReadTrace(path);
  EXPECT_TRUE(trace.is_interrupted);
  ASSERT_FALSE(trace.records.empty());
  EXPECT_LE(4 * fs::file_size(path), trace.records.size() * sizeof(trace::Record));
  EXPECT_THAT(Call("trace summary out/trace.sctrace").out, HasSubstr("The run did not end"));
}

TEST_F(UnfinishedRuns, ALimitOfWallTimeEndsTheRunWithStatus3) {
  const Outcome outcome = Call("run long.toml --out out --no-progress --limit 1");
  EXPECT_EQ(outcome.status, 3) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("not done after 1 s (--limit)"));
}

TEST_F(UnfinishedRuns, ASecondRunIntoADirectoryIsRefusedWhileTheFirstLives) {
  test::RunningProgram first = Start({"run", "long.toml", "--out", "out", "--no-progress"});
  ASSERT_TRUE(first.Await([&] { return Exists("out/spyrecode/spyrecode.json"); }));
  const Outcome second = Call("run short.toml --out out");
  EXPECT_EQ(second.status, 2);
  EXPECT_THAT(second.err, HasSubstr("another run is writing to this directory"));
  EXPECT_EQ(Call("run short.toml --out other").status, 0);
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Join(), 128 + SIGTERM);
  EXPECT_EQ(Call("run short.toml --out out").status, 0);
}

TEST_F(UnfinishedRuns, AnInputInTheOutputDirectoryIsReadAndStays) {
  fs::create_directories(dir_ + "/out");
  const std::vector<uint8_t> ones(64 * 64 * 2, 0x3C);
  WriteNpy(dir_ + "/out/a.npy", "f2", {64, 64}, ones.data());
  const std::string before = Read("out/a.npy");
  const Outcome outcome = Call("run short.toml --out out --set workload.inputs.a=out/a.npy");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(Read("out/a.npy") == before);
}

TEST_F(UnfinishedRuns, AnInputThatTheRunWouldWriteIsRefusedAndStays) {
  fs::create_directories(dir_ + "/out");
  const std::vector<uint8_t> ones(64 * 64 * 2, 0x3C);
  WriteNpy(dir_ + "/out/out.npy", "f2", {64, 64}, ones.data());
  const std::string before = Read("out/out.npy");
  const Outcome outcome = Call("run short.toml --out out --set workload.inputs.a=out/out.npy");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("would overwrite its own input"));
  EXPECT_TRUE(Read("out/out.npy") == before);
}

TEST_F(UnfinishedRuns, ABundleThatLiesWhereTheProgramWouldIsRefusedAndStays) {
  const std::string list = SPYRE_SOURCE_DIR "/configs/softmax_chain.toml";
  ASSERT_EQ(Call("compile " + list + " -o code --bundle out/spyrecode").status, 0);
  Write("out/spyrecode/mine.txt", "kept");
  const size_t files = Names("out/spyrecode").size();
  const Outcome outcome = Call("run out/spyrecode --shape 1024x1024,1024x1024 --out out");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("would overwrite its own input"));
  EXPECT_EQ(Names("out/spyrecode").size(), files);
  EXPECT_EQ(Read("out/spyrecode/mine.txt"), "kept");
}

TEST_F(UnfinishedRuns, NoCommandOverwritesWhatItReads) {
  ASSERT_EQ(Call("run short.toml --out out").status, 0);
  Write("p.s", ".program p\n.cores 0x1\n.lx 128\n.section load 0x1\n  li r1, 5\n");
  fs::create_symlink("short.toml", dir_ + "/link.toml");
  fs::create_hard_link(dir_ + "/short.toml", dir_ + "/hard.toml");
  const std::vector<uint8_t> ones(64 * 64 * 2, 0x3C);
  WriteNpy(dir_ + "/a.npy", "f2", {64, 64}, ones.data());
  fs::copy_file(SPYRE_BUILD_DIR "/firmware/management.elf", dir_ + "/firmware.elf");
  Write("tasks.txt", "mode 3\nworkers 1\nsubmit 1\nsimulate\n");
  const std::pair<const char*, const char*> commands[] = {
      {"run short.toml --out out2 --record short.toml", "short.toml"},
      {"run short.toml --out out3 --record link.toml", "short.toml"},
      {"run short.toml --out out4 --smi short.toml", "short.toml"},
      {"run short.toml --out out4 --metrics hard.toml", "short.toml"},
      {"run short.toml --out out4 --set workload.inputs.a=a.npy --smi a.npy", "a.npy"},
      {"run short.toml --out out4 --set workload.inputs.a=a.npy --metrics a.npy", "a.npy"},
      {"run short.toml --out out4 --set workload.inputs.a=a.npy --record a.npy", "a.npy"},
      {"smi short.toml --out out4 -f link.toml", "short.toml"},
      {"smi short.toml --out out4 --metrics short.toml", "short.toml"},
      {"firmware pack firmware.elf -o firmware.elf", "firmware.elf"},
      {"trace export out/trace.sctrace -o out/trace.sctrace --format sqlite", "out/trace.sctrace"},
      {"graph tasks.txt --trace tasks.txt", "tasks.txt"},
      {"trace export out/trace.sctrace -o out/trace.sctrace --format csv", "out/trace.sctrace"},
      {"trace report out/trace.sctrace -o out/trace.sctrace", "out/trace.sctrace"},
      {"asm p.s -o p.s", "p.s"}};
  for (const auto& [command, file] : commands) {
    const std::string before = Read(file);
    const Outcome outcome = Call(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("would be overwritten")) << command;
    EXPECT_TRUE(Read(file) == before) << command;
  }
}

TEST_F(UnfinishedRuns, ADiskThatIsFullCostsTheTensorsAndNotTheReport) {
  Write("large.toml",
        "[workload]\nop = \"neg\"\nrows = 4096\ncols = 1024\n[trace]\nenabled = false\n");
  const std::string command = "cd '" + dir_ +
                              "' && trap '' XFSZ && ulimit -f 4096 && '" SPYRE_BUILD_DIR
                              "/spyre-cosim' run large.toml --out out >log.txt 2>&1";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2) << Read("log.txt");
  EXPECT_THAT(Read("log.txt"), HasSubstr("not all of it fits"));
  EXPECT_EQ(SortedJsonOf(Read("out/report.json"))["verified"]["mismatches"], 0);
  EXPECT_FALSE(Exists("out/out.npy"));
}

}  // namespace
}  // namespace spyre::cosim::unfinished_runs_test
