// SPDX-License-Identifier: Apache-2.0
// What `spyre-cosim exec` leaves of a program: its verdict, its bundles, its trace. The program is
// a test of this executable, which launches the bundle of an addition three times.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/paths.h"
#include "tests/sdk/shell.h"

namespace spyre::sdk_test::exec_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kProgram = "SdkLaunch.ABundleThatWasCompiledAloneAddsItsArguments";

Output Cosim(const std::string& words) {
  return Shell(std::string(SPYRE_COSIM_PROGRAM) + " " + words);
}

json ReadJson(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

class Exec : public ::testing::Test {
 protected:
  ~Exec() override { fs::remove_all(directory_); }

  // The report of `exec OPTIONS -- this executable`.
  json Run(const std::string& options, int status = 0, const std::string& to = "out",
           const std::string& test = kProgram) {
    const fs::path program = fs::read_symlink("/proc/self/exe");
    output_ = Cosim("exec --out " + Path(to) + " " + options + " -- " + program.string() +
                    " --gtest_also_run_disabled_tests --gtest_filter=" + test);
    EXPECT_EQ(output_.status, status) << output_.text;
    return ReadJson(Path(to) + "/report.json");
  }
  std::string Path(const std::string& name) const { return (directory_ / name).string(); }
  const std::string& text() const { return output_.text; }

 private:
  const fs::path directory_ =
      fs::temp_directory_path() / ("spyre_exec_" + std::to_string(getpid()));
  Output output_;
};

TEST_F(Exec, TheFirstLaunchOfABundleIsComparedAndKept) {
  const json report = Run("");
  ASSERT_EQ(report.at("kernels").size(), 1u);
  const json& kernel = report.at("kernels").at(0);
  EXPECT_EQ(kernel.at("launches"), 3);
  EXPECT_EQ(kernel.at("compared_launches"), 1);
  EXPECT_EQ(kernel.at("compared_elements"), 64 * 128);
  EXPECT_EQ(kernel.at("wrong_launches"), 0);
  EXPECT_EQ(kernel.at("special_codes"), 0);
  EXPECT_THAT(text(), HasSubstr("1 of 3 launches of 1 of 1 kernel compared bit for bit"));
  EXPECT_TRUE(fs::exists(Path("out/kernels/kernel/bundle.mlir")));
  EXPECT_FALSE(fs::exists(Path("out/kernels/.compiled"))) << "what was not launched is gone";
}

TEST_F(Exec, AKeptBundleRunsAloneWithItsArgumentsAndInTheSamePicoseconds) {
  const json report = Run("");
  const json& kernel = report.at("kernels").at(0);
  const Output alone =
      Cosim("run " + kernel.at("kept").get<std::string>() + " --out " + Path("alone"));
  EXPECT_EQ(alone.status, 0) << alone.text;
  const json repeated = ReadJson(Path("alone/report.json"));
  EXPECT_EQ(repeated.at("verified").at("passed"), true);
  EXPECT_EQ(repeated.at("bundle").at("programs").at(0).at("device_ns"),
            kernel.at("first_launch_ns"));
  // 1.5 + 2: not what a run makes up.
  std::ifstream file(Path("alone/arg_2.npy"), std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(bytes.size() % (64 * 128 * sizeof(float)), 128u) << "a header, and float32";
  float last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - sizeof last, sizeof last);
  EXPECT_EQ(last, 3.5f);
}

// The program launches one kernel three times; half of its data is simulated with the kept bundle.
TEST_F(Exec, WhatIfRanksTheKernelsOfAProgramAndSimulatesTheirBundles) {
  const json report = Run("");
  const json& ranked = report.at("kernel_ranking").at(0);
  EXPECT_EQ(ranked.at("name"), "kernel");
  EXPECT_EQ(ranked.at("launches"), 3);
  const Output asked = Cosim("what-if --json --kernels " + Path("out") + " 2>" + Path("errors"));
  ASSERT_EQ(asked.status, 0) << asked.text;
  const json answer = json::parse(asked.text);
  EXPECT_EQ(answer.at("window_ns"), report.at("window").at("window_ns"));
  const json& kernel = answer.at("kernels").at(0);
  ASSERT_FALSE(kernel.at("changes").empty());
  const std::string kept = report.at("kernels").at(0).at("kept");
  const auto device_ns = [&](const json& sets) {
    std::string options;
    for (const json& set : sets) options += " --set " + set.get<std::string>();
    EXPECT_EQ(Cosim("run " + kept + options + " --out " + Path("alone")).status, 0);
    return ReadJson(Path("alone/report.json"))
        .at("bundle")
        .at("programs")
        .at(0)
        .at("device_ns")
        .get<double>();
  };
  const double base = device_ns(json::array());
  for (const json& change : kernel.at("changes")) {
    const double share =
        ranked.at("device_ns").get<double>() / answer.at("window_ns").get<double>();
    EXPECT_NEAR(change.at("change").get<double>(), share * (device_ns(change.at("set")) / base - 1),
                1e-9)
        << change.at("what");
  }
}

TEST_F(Exec, ADirectoryOfTheUsersIsNotTakenForOneOfKeptBundles) {
  const std::string own = Path("out/kernels/kernel/notes.txt");
  fs::create_directories(fs::path(own).parent_path());
  std::ofstream(own) << "mine";
  Run("");
  const json report = Run("");
  EXPECT_TRUE(fs::exists(own));
  EXPECT_FALSE(fs::exists(Path("out/kernels/kernel/bundle.mlir")));
  EXPECT_EQ(report.at("kernels").at(0).at("kept"),
            fs::canonical(Path("out/kernels/kernel_2")).string());
  EXPECT_FALSE(fs::exists(Path("out/kernels/kernel_3"))) << "those of the run before are gone";
}

class ExecOnCards : public Exec, public ::testing::WithParamInterface<const char*> {};

TEST_P(ExecOnCards, AKeptBundleRunsOnTheCardOfTheProgramInTheSamePicoseconds) {
  const json report = Run(std::string("--set ") + GetParam());
  const json& kernel = report.at("kernels").at(0);
  ASSERT_EQ(Cosim("run " + kernel.at("kept").get<std::string>() + " --out " + Path("alone")).status,
            0);
  EXPECT_EQ(ReadJson(Path("alone/report.json")).at("bundle").at("programs").at(0).at("device_ns"),
            kernel.at("first_launch_ns"));
}

INSTANTIATE_TEST_SUITE_P(With, ExecOnCards,
                         ::testing::Values("card.mode=pf", "card.concurrency=pipelined",
                                           "card.memory.refresh=per_bank", "card.cores=8",
                                           "card.fidelity=fast"));

TEST_F(Exec, ArgumentsOfMoreThanTheGivenSizeAreNotKept) {
  const json report = Run("--keep-arguments 1K");
  const std::string kept = report.at("kernels").at(0).at("kept");
  EXPECT_TRUE(fs::exists(kept + "/bundle.mlir"));
  EXPECT_FALSE(fs::exists(kept + "/arg_0.npy"));
  EXPECT_EQ(Cosim("run " + kept + " --out " + Path("alone")).status, 0);
}

TEST_F(Exec, VerifyFullComparesAllLaunchesAndNoneSaysThatNothingWas) {
  const json full = Run("--verify full");
  EXPECT_EQ(full.at("verdict").at("compared_launches"), 3);
  const json none = Run("--verify none");
  EXPECT_EQ(none.at("verdict").at("compared_launches"), 0);
  EXPECT_THAT(text(), HasSubstr("not verified"));
}

TEST_F(Exec, AWrongResultIsSaidWhereTheCardMadeIt) {
  fs::create_directories(Path("."));
  std::ofstream(Path("card.toml")) << R"([[fault]]
kind = "core_wrong"
where = { core = 1 }
when = { seed = 7 }
)";
  const std::string card = "--verify full --config " + Path("card.toml");
  // The program finds it as well: its own status counts.
  const json report = Run(card, 1);
  EXPECT_EQ(report.at("verdict").at("wrong_launches"), 1);
  EXPECT_EQ(report.at("kernels").at(0).at("wrong_elements"), 1);
  EXPECT_THAT(text(),
              HasSubstr("problem:  1 of 3 compared launches of kernel kernel: arg_2, element"));
}

