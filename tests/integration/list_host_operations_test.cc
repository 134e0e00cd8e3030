// SPDX-License-Identifier: Apache-2.0
// Lists of which the host computes a part between kernels: whole runs against loops over the files
// that the runs wrote.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "tests/integration/list_fixture.h"

namespace spyre::cosim::list_host_operations_test {
namespace {

using test::Off;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

class ListHostOperations : public test::ListFixture {
 protected:
  void WriteWhole(const std::string& name, const std::vector<int32_t>& values,
                  std::vector<int64_t> shape = {}) const {
    if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
    WriteNpy(dir_ + "/" + name + ".npy", HostFormatOf(DataFormat::kIeeeInt32).npy, shape,
             values.data());
  }
  Numbers Whole(const std::string& name) const {
    const HostFormat& format = HostFormatOf(DataFormat::kIeeeInt32);
    const NpyArray array = ReadNpy(dir_ + "/out/" + name + ".npy");
    EXPECT_EQ(array.data.size(), static_cast<size_t>(array.elements() * format.bytes)) << name;
    Numbers values;
    for (int64_t i = 0; i < array.elements(); ++i)
      values.push_back(HostValue(format.format, HostBits(format.format, array.data.data(), i)));
    return values;
  }
  std::string Refusal(const std::string& list, int status = 2, const std::string& options = "") {
    Write("list.json", list);
    const Outcome outcome = Call("run list.json --out out " + options);
    EXPECT_EQ(outcome.status, status) << outcome.out;
    return outcome.err;
  }
};

// What a kernel has computed goes to the host and back, twice; the host's time is charged and said.
TEST_F(ListHostOperations, SinesAndSumsStandBetweenKernels) {
  Run(R"({"dims": {"A": 5, "B": 70},
    "tensors": [{"name": "x", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["x"], "output": "e"},
            {"op": "sin", "inputs": ["e"], "output": "s"},
            {"op": "add", "inputs": ["s", "x"], "output": "y"},
            {"op": "cumsum", "inputs": ["y"], "dim": "B", "output": "c"},
            {"op": "cos", "inputs": ["x"], "output": "k"}], "outputs": ["c", "k"]})",
      "--set host.operation_ns=3000 --set host.operation_bytes_per_ns=2");
  const Numbers x = Values("x");
  Numbers c, k;
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = std::sin(std::exp(x[i])) + x[i];
    c.push_back(i % 70 == 0 ? y : c.back() + y);
    k.push_back(std::cos(x[i]));
  }
  EXPECT_LT(Off(Values("c"), c), 0.01);
  EXPECT_LT(Off(Values("k"), k), 0.002);
  const auto report = SortedJsonOf(Read("out/report.json"));
  const auto host = report.at("issue").at("host_operations");
  ASSERT_EQ(host.size(), 3u);
  EXPECT_EQ(host[0].at("op"), "sin");
  EXPECT_EQ(host[0].at("result"), "s");
  // 350 elements of two bytes are read and as many written, at two bytes a nanosecond.
  EXPECT_EQ(host[0].at("ns"), 3000 + 2 * 350 * 2 / 2);
  EXPECT_EQ(report.at("issue").at("tasks"), 2) << "kernels";
  const Outcome trace = Call("trace query out/trace.sctrace --track 'operations of the list'");
  EXPECT_THAT(trace.out, HasSubstr("host sin"));
  EXPECT_THAT(trace.out, HasSubstr("host cumsum"));
}

// Integers keep all of their 32 bits, and divide downwards.
TEST_F(ListHostOperations, IntegersAreExact) {
  const std::vector<int32_t> a = {16777217, -7, 2147483647, 0, 100003};
  const std::vector<int32_t> b = {1, 2, -1, 5, 3};
  WriteWhole("a", a);
  WriteWhole("b", b);
  Run(R"({"dims": {"N": 5},
    "tensors": [{"name": "a", "dims": ["N"], "dtype": "int32", "file": "a.npy"},
                {"name": "b", "dims": ["N"], "dtype": "int32", "file": "b.npy"}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "sum"},
            {"op": "floordiv", "inputs": ["a", 2], "output": "half"},
            {"op": "greaterthan", "inputs": ["a", 1000], "output": "large"},
            {"op": "where", "inputs": ["large", "b", "half"], "output": "chosen"},
            {"op": "bitwise_and", "inputs": ["a", 255], "output": "low"},
            {"op": "sort", "inputs": ["a"], "dim": "N", "output": "sorted"},
            {"op": "argsort", "inputs": ["a"], "dim": "N", "output": "order"},
            {"op": "mul", "inputs": ["large", 0.5], "output": "f"},
            {"op": "sum", "inputs": ["chosen"], "dim": "N", "output": "total"}],
    "outputs": ["sum", "half", "low", "sorted", "order", "f", "total", "chosen"]})");
  EXPECT_EQ(Whole("sum"), (Numbers{16777218, -5, 2147483646, 5, 100006}));
  EXPECT_EQ(Whole("half"), (Numbers{8388608, -4, 1073741823, 0, 50001}));
  EXPECT_EQ(Whole("low"), (Numbers{1, 249, 255, 0, 163}));
  EXPECT_EQ(Whole("sorted"), (Numbers{-7, 0, 100003, 16777217, 2147483647}));
  EXPECT_EQ(Whole("order"), (Numbers{1, 3, 4, 0, 2}));
  EXPECT_EQ(Values("f"), (Numbers{0.5, 0, 0.5, 0, 0.5}));
  EXPECT_EQ(Whole("chosen"), (Numbers{1, -4, -1, 0, 3}));
  EXPECT_EQ(Whole("total"), (Numbers{-1}));
}

