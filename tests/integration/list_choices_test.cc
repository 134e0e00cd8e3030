// SPDX-License-Identifier: Apache-2.0
// Lists that choose by indices: whole runs against loops over the files that the runs wrote.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cosim/tensors/npy.h"
#include "tests/integration/list_fixture.h"

namespace spyre::cosim::list_choices_test {
namespace {

using test::Off;
using Numbers = std::vector<double>;

class ListChoices : public test::ListFixture {
 protected:
  void WriteIndices(const std::string& name, const std::vector<int32_t>& indices) const {
    WriteNpy(dir_ + "/" + name + ".npy", HostFormatOf(DataFormat::kIeeeInt32).npy,
             {static_cast<int64_t>(indices.size())}, indices.data());
  }
};

// Indices that repeat, of a vocabulary with rows of no whole sticks.
TEST_F(ListChoices, AnEmbeddingHasTheRowsOfItsWords) {
  const std::vector<int32_t> words = {7, 0, 49, 7, 12};
  WriteIndices("words", words);
  Run(R"({"dims": {"V": 50, "E": 70, "S": 5},
    "tensors": [{"name": "table", "dims": ["V", "E"]},
                {"name": "words", "dims": ["S"], "dtype": "int32", "file": "words.npy"}],
    "ops": [{"op": "embedding", "inputs": ["table", "words"], "dim": "V", "output": "y"},
            {"op": "exp", "inputs": ["y"], "output": "z"}], "outputs": ["y", "z"]})");
  const Numbers table = Values("table");
  Numbers y, z;
  for (const int32_t word : words) {
    for (size_t e = 0; e < 70; ++e) y.push_back(table[static_cast<size_t>(word) * 70 + e]);
  }
  for (const double value : y) z.push_back(std::exp(value));
  EXPECT_LT(Off(Values("y"), y), 0.001);
  EXPECT_LT(Off(Values("z"), z), 0.003);
}

// Columns, which lie inside sticks, of a result and of a vector; the last one is the first.
TEST_F(ListChoices, ColumnsAreTurnedRound) {
  std::vector<int32_t> order;
  for (int32_t i = 99; i >= 0; --i) order.push_back(i);
  WriteIndices("order", order);
  Run(R"({"dims": {"R": 3, "C": 100, "D": 100},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "v", "dims": ["C"]},
                {"name": "order", "dims": ["D"], "dtype": "int32", "file": "order.npy"}],
    "ops": [{"op": "abs", "inputs": ["x"], "output": "a"},
            {"op": "index_select", "inputs": ["a", "order"], "dim": "C", "output": "y"},
            {"op": "index_select", "inputs": ["v", "order"], "dim": "C", "output": "u"},
            {"op": "sum", "inputs": ["y"], "dim": "D", "output": "s"}],
    "outputs": ["y", "u", "s"]})");
  const Numbers x = Values("x"), v = Values("v");
  Numbers y, u(v.rbegin(), v.rend()), sums(3, 0);
  for (size_t i = 0; i < 300; ++i) y.push_back(std::abs(x[i / 100 * 100 + 99 - i % 100]));
  for (size_t i = 0; i < 300; ++i) sums[i / 100] += y[i];
  EXPECT_LT(Off(Values("y"), y), 0.001);
  EXPECT_LT(Off(Values("u"), u), 0.001);
  EXPECT_LT(Off(Values("s"), sums), 0.005);
}

// Keys of three tokens take their places in a cache; of two for one place the last counts.
TEST_F(ListChoices, NewKeysTakeTheirPlacesInACache) {
  const std::vector<int32_t> places = {9, 3, 9};
  WriteIndices("places", places);
  Run(R"({"dims": {"H": 2, "S": 12, "D": 70, "N": 3},
    "tensors": [{"name": "cache", "dims": ["H", "S", "D"]}, {"name": "keys", "dims": ["H", "N", "D"]},
                {"name": "places", "dims": ["N"], "dtype": "int32", "file": "places.npy"}],
    "ops": [{"op": "neg", "inputs": ["keys"], "output": "k"},
            {"op": "index_copy", "inputs": ["cache", "places", "k"], "dim": "S", "output": "y"},
            {"op": "amax", "inputs": ["y"], "dim": "S", "output": "z"}],
    "outputs": ["y", "z"]})");
  Numbers y = Values("cache");
  const Numbers keys = Values("keys");
  for (size_t head = 0; head < 2; ++head) {
    for (size_t n = 0; n < places.size(); ++n) {
      for (size_t d = 0; d < 70; ++d)
        y[(head * 12 + static_cast<size_t>(places[n])) * 70 + d] = -keys[(head * 3 + n) * 70 + d];
    }
  }
  Numbers z(2 * 70, -100);
  for (size_t i = 0; i < y.size(); ++i) {
    double& largest = z[i / (12 * 70) * 70 + i % 70];
    largest = std::max(largest, y[i]);
  }
  EXPECT_LT(Off(Values("y"), y), 0.001);
  EXPECT_LT(Off(Values("z"), z), 0.001);
}

// One index, whose dimension the result leaves out.
TEST_F(ListChoices, OneIndexTakesARow) {
  WriteIndices("which", {6});
  Run(R"({"dims": {"R": 9, "C": 70, "I": 1},
    "tensors": [{"name": "x", "dims": ["R", "C"]},
                {"name": "which", "dims": ["I"], "dtype": "int32", "file": "which.npy"}],
    "ops": [{"op": "index_select", "inputs": ["x", "which"], "dim": "R", "output": "y",
             "dims": ["C"]}]})");
  const Numbers x = Values("x");
  EXPECT_LT(Off(Values("y"), Numbers(x.begin() + 6 * 70, x.begin() + 7 * 70)), 0.001);
}

// The number of rows is known exactly: one more is a fault of the card that names the index.
TEST_F(ListChoices, AnIndexBeyondTheRowsIsAFault) {
  WriteIndices("words", {3, 50});
  Write("list.json", R"({"dims": {"V": 50, "E": 64, "S": 2},
    "tensors": [{"name": "table", "dims": ["V", "E"]},
                {"name": "words", "dims": ["S"], "dtype": "int32", "file": "words.npy"}],
    "ops": [{"op": "embedding", "inputs": ["table", "words"], "dim": "V", "output": "y"}]})");
  const Outcome outcome = Call("run list.json --out out");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("INDEX_RANGE"));
}

TEST_F(ListChoices, WhatAListCannotChooseIsSaid) {
  const auto refusal = [&](const std::string& dtype, const std::string& op) {
    Write("list.json", fmt::format(R"({{"dims": {{"V": 50, "E": 64, "S": 2}},
      "tensors": [{{"name": "table", "dims": ["V", "E"]}},
                  {{"name": "words", "dims": ["S"], "dtype": "{}"}}],
      "ops": [{{{}, "output": "y"}}]}})",
                                   dtype, op));
    const Outcome outcome = Call("run list.json --out out");
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  using ::testing::HasSubstr;
  const std::string choice = R"("op": "index_select", "inputs": ["table", "words"], "dim": "V")";
  EXPECT_THAT(refusal("float16", choice), HasSubstr("from a tensor of int32"));
  EXPECT_THAT(refusal("int32", R"("op": "add", "inputs": ["table", "words"])"),
              HasSubstr("'table' is float16; convert one of them"));
  EXPECT_THAT(refusal("int32", R"("op": "index_select", "inputs": ["table", "words"], "dim": "S")"),
              HasSubstr("dimension 'S' is not in table"));
}

}  // namespace
}  // namespace spyre::cosim::list_choices_test
