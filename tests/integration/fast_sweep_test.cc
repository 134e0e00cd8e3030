// SPDX-License-Identifier: Apache-2.0
// Sweeps whose points are worked out by the closed form: many of them share a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "cosim/sweep/sweep.h"
#include "tests/integration/unwrapped.h"

namespace spyre::cosim::fast_sweep_test {
namespace {

using ::testing::HasSubstr;

// An addition has no axis, and is refused.
constexpr const char* kGrid = R"(
  [fixed]
  workload = { axis = "cols", cols = 128 }
  [axes]
  card.fidelity = ["fast", "timed"]
  workload.op = ["sum", "add"]
  workload.rows = { from = 100, to = 800, step = 100 }
)";

class FastSweep : public ::testing::Test {
 protected:
  FastSweep() { WriteFile(PathOf("grid.toml"), kGrid, "grid"); }

  std::string PathOf(const std::string& name) const { return scratch_.path() + "/" + name; }

  // Which process reads the configuration of a point, and so runs it, is in the file of its
  // fidelity.
  std::string Run(const std::string& out, const Shard& shard = {}) const {
    SweepOptions options;
    options.grid = PathOf("grid.toml");
    options.out = PathOf(out);
    options.jobs = 1;
    options.shard = shard;
    const auto reader = [this](const std::string& path, const std::vector<std::string>& sets) {
      RunConfig config = LoadConfig(path, sets);
      const bool is_fast = config.card.fidelity == model::Fidelity::kFast;
      std::ofstream(PathOf(is_fast ? "fast" : "timed"), std::ios::app) << getpid() << "\n";
      return config;
    };
    std::ostringstream printed, messages;
    EXPECT_EQ(RunSweep(options, reader, printed, messages), 0);
    return printed.str();
  }

  size_t ProcessesOf(const char* fidelity) const {
    std::ifstream lines(PathOf(fidelity));
    std::set<std::string> processes;
    for (std::string line; std::getline(lines, line);) processes.insert(line);
    return processes.size();
  }

  const ScratchDirectory scratch_{"fast_sweep_test"};
};

TEST_F(FastSweep, PointsShareProcessesAndGiveWhatEachAloneGives) {
  EXPECT_THAT(Unwrapped(Run("whole")), HasSubstr("32 of 32 points: 16 done, 16 infeasible"));
  EXPECT_LE(ProcessesOf("fast"), 8u) << "of 16 points by the closed form";
  EXPECT_GE(ProcessesOf("timed"), 16u) << "of 16 points for a simulated card";
  for (uint64_t point = 1; point <= 32; ++point) Run("alone", {point, 32});
  EXPECT_EQ(ReadFile(PathOf("alone/results.csv"), "results"),
            ReadFile(PathOf("whole/results.csv"), "results"));
}

}  // namespace
}  // namespace spyre::cosim::fast_sweep_test