// What the host has made of integers chooses rows on the card; elements are chosen by the host.
TEST_F(ListHostOperations, IndicesAreComputed) {
  WriteWhole("i", {2, 0, 6});
  WriteWhole("each", {3, 1, 0, 2, 2, 1}, {3, 2});
  Run(R"({"dims": {"R": 9, "C": 70, "N": 3, "K": 2, "P": 4},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "t", "dims": ["N", "P"]},
                {"name": "i", "dims": ["N"], "dtype": "int32", "file": "i.npy"},
                {"name": "each", "dims": ["N", "K"], "dtype": "int32", "file": "each.npy"}],
    "ops": [{"op": "add", "inputs": ["i", 2], "output": "j"},
            {"op": "index_select", "inputs": ["x", "j"], "dim": "R", "output": "rows"},
            {"op": "neg", "inputs": ["t"], "output": "m"},
            {"op": "gather", "inputs": ["m", "each"], "dim": "P", "output": "g"},
            {"op": "scatter", "inputs": ["m", "each", 7], "dim": "P", "output": "w"},
            {"op": "argmax", "inputs": ["t"], "dim": "P", "output": "best"},
            {"op": "tril", "inputs": ["t"], "dim": ["N", "P"], "diagonal": 1, "output": "low"}],
    "outputs": ["rows", "g", "w", "best", "low"]})");
  const Numbers x = Values("x"), t = Values("t");
  const std::vector<size_t> each = {3, 1, 0, 2, 2, 1};
  Numbers rows, g, w, best, low;
  for (const size_t row : {4, 2, 8})
    rows.insert(rows.end(), x.begin() + static_cast<long>(row * 70),
                x.begin() + static_cast<long>(row * 70 + 70));
  for (const double value : t) w.push_back(-value);
  for (size_t i = 0; i < 6; ++i) {
    g.push_back(-t[i / 2 * 4 + each[i]]);
    w[i / 2 * 4 + each[i]] = 7;
  }
  for (size_t row = 0; row < 3; ++row) {
    const auto first = t.begin() + static_cast<long>(4 * row);
    best.push_back(static_cast<double>(std::max_element(first, first + 4) - first));
    for (size_t column = 0; column < 4; ++column)
      low.push_back(column <= row + 1 ? t[4 * row + column] : 0);
  }
  EXPECT_LT(Off(Values("rows"), rows), 0.001);
  EXPECT_LT(Off(Values("g"), g), 0.001);
  EXPECT_LT(Off(Values("w"), w), 0.001);
  EXPECT_LT(Off(Values("low"), low), 0.001);
  EXPECT_EQ(Whole("best"), best);
}

// Of equal numbers that the card has computed either may be the largest: what follows is left open.
TEST_F(ListHostOperations, PositionsOfWhatIsNearlyEqualAreNotDecided) {
  Write("list.json", R"({"dims": {"A": 64, "B": 128},
    "tensors": [{"name": "x", "dims": ["A", "B"]}],
    "ops": [{"op": "tanh", "inputs": ["x"], "output": "y"},
            {"op": "argmax", "inputs": ["y"], "dim": "B", "output": "place"},
            {"op": "amax", "inputs": ["y"], "dim": "B", "output": "most"}],
    "outputs": ["place", "most"]})");
  const Outcome outcome = Call("run list.json --out out");
  EXPECT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const auto verified = SortedJsonOf(Read("out/report.json")).at("verified");
  EXPECT_EQ(verified.at("not_decided"), 64) << "the places, and not the largest values";
}

