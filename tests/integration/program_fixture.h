// SPDX-License-Identifier: Apache-2.0
// Runs the program `spyre-cosim` as users call it, in a directory of the test case's own. One
// process a run, so that one test may compare many.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "tests/paths.h"

namespace spyre::test {

class ProgramFixture : public ::testing::Test {
 protected:
  struct Outcome {
    int status;
    std::string out, err;
  };

  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = ::testing::TempDir() + info->test_suite_name() + "_" + info->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_ + "/tmp");
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << text;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(dir_ + "/" + name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  // Temporary files go to tmp/. `environment`: NAME=value, for the shell.
  Outcome Call(const std::string& arguments, const std::string& environment = "") const {
    std::string words = arguments;
    const std::string run = "run ";
    if (!simulates_next_ && words.rfind(run, 0) == 0) words.insert(run.size(), "--estimate-next ");
    const std::string command = "cd '" + dir_ + "' && TMPDIR='" + dir_ + "/tmp' " + environment +
                                " '" SPYRE_BUILD_DIR "/spyre-cosim' " + words + " 2>err.txt";
    FILE* pipe = popen(command.c_str(), "r");
    Outcome outcome{};
    std::array<char, 4096> buffer;
    size_t count = 0;
    while ((count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
      outcome.out.append(buffer.data(), count);
    const int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.err = Read("err.txt");
    return outcome;
  }

  // report.json of a run with `workload`, the lines of that table; `more` are further tables.
  nlohmann::json Report(const std::string& workload, const std::string& more = "") const {
    Write("run.toml", "[workload]\n" + workload + "\n" + more);
    const Outcome outcome = Call("run run.toml --json");
    EXPECT_EQ(outcome.status, 0) << workload << ": " << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : nlohmann::json();
  }

  std::string dir_;
  // Whether a small `run` simulates what its verdict proposes next, as it does for users. Most
  // tests do not look at that, and it costs more than the run itself.
  bool simulates_next_ = false;
};

// The same for tests that do not mind which output a text comes on.
class MergedOutputFixture : public ProgramFixture {
 protected:
  struct Outcome {
    int status;
    std::string text;  // standard output and standard error
  };

  Outcome Call(const std::string& arguments, const std::string& environment = "") const {
    const auto outcome = ProgramFixture::Call(arguments, environment);
    return {outcome.status, outcome.out + outcome.err};
  }
  Outcome RunToml(const std::string& workload, const std::string& arguments = "") const {
    Write("run.toml", workload);
    return Call("run run.toml --out out --no-progress " + arguments);
  }
};

}  // namespace spyre::test
