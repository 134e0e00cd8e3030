// SPDX-License-Identifier: Apache-2.0
// What the program refuses before anything runs, and what the machine lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cosim/tensors/npy.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::refusals_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Refusals = test::MergedOutputFixture;

constexpr const char* kMatmul = "[workload]\nm = 256\nk = 128\nn = 192\ntile = { m = 64 }\n";

// Too little of what the machine has is nothing that the program did wrong.
TEST_F(Refusals, TooLittleAddressSpaceOrTooFewDescriptorsAreBadInput) {
  Write("run.toml", "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n");
  const auto limited = [&](const std::string& limit) {
    const std::string shell =
        "cd '" + dir_ + "' && exec >log.txt 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- && ulimit " +
        limit + " && exec '" SPYRE_BUILD_DIR "/spyre-cosim' run run.toml --out out";
    return WEXITSTATUS(std::system(("bash -c \"" + shell + "\"").c_str()));
  };
  EXPECT_EQ(limited("-v 200000"), 2) << Read("log.txt");
  EXPECT_THAT(Read("log.txt"), AllOf(HasSubstr("address space"), HasSubstr("ulimit -v")));
  // One file at a time; what this process has open does not count, because it is closed above.
  EXPECT_EQ(limited("-n 4"), 2) << Read("log.txt");
  EXPECT_THAT(Read("log.txt"), HasSubstr("Too many open files"));
  // Whatever gives out first, from nothing for the card to all that it needs.
  for (int kib = 117'600'000; kib < 117'700'000; kib += 10'000) {
    const int status = limited("-v " + std::to_string(kib));
    EXPECT_TRUE(status == 0 || status == 2) << kib << ": " << status << " " << Read("log.txt");
  }
}

TEST_F(Refusals, CheckRefusesWhatRunWouldRefuse) {
  const std::vector<float> data(64 * 64);
  WriteNpy(dir_ + "/f32.npy", "f4", {64, 64}, data.data());
  const std::string small = "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n";
  const std::pair<std::string, const char*> wrong[] = {
      {"[workload]\nm = 64\n", "run.toml: workload.k is missing"},
      {std::string(kMatmul) + "seed = 3\nop = \"add\"\n", "has no dimension 'm'"},
      {"[workload]\nm = 256\nk = 128\nn = 192\ntile = { m = 100 }\n",
       "size 256 is not a multiple of the compiled tile 100"},
      {"[workload]\nop = \"softmax\"\ncols = 2000000\nschedule = \"own\"\n", "LX"},
      {"[workload]\nop = \"neg\"\nrows = 8388608\ncols = 1024\ntile = { rows = 65536 }\n",
       "17179869184 bytes"},
      {small + "inputs = { a = \"none.npy\" }\n", "none.npy: cannot read the tensor"},
      {small + "inputs = { a = \"f32.npy\" }\n", "must be float16, the file has float32"},
      {small + "dims = { A = 4 }\n", "workload.dims = { \"A\" = 4 } has no effect"},
      {small + "[trace]\nwaves = { block = \"control\" }\n", "card.control.fidelity = \"rtl\""},
      {"[workload]\nbundle = \"nowhere\"\n", "nowhere"}};
  for (const auto& [text, message] : wrong) {
    const Outcome run = RunToml(text);
    const Outcome check = Call("check run.toml");
    EXPECT_EQ(check.status, 2) << text;
    EXPECT_THAT(check.text, HasSubstr(message)) << text;
    EXPECT_EQ(run.text, check.text) << text;
    EXPECT_EQ(run.status, 2) << text;
  }
  Write("run.toml", kMatmul);
  EXPECT_EQ(Call("check run.toml").status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/tmp")) << "the program that was compiled is gone";
}

TEST_F(Refusals, VeryManyTinyTilesAreWarnedOfBeforeAnythingRuns) {
  Write("tiny.toml", "[workload]\nop = \"neg\"\nrows = 1048576\ncols = 64\ntile = { rows = 1 }\n");
  const Outcome tiny = Call("check tiny.toml");
  EXPECT_EQ(tiny.status, 0);
  EXPECT_THAT(tiny.text, AllOf(HasSubstr("WARNING: workload.tile.rows = 1 make"),
                               HasSubstr("1048576 launches"), HasSubstr("larger tiles")));
  EXPECT_THAT(Call("check tiny.toml --set workload.tile.rows=4096").text,
              ::testing::Not(HasSubstr("WARNING")));
}

TEST_F(Refusals, ErrorsOfSeveralKeysNameTheFile) {
  EXPECT_THAT(RunToml("[runtime]\nring_entries = 3\n").text,
              HasSubstr("run.toml: runtime.ring_entries = 3"));
  EXPECT_THAT(RunToml("[card.memory]\nt_ras_ps = 10000\n").text,
              HasSubstr("run.toml: card.memory.t_ras_ps = 10000"));
  EXPECT_THAT(RunToml("[workload]\nop = \"add\"\ncols = 64\nbatch = 2\ntile = { rows = 4 }\n").text,
              HasSubstr("run.toml: workload.tile.rows = 4, but workload.rows is not given"));
}

TEST_F(Refusals, AnEmptyConfigurationIsRefused) {
  for (const char* command : {"run ''", "compile '' -o code", "check ''", "disasm ''"}) {
    const Outcome outcome = Call(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.text, HasSubstr("is empty")) << command;
  }
}

}  // namespace
}  // namespace spyre::cosim::refusals_test