TEST_F(Exec, AStrictRunEndsWithOneForAWrongResultAndWithThreeForAFault) {
  const std::string unaware = "SdkEnding.DISABLED_AKernelOf255Letters";  // looks at no result
  fs::create_directories(Path("."));
  std::ofstream(Path("card.toml")) << R"([[fault]]
kind = "core_wrong"
where = { core = 1 }
when = { seed = 7 }
)";
  const std::string card = "--config " + Path("card.toml");
  Run(card, 0, "out", unaware);
  EXPECT_THAT(text(),
              AllOf(HasSubstr("\nWRONG:    "), HasSubstr("problem:  1 of 1 compared launch")));
  Run("--strict " + card, 1, "out", unaware);
  Run("--strict", 0, "out", unaware);
  const std::string faulty = "SdkLaunch.AFaultOfTheCardIsTheCallersExceptionAndTheCardGoesOn";
  Run("", 0, "out", faulty);
  EXPECT_THAT(text(), HasSubstr("FAILED: 1 operation of the card"));
  Run("--strict", 3, "out", faulty);
}

TEST_F(Exec, AResultThatDependsOnWhatLiesBehindAnArgumentIsWrong) {
  const json report = Run("", 0, "out", "SdkEnding.DISABLED_AnArgumentIsTooSmall");
  EXPECT_EQ(report.at("kernels").at(0).at("wrong_launches"), 1);
  EXPECT_EQ(report.at("kernels").at(0).at("first_wrong"),
            "it reads arg_1 as far as byte 16384, which has 8192 bytes, and what lies behind it "
            "decides its results");
}