// The card keeps the largest of each lane; sticks that lie along the dimension are turned first.
TEST_F(ListHostOperations, TheLargestAreInOrder) {
  Run(R"({"dims": {"A": 5, "B": 40, "K": 3},
    "tensors": [{"name": "x", "dims": ["A", "B"]}],
    "ops": [{"op": "neg", "inputs": ["x"], "output": "y"},
            {"op": "topkvalue", "inputs": ["x"], "dim": "B", "into": "K", "output": "v"},
            {"op": "topkindex", "inputs": ["y"], "dim": "B", "into": "K", "output": "i"}],
    "outputs": ["v", "i"]})");
  const Numbers x = Values("x");
  Numbers v, i;
  for (size_t row = 0; row < 5; ++row) {
    std::vector<size_t> order(40);
    for (size_t place = 0; place < 40; ++place) order[place] = place;
    const auto at = [&](size_t place) { return x[row * 40 + place]; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return at(a) > at(b); });
    for (size_t rank = 0; rank < 3; ++rank) v.push_back(at(order[rank]));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return at(a) < at(b); });
    for (size_t rank = 0; rank < 3; ++rank) i.push_back(static_cast<double>(order[rank]));
  }
  EXPECT_LT(Off(Values("v"), v), 0.001);
  EXPECT_EQ(Values("i"), i);
}

// As launches of their own, on several streams, the host waits for what it needs.
TEST_F(ListHostOperations, StreamsWaitForTheHost) {
  Run(R"({"dims": {"A": 64, "B": 128},
    "tensors": [{"name": "x", "dims": ["A", "B"]}, {"name": "z", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["x"], "output": "a"},
            {"op": "neg", "inputs": ["z"], "output": "b"},
            {"op": "sin", "inputs": ["a"], "output": "s"},
            {"op": "add", "inputs": ["s", "b"], "output": "y"}]})",
      "--set workload.issue.mode=streams");
  const Numbers x = Values("x"), z = Values("z");
  Numbers y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back(std::sin(std::exp(x[i])) - z[i]);
  EXPECT_LT(Off(Values("y"), y), 0.005);
}

// Without functional execution the times are the same.
TEST_F(ListHostOperations, TimesDoNotDependOnNumbers) {
  const std::string list = R"({"dims": {"A": 64, "B": 128},
    "tensors": [{"name": "x", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["x"], "output": "a"},
            {"op": "sin", "inputs": ["a"], "output": "s"},
            {"op": "neg", "inputs": ["s"], "output": "y"}]})";
  Run(list);
  const auto first = SortedJsonOf(Read("out/report.json"));
  const Outcome outcome = Call("run list.json --out out --set workload.functional=false");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto second = SortedJsonOf(Read("out/report.json"));
  EXPECT_EQ(first.at("window"), second.at("window"));
}

TEST_F(ListHostOperations, WhatTheHostCannotComputeIsSaid) {
  WriteWhole("i", {2147483647, 3, 0});
  const std::string head = R"({"dims": {"N": 3},
    "tensors": [{"name": "i", "dims": ["N"], "dtype": "int32", "file": "i.npy"})";
  const auto one = [&](const std::string& op) {
    return head + R"(], "ops": [{"output": "y", )" + op + "}]}";
  };
  EXPECT_THAT(Refusal(one(R"("op": "add", "inputs": ["i", 1])")), HasSubstr("beyond int32"));
  EXPECT_THAT(Refusal(one(R"("op": "floordiv", "inputs": [5, "i"])")), HasSubstr("by 0"));
  EXPECT_THAT(Refusal(one(R"("op": "convert", "dtype": "float16", "inputs": ["i"])")),
              HasSubstr("beyond float16"));
  EXPECT_THAT(Refusal(one(R"("op": "exp", "inputs": ["i"])")), HasSubstr("convert"));
  const std::string mixed = head + R"(, {"name": "x", "dims": ["N"]}],
    "ops": [{"op": "add", "inputs": ["i", "x"], "output": "y"}]})";
  EXPECT_THAT(Refusal(mixed), HasSubstr("'x' is float16; convert one of them"));
  EXPECT_THAT(
      Refusal(one(R"("op": "neg", "inputs": ["i"])"), 2, "--set workload.issue.mode=task_graph"),
      HasSubstr("task graph"));
  const Outcome compiled = Call("compile list.json -o out");
  EXPECT_EQ(compiled.status, 2);
  EXPECT_THAT(compiled.err, HasSubstr("the host computes"));
}

}  // namespace
}  // namespace spyre::cosim::list_host_operations_test
