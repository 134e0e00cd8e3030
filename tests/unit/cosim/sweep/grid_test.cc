// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/error_of.h"

namespace spyre::cosim::grid_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::vector<Json> FirstValues(const Axis& axis) {
  std::vector<Json> values;
  for (const Axis::Values& one : axis.values) values.push_back(one[0]);
  return values;
}

TEST(Grid, KeepsAxesAndValuesInTheOrderOfTheFile) {
  const Grid grid = ParseGrid(R"(
    [sweep]
    config = "../add.toml"
    objectives = ["device_ns", "card.cores"]
    [fixed]
    workload.rows = 256
    [axes]
    card.clock.core_mhz = [1000]
    workload.cols = [512, 64]
    card.cores = { from = 1, to = 32, factor = 2 }
    "card.concurrency" = ["serial", "pipelined"]
    workload.dims.A = [1, 2]
  )",
                              "configs/sweeps/g.toml");
  EXPECT_EQ(grid.config, "configs/add.toml");
  EXPECT_THAT(grid.fixed, ElementsAre("workload.rows=256"));
  EXPECT_THAT(grid.Keys(), ElementsAre("card.clock.core_mhz", "workload.cols", "card.cores",
                                       "card.concurrency", "workload.dims.A"));
  EXPECT_THAT(FirstValues(grid.axes[1]), ElementsAre(512, 64));
  EXPECT_THAT(FirstValues(grid.axes[2]), ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_THAT(FirstValues(grid.axes[3]), ElementsAre("serial", "pipelined"));
  EXPECT_THAT(grid.objectives, ElementsAre("device_ns", "card.cores"));
}

TEST(Grid, KeysThatChangeTogetherAreOneAxis) {
  const Grid grid = ParseGrid(R"(
    [[together]]
    keys = ["workload.split.m", "workload.split.n"]
    values = [[4, 8], [8, 4], [32, 1]]
  )",
                              "g.toml");
  ASSERT_EQ(grid.axes.size(), 1u);
  EXPECT_THAT(grid.axes[0].values[1], ElementsAre(8, 4));
}

TEST(Grid, PathsAreRelativeToTheFile) {
  const Grid grid = ParseGrid(R"(
    [axes]
    card.preset = ["spyre", "my/card.toml", "/abs.toml"]
  )",
                              "some/where/g.toml");
  EXPECT_THAT(FirstValues(grid.axes[0]),
              ElementsAre("spyre", "some/where/my/card.toml", "/abs.toml"));
}

// Text of a grid, and what its refusal must name.
struct Wrong {
  const char* text;
  std::vector<const char*> named;
};

TEST(Grid, RefusalsNameTheKeyAndTheValue) {
  const Wrong wrongs[] = {
      {"[axes]\ncard.coers = [1]", {"g.toml:2:", "'card.coers'", "card.cores"}},
      {"[axes]\ncard.cores = [33]", {"g.toml:2:", "card.cores = 33", "1 .. 32"}},
      {"[axes]\ncard.cores = [\"a\"]", {"card.cores = \"a\"", "1 .. 32"}},
      {"[axes]\ncard.cores = [1.5]", {"card.cores = 1.5"}},
      {"[axes]\ncard.cores = [-1]", {"card.cores = -1"}},
      {"[axes]\nworkload.op = [\"ad\"]", {"workload.op = \"ad\""}},
      {"[axes]\nworkload.agree = [1]", {"workload.agree = 1", "true, false"}},
      {"[axes]\ncard.cores = []", {"card.cores", "no value"}},
      {"[axes]\ncard.cores = 4", {"card.cores", "[fixed]"}},
      {"[axes]\ncard = [4]", {"card is a table"}},
      {"[axes]\ncard.cores = { from = 1, to = 40, step = 1 }", {"card.cores = 40", "1 .. 32"}},
      {"[axes]\ncard.cores = { from = 4, to = 1, step = 1 }", {"card.cores", "from = 4", "to = 1"}},
      {"[axes]\ncard.cores = { from = 1, step = 1 }", {"card.cores", "from and to"}},
      {"[axes]\ncard.cores = { from = 1, to = 4, step = 1, count = 2 }", {"one of step"}},
      {"[axes]\ncard.cores = { from = 1, to = 4, factor = 1 }", {"card.cores.factor"}},
      {"[axes]\ncard.cores = { from = 1, to = 4, stp = 1 }", {"card.cores.stp", "step"}},
      {"[axes]\ncard.cores = { from = 1, to = 4 }", {"card.cores", "step, factor or count"}},
      {"[axes]\nring_hops = [1]", {"'ring_hops'"}},
      {"[sweep]\nmethd = \"grid\"\n[axes]\ncard.cores = [1]", {"sweep.methd", "method"}},
      {"[sweep]\nmethod = \"gird\"\n[axes]\ncard.cores = [1]", {"\"gird\"", "grid"}},
      {"[sweep]\nmethod = \"random\"\n[axes]\ncard.cores = [1]", {"sweep.points"}},
      {"[sweep]\npoints = 3\n[axes]\ncard.cores = [1]", {"sweep.points = 3"}},
      {"[sweep]\nwhere = [\"card.coers > 1\"]\n[axes]\ncard.cores = [1]",
       {"card.coers > 1", "card.cores"}},
      {"[sweep]\nobjectives = [\"lunch_ns\"]\n[axes]\ncard.cores = [1]", {"lunch_ns", "launch_ns"}},
      {"[sweep]\nobjectives = [\"workload.m\"]\n[axes]\ncard.cores = [1]",
       {"workload.m is not swept"}},
      {"[axis]\ncard.cores = [1]", {"'axis'", "axes"}},
      {"[sweep]\nseed = 1", {"nothing is swept"}},
      {"[axes]\ncard.cores = [1]\n[[together]]\nkeys = [\"card.cores\"]\nvalues = [[1]]",
       {"card.cores is swept twice"}},
      {"[[together]]\nkeys = [\"card.cores\"]\nvalues = [[1, 2]]", {"a list of 1 values"}},
  };
  for (const Wrong& wrong : wrongs) {
    const std::string message = test::BadInputOf([&] { ParseGrid(wrong.text, "g.toml"); });
    for (const char* name : wrong.named) EXPECT_THAT(message, HasSubstr(name)) << wrong.text;
  }
}

}  // namespace
}  // namespace spyre::cosim::grid_test
