// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/run_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::cosim::run_cases_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr const char* kList = R"("dims": {"A": 64}, "tensors": [{"name": "a", "dims": ["A"]}],)"
                              R"( "ops": [{"op": "exp", "inputs": ["a"], "output": "y"}])";

class RunCasesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = ::testing::TempDir() + "run_cases_" + info->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    args_.cases = dir_ + "/cases.jsonl";
    args_.out = dir_ + "/out";
    args_.jobs = 2;
  }
  // Result lines in order; the exit status is in status_, the summary in messages_.
  std::vector<Json> Run(const std::vector<std::string>& lines, const CaseRunner& runner) {
    std::ofstream file(args_.cases);
    for (const std::string& line : lines) file << line << '\n';
    file.close();
    std::ostringstream out, messages;
    status_ = RunCases(args_, runner, out, messages);
    messages_ = messages.str();
    std::vector<Json> results;
    std::istringstream in(out.str());
    for (std::string line; std::getline(in, line);) results.push_back(JsonOf(line));
    return results;
  }
  static std::string Case(const std::string& id, const std::string& more = "") {
    return "{\"id\": \"" + id + "\", " + kList + more + "}";
  }
  static Json Passed(const RunCase&) { return {{"exit_status", 0}, {"verified", true}}; }

  std::string dir_, messages_;
  RunArguments args_;
  int status_ = -1;
};

TEST_F(RunCasesTest, EveryCaseHasItsLineInTheOrderOfTheFile) {
  const std::vector<Json> results = Run({Case("b"), "", Case("a")}, Passed);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["id"], "b");
  EXPECT_EQ(results[0]["line"], 1);
  EXPECT_EQ(results[1]["id"], "a");
  EXPECT_EQ(results[1]["line"], 3);
  EXPECT_EQ(results[1]["status"], "passed");
  EXPECT_EQ(results[1]["verified"], true);
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(messages_, HasSubstr("2 cases: 2 passed"));
}

TEST_F(RunCasesTest, OneThatDiesOrThrowsLeavesTheOthersAlone) {
  const auto runner = [](const RunCase& run) -> Json {
    if (run.id == "dies") std::raise(SIGKILL);
    if (run.id == "refused")
      throw compiler::CompileError("RuntimeError", "not_divisible", "3 does not divide 64");
    if (run.id == "fault") throw Error(ErrorKind::kDeviceFault, "the card has gone");
    if (run.id == "wrong") return {{"exit_status", 1}, {"verified", false}};
    return Passed(run);
  };
  const std::vector<Json> results =
      Run({Case("dies"), Case("refused"), Case("fault"), Case("wrong"), Case("well")}, runner);
  ASSERT_EQ(results.size(), 5u);
  std::vector<int> statuses;
  for (const Json& result : results) statuses.push_back(result["exit_status"].get<int>());
  EXPECT_THAT(statuses, ElementsAre(4, 2, 3, 1, 0));
  EXPECT_EQ(results[0]["error"]["type"], "Crashed");
  EXPECT_THAT(results[0]["error"]["message"].get<std::string>(), HasSubstr("signal 9"));
  EXPECT_EQ(results[1]["error"]["type"], "RuntimeError");
  EXPECT_EQ(results[1]["error"]["kind"], "not_divisible");
  EXPECT_EQ(results[1]["status"], "refused");
  EXPECT_EQ(results[2]["error"]["type"], "DeviceFault");
  EXPECT_EQ(results[3]["verified"], false);
  EXPECT_EQ(results[4]["status"], "passed");
  EXPECT_EQ(status_, 4) << "that of the worst";
}

TEST_F(RunCasesTest, BrokenLinesAreNamedByNumberAndTheOthersRun) {
  const std::vector<Json> results =
      Run({"{\"id\": ", "[1]", Case("x", ", \"opz\": 1"), Case("y"), Case("y"),
           "{\"id\": \"../z\", \"ops\": []}", "{\"id\": \"nothing\"}"},
          Passed);
  ASSERT_EQ(results.size(), 7u);
  const auto message = [&](size_t i) { return results[i]["error"]["message"].get<std::string>(); };
  EXPECT_EQ(results[0]["id"], nullptr);
  EXPECT_THAT(message(0), HasSubstr("cases.jsonl, line 1: not valid JSON"));
  EXPECT_THAT(message(1), HasSubstr("line 2: must be an object"));
  EXPECT_THAT(message(2), HasSubstr("line 3: unknown key 'opz'; did you mean 'ops'?"));
  EXPECT_EQ(results[3]["status"], "passed");
  EXPECT_THAT(message(4), HasSubstr("line 5: the id \"y\" is there twice"));
  EXPECT_THAT(message(5), HasSubstr("line 6: id \"../z\""));
  EXPECT_THAT(message(6), HasSubstr("line 7: nothing to run"));
  EXPECT_EQ(status_, 2);
}

TEST_F(RunCasesTest, KeysOfTheLineGoBeforeThoseOfTheCommandLine) {
  args_.sets = {"card.cores=4", "workload.seed=7"};
  const auto runner = [](const RunCase& run) -> Json {
    return {{"exit_status", 0},
            {"cores", run.config.card.cores},
            {"seed", run.config.workload.seed},
            {"lx", static_cast<int>(run.config.workload.lx)}};
  };
  const std::vector<Json> results =
      Run({Case("a", R"(, "set": {"card.cores": 2, "workload.lx": "none"})"), Case("b")}, runner);
  EXPECT_EQ(results[0]["cores"], 2);
  EXPECT_EQ(results[0]["seed"], 7);
  EXPECT_EQ(results[0]["lx"], static_cast<int>(LxResults::kNone));
  EXPECT_EQ(results[1]["cores"], 4);
}

TEST_F(RunCasesTest, FilesOfInputsAreThoseBesideTheFileOfCases) {
  const std::string line =
      R"({"id": "f", "dims": {"A": 64}, "tensors": [{"name": "a", "dims": ["A"], "file": "a.npy"}],)"
      R"( "ops": [{"op": "exp", "inputs": ["a"], "output": "y"}]})";
  Run({line}, Passed);
  const Json written = JsonOf(ReadFile(dir_ + "/out/f.json", "list"));
  EXPECT_EQ(written["tensors"][0]["file"],
            std::filesystem::path(dir_ + "/a.npy").lexically_normal().string());
}

TEST_F(RunCasesTest, AFileWithoutCasesIsRefused) { EXPECT_THROW(Run({"", " "}, Passed), Error); }

}  // namespace
}  // namespace spyre::cosim::run_cases_test