TEST_F(Exec, AKernelThatReadsLxOfTheKernelBeforeIsNotCompared) {
  const json report =
      Run("--verify full", 0, "out", "SdkLaunch.ABundleFindsInLxWhatTheBundleBeforeHasLeftThere");
  EXPECT_EQ(report.at("verdict").at("wrong_launches"), 0);
  EXPECT_THAT(report.dump(), HasSubstr("it needs what an earlier bundle left there"));
}

TEST_F(Exec, TwoRunsOfAProgramLeaveTheSameTrace) {
  const json first = Run("", 0, "first"), second = Run("", 0, "second");
  EXPECT_EQ(first.at("trace").at("digest"), second.at("trace").at("digest"));
  EXPECT_GT(first.at("trace").at("records"), 0);
}

TEST_F(Exec, AProfilerChangesNoTimeOfTheCardAndGetsIts) {
  const std::string program = "Aiupti.DISABLED_AnAddThatMayBeProfiled";
  const json plain = Run("", 0, "plain", program);
  EXPECT_THAT(text(), ::testing::Not(HasSubstr("kernel: ")));
  setenv("PROFILED", "1", 1);
  const json profiled = Run("", 0, "profiled", program);
  EXPECT_EQ(plain.at("trace").at("digest"), profiled.at("trace").at("digest"));
  EXPECT_EQ(plain.at("kernels").at(0).at("first_launch_ns"),
            profiled.at("kernels").at(0).at("first_launch_ns"));
  const size_t at = text().find("kernel: ");
  ASSERT_NE(at, std::string::npos) << text();
  EXPECT_NEAR(std::stod(text().substr(at + 8)),
              profiled.at("kernels").at(0).at("first_launch_ns").get<double>(), 1);
}

TEST_F(Exec, ATraceHasTheWholeNameThatTheProgramGivesItsKernel) {
  Run("", 0, "out", "SdkEnding.DISABLED_AKernelOf255Letters");
  const Output query = Cosim("trace query --name COMPUTE " + Path("out/trace.sctrace"));
  EXPECT_THAT(query.text, HasSubstr("COMPUTE " + std::string(255, 'k') + " "));
}

TEST_F(Exec, AProgramThatASignalEndsLeavesWhatWasSimulatedUntilThen) {
  const json report = Run("", 128 + 15, "out", "SdkEnding.DISABLED_AfterALaunchASignalComes");
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report.at("kernels").at(0).at("launches"), 1);
  EXPECT_TRUE(fs::exists(Path("out/trace.sctrace")));
  EXPECT_THAT(text(), HasSubstr("in 1 launch of 1 kernel"));
}

TEST_F(Exec, AProgramThatExitsAtOnceLeavesItsReport) {
  const json report = Run("", 7, "out", "SdkEnding.DISABLED_AfterALaunchItExitsAtOnce");
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report.at("kernels").at(0).at("launches"), 1);
  EXPECT_TRUE(fs::exists(Path("out/trace.sctrace")));
}

TEST_F(Exec, TimesWithoutDataAreTheSame) {
  const json data = Run("--verify none", 0, "data");
  const json times = Run("--verify none --set workload.functional=false", 1, "times");
  EXPECT_EQ(times.at("kernels").at(0).at("first_launch_ns"),
            data.at("kernels").at(0).at("first_launch_ns"));
}

}  // namespace
}  // namespace spyre::sdk_test::exec_test
