// SPDX-License-Identifier: Apache-2.0
// Lists that join, repeat, pad, roll and cut tensors: whole runs against loops over the files that
// the runs wrote.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/integration/list_fixture.h"

namespace spyre::cosim::list_joins_test {
namespace {

using ListJoins = test::ListFixture;
using test::Off;
using Numbers = std::vector<double>;

// Rows of `sizes` columns each, side by side.
struct Columns {
  const Numbers& values;
  size_t count;
};
Numbers SideBySide(const std::vector<Columns>& parts, size_t rows) {
  Numbers all;
  for (size_t row = 0; row < rows; ++row) {
    for (const Columns& part : parts) {
      const auto begin = part.values.begin() + static_cast<std::ptrdiff_t>(row * part.count);
      all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(part.count));
    }
  }
  return all;
}

// The joined dimension is the last one, where sticks lie: of whole sticks, and of parts of some.
TEST_F(ListJoins, PartsOfSticksAreJoinedInTheirOrder) {
  Run(R"({"dims": {"R": 5, "A": 70, "B": 3, "C": 64, "W": 128, "P": 137, "Q": 192},
    "tensors": [{"name": "a", "dims": ["R", "A"]}, {"name": "b", "dims": ["R", "B"]},
                {"name": "c", "dims": ["R", "C"]}, {"name": "w", "dims": ["R", "W"]}],
    "ops": [{"op": "cat", "inputs": ["a", "b", "c"], "dim": ["A", "B", "C"], "into": "P", "output": "p"},
            {"op": "cat", "inputs": ["w", "c"], "dim": ["W", "C"], "into": "Q", "output": "q"},
            {"op": "exp", "inputs": ["p"], "output": "y"}], "outputs": ["p", "q", "y"]})");
  const Numbers a = Values("a"), b = Values("b"), c = Values("c"), w = Values("w");
  Numbers p = SideBySide({{a, 70}, {b, 3}, {c, 64}}, 5);
  EXPECT_LT(Off(Values("p"), p), 0.001);
  EXPECT_LT(Off(Values("q"), SideBySide({{w, 128}, {c, 64}}, 5)), 0.001);
  for (double& value : p) value = std::exp(value);
  EXPECT_LT(Off(Values("y"), p), 0.003);
}

// Of rows, of a tensor with itself, and of results.
TEST_F(ListJoins, ATensorIsRepeatedAndResultsAreJoined) {
  Run(R"({"dims": {"R": 3, "S": 2, "C": 100, "T": 6, "U": 5},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "z", "dims": ["S", "C"]}],
    "ops": [{"op": "cat", "inputs": ["x", "x"], "dim": "R", "into": "T", "output": "twice"},
            {"op": "neg", "inputs": ["x"], "output": "n"},
            {"op": "cat", "inputs": ["z", "n"], "dim": ["S", "R"], "into": "U", "output": "u"},
            {"op": "sum", "inputs": ["u"], "dim": "U", "output": "s"}], "outputs": ["twice", "u", "s"]})");
  const Numbers x = Values("x"), z = Values("z");
  Numbers twice = x, u = z;
  twice.insert(twice.end(), x.begin(), x.end());
  for (const double value : x) u.push_back(-value);
  EXPECT_LT(Off(Values("twice"), twice), 0.001);
  EXPECT_LT(Off(Values("u"), u), 0.001);
  Numbers sums(100, 0);
  for (size_t i = 0; i < u.size(); ++i) sums[i % 100] += u[i];
  EXPECT_LT(Off(Values("s"), sums), 0.003);
}

