// SPDX-License-Identifier: Apache-2.0
// Tiling and LX planned together, and reductions in tiles, as whole runs: what is predicted is
// moved, it takes less time, and the numbers are right.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::co_optimize_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class CoOptimized : public ProgramFixture {
 protected:
  // The columns of `compare`: greedy and co-optimized.
  std::vector<Json> Compare(const Json& list, const std::string& arguments) const {
    Write("list.json", list.dump());
    const Outcome outcome = Call("compare list.json workload.lx=co-optimizing --json " + arguments +
                                 " --set trace.enabled=false");
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    return SortedJsonOf(outcome.out)["plans"].get<std::vector<Json>>();
  }
  static Json Softmax(int64_t rows, int64_t columns) {
    return {{"dims", {{"R", rows}, {"C", columns}}},
            {"tensors", {{{"name", "x"}, {"dims", {"R", "C"}}}}},
            {"ops", {{{"op", "softmax"}, {"inputs", {"x"}}, {"dim", "C"}, {"output", "p"}}}}};
  }
  static int64_t Predicted(const Json& column) {
    return column["predicted"]["bytes_read"].get<int64_t>() +
           column["predicted"]["bytes_written"].get<int64_t>();
  }
  static int64_t Moved(const Json& column) {
    return column["device_memory"]["bytes_read"].get<int64_t>() +
           column["device_memory"]["bytes_written"].get<int64_t>();
  }
};

TEST_F(CoOptimized, MovesWhatIsPredictedAndTakesLessTime) {
  // On four cores two of the tensors of 8 MiB have no room in LX. The closed compiler's loops would
  // hide a part of the traffic.
  const std::vector<Json> columns =
      Compare(Softmax(1024, 4096),
              "--set workload.cores=4 --set workload.functional=false --set workload.schedule=own");
  ASSERT_EQ(columns.size(), 2u);
  constexpr int64_t kTensor = int64_t{1024} * 4096 * 2;
  EXPECT_EQ(Predicted(columns[1]), 3 * kTensor) << "x twice, p once";
  EXPECT_GT(Predicted(columns[0]), 7 * kTensor);
  constexpr int64_t kProgram = 32 << 10;  // which is read as well
  for (const Json& column : columns) {
    EXPECT_GE(Moved(column), Predicted(column));
    EXPECT_LT(Moved(column), Predicted(column) + kProgram);
  }
  EXPECT_LT(columns[1]["device_ns"].get<double>(), 0.7 * columns[0]["device_ns"].get<double>());
}

TEST_F(CoOptimized, TheNumbersAreRight) {
  const std::vector<Json> columns =
      Compare(Softmax(256, 8192), "--set workload.cores=1 --set workload.lx_solver=bestfit");
  EXPECT_THAT(columns[1]["predicted"]["kernels"][0]["loops"].get<std::string>(), HasSubstr("x["));
  EXPECT_LT(Predicted(columns[1]), Predicted(columns[0]));
  for (const Json& column : columns) EXPECT_EQ(column["verified"], true);
}

TEST_F(CoOptimized, KeysOfTheCostHaveNoEffectWithoutIt) {
  Write("list.json", Softmax(64, 64).dump());
  const Outcome outcome = Call("run list.json --set workload.lx_step_bytes=1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("workload.lx is \"co-optimizing\""));
}

TEST_F(CoOptimized, ReductionsInTilesAreRightToWhatRoundingsExplain) {
  const Json list = SortedJsonOf(R"({
    "dims": {"A": 64, "K": 1024, "N": 128},
    "tensors": [{"name": "x", "dims": ["A", "K"]}, {"name": "w", "dims": ["K", "N"]}],
    "ops": [{"op": "exp", "inputs": ["x"], "output": "y"},
            {"op": "matmul", "inputs": ["y", "w"], "output": "z"},
            {"op": "sum", "inputs": ["y"], "dim": "K", "output": "s"},
            {"op": "mean", "inputs": ["y"], "dim": "K", "output": "m"},
            {"op": "amax", "inputs": ["x"], "dim": "K", "output": "a"}],
    "hints": [{"slices": {"A": 2, "K": 8}}]})");
  Write("list.json", list.dump());
  const Outcome tiled = Call("run list.json --set workload.tiled_reductions=plan --json");
  EXPECT_EQ(tiled.status, 0) << tiled.out << tiled.err;
  EXPECT_LT(SortedJsonOf(tiled.out)["verified"]["max_relative_error"].get<double>(), 0.01);
  const Outcome refused = Call("run list.json");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("RuntimeError: tiled_reduction_dim"));
}

}  // namespace
}  // namespace spyre::test::co_optimize_test