// A number is as many elements as its dimension has; a tensor without the dimension is repeated.
TEST_F(ListJoins, NumbersPadATensor) {
  Run(R"({"dims": {"R": 4, "C": 65, "L": 2, "K": 33, "P": 100},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "row", "dims": ["R"]}],
    "ops": [{"op": "cat", "inputs": [-1.5, "x", "row"], "dim": ["L", "C", "K"], "into": "P", "output": "p"}]})");
  const Numbers x = Values("x"), row = Values("row");
  Numbers p;
  for (size_t r = 0; r < 4; ++r) {
    p.insert(p.end(), 2, -1.5);
    p.insert(p.end(), x.begin() + static_cast<std::ptrdiff_t>(r * 65),
             x.begin() + static_cast<std::ptrdiff_t>((r + 1) * 65));
    p.insert(p.end(), 33, row[r]);
  }
  EXPECT_LT(Off(Values("p"), p), 0.001);
}

// torch.roll by 30 along the last dimension: two slices, the other way round; and of a vector.
TEST_F(ListJoins, ARollIsTwoSlicesTheOtherWayRound) {
  Run(R"({"dims": {"R": 3, "C": 100, "A": 30, "B": 70, "D": 100},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "v", "dims": ["C"]}],
    "ops": [{"op": "slice", "inputs": ["x"], "dim": "C", "start": 70, "into": "A", "output": "end"},
            {"op": "slice", "inputs": ["x"], "dim": "C", "into": "B", "output": "begin"},
            {"op": "cat", "inputs": ["end", "begin"], "dim": ["A", "B"], "into": "D", "output": "y"},
            {"op": "slice", "inputs": ["v"], "dim": "C", "start": 70, "into": "A", "output": "tail"},
            {"op": "slice", "inputs": ["v"], "dim": "C", "into": "B", "output": "head"},
            {"op": "cat", "inputs": ["tail", "head"], "dim": ["A", "B"], "into": "D", "output": "u"}]})");
  const Numbers x = Values("x"), v = Values("v");
  Numbers y, u;
  for (size_t i = 0; i < 300; ++i) y.push_back(x[i / 100 * 100 + (i + 70) % 100]);
  for (size_t i = 0; i < 100; ++i) u.push_back(v[(i + 70) % 100]);
  EXPECT_LT(Off(Values("y"), y), 0.001);
  EXPECT_LT(Off(Values("u"), u), 0.001);
}

// One launch for each operation.
TEST_F(ListJoins, AJoinIsALaunchOfItsOwn) {
  Run(R"({"dims": {"R": 40, "S": 24, "C": 96, "T": 64},
    "tensors": [{"name": "x", "dims": ["R", "C"]},
                {"name": "z", "dims": ["S", "C"]}],
    "ops": [{"op": "abs", "inputs": ["x"], "output": "a"},
            {"op": "cat", "inputs": ["a", "z"], "dim": ["R", "S"], "into": "T", "output": "y"}]})",
      "--set workload.issue.mode=streams");
  const Numbers x = Values("x"), z = Values("z");
  Numbers y;
  for (const double value : x) y.push_back(std::abs(value));
  y.insert(y.end(), z.begin(), z.end());
  EXPECT_LT(Off(Values("y"), y), 0.001);
}

// The refusals name the operation and say what does not fit.
TEST_F(ListJoins, WhatDoesNotFitIsSaid) {
  const auto refusal = [&](const std::string& op) {
    Write("list.json", fmt::format(R"({{"dims": {{"R": 4, "C": 65, "S": 4, "T": 8}},
      "tensors": [{{"name": "x", "dims": ["R", "C"]}}, {{"name": "z", "dims": ["S", "R"]}}],
      "ops": [{{"op": "cat", "inputs": ["x", "z"], {}, "output": "y"}}]}})",
                                   op));
    const Outcome outcome = Call("run list.json --out out");
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal(R"("dim": ["R", "S"], "into": "T")"), HasSubstr("which another operand has"));
  EXPECT_THAT(refusal(R"("dim": ["C", "S"], "into": "T")"), HasSubstr("69 elements together"));
  EXPECT_THAT(refusal(R"("dim": ["C", "S"], "into": "R")"), HasSubstr("has already"));
  EXPECT_THAT(refusal(R"("dim": ["R", "S"])"), HasSubstr("needs `into`"));
}

}  // namespace
}  // namespace spyre::cosim::list_joins_test
