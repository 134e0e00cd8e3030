// SPDX-License-Identifier: Apache-2.0
// Collectives in the middle of a list of operations: what every card has afterwards is what loops
// in float64 give, for random lists too; times do not depend on the data; what does not fit is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/host/child_process.h"
#include "cosim/report/report.h"
#include "cosim/report/report_cards.h"
#include "cosim/session/session.h"
#include "tests/integration/npy_values.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::list_collectives_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Values = std::vector<double>;

std::string WithList(const json& list, const std::string& issue = "") {
  const std::string path = ::testing::TempDir() + "list.json";
  std::ofstream(path) << list.dump();
  return "[card]\nmode = \"pf\"\ncores = 4\n[workload]\ngraph = \"" + path + "\"\n" + issue +
         "[output]\ninputs = true\n[trace]\nenabled = false\n";
}

RunResult RunList(const json& list, const std::vector<std::string>& sets,
                  const std::string& issue = "") {
  return RunSession(ParseConfig(WithList(list, issue), "list.toml", sets), test::OutDir());
}

Values Of(size_t card, const std::string& tensor) {
  return test::NpyValues(fmt::format("{}/card{}/{}.npy", test::OutDir(), card, tensor));
}

void ExpectNear(const Values& got, const Values& right, const std::string& what) {
  ASSERT_EQ(got.size(), right.size()) << what;
  double largest = 1, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(right[i]));
    error = std::isfinite(got[i]) ? std::max(error, std::abs(got[i] - right[i])) : INFINITY;
  }
  EXPECT_LT(error, 0.01 * largest) << what;
}

void ExpectVerified(const RunResult& result) {
  ASSERT_EQ(MemberError(result), nullptr) << MemberError(result)->what();
  for (const CardResult& card : result.cards)
    EXPECT_TRUE(card.run.verification->passed()) << card.name;
  for (const ListCollective& collective : result.list_collectives)
    EXPECT_TRUE(collective.verification->passed()) << collective.name;
}

// rows x inner by inner x columns.
Values Product(const Values& a, const Values& b, size_t rows, size_t inner, size_t columns) {
  Values c(rows * columns, 0);
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < inner; ++k)
      for (size_t j = 0; j < columns; ++j)
        c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return c;
}

const json kMlp = SortedJsonOf(R"({
  "dims": {"S": 32, "H": 128, "I": "512 / cards"},
  "tensors": [{"name": "x", "dims": ["S", "H"], "same": true},
              {"name": "up", "dims": ["H", "I"], "split": "I"},
              {"name": "down", "dims": ["I", "H"], "split": "I"}],
  "ops": [{"op": "matmul", "inputs": ["x", "up"], "output": "u"},
          {"op": "relu", "inputs": ["u"], "output": "h"},
          {"op": "matmul", "inputs": ["h", "down"], "output": "partial"},
          {"op": "all_reduce", "inputs": ["partial"], "output": "sum"},
          {"op": "add", "inputs": ["x", "sum"], "output": "y"}]})");

class TensorParallelMlp : public ::testing::TestWithParam<size_t> {};

// The weights are cut into columns and rows here, and multiplied as a whole.
TEST_P(TensorParallelMlp, GivesOnEveryCardWhatTheWholeMlpGives) {
  const size_t cards = GetParam(), rows = 32, hidden = 128, inner = 512, part = inner / cards;
  const RunResult result = RunList(kMlp, {fmt::format("cards.count={}", cards)});
  ExpectVerified(result);
  Values up(hidden * inner), down(inner * hidden);
  for (size_t card = 0; card < cards; ++card) {
    const Values columns = Of(card, "up"), lines = Of(card, "down");
    ASSERT_EQ(columns.size(), hidden * part);
    for (size_t i = 0; i < hidden; ++i)
      std::copy_n(&columns[i * part], part, &up[i * inner + card * part]);
    std::copy_n(lines.data(), part * hidden, &down[card * part * hidden]);
    EXPECT_EQ(Of(card, "x"), Of(0, "x"));
  }
  const Values x = Of(0, "x");
  Values h = Product(x, up, rows, hidden, inner);
  for (double& value : h) value = std::max(0.0, value);
  Values y = Product(h, down, rows, inner, hidden);
  for (size_t i = 0; i < y.size(); ++i) y[i] += x[i];
  for (size_t card = 0; card < cards; ++card)
    ExpectNear(Of(card, "y"), y, fmt::format("card {}", card));
}
INSTANTIATE_TEST_SUITE_P(ListCollectives, TensorParallelMlp, ::testing::Values(2, 4, 8),
                         ::testing::PrintToStringParamName());

// The whole is the same whatever the number of cards.
TEST(ListCollectives, PartsOfAWholeAreThoseOfAnyNumberOfCards) {
  const auto whole = [](size_t cards) {
    return RunInChild([cards] {
      RunList(kMlp, {fmt::format("cards.count={}", cards), "workload.verify=none"});
      std::string text;
      for (size_t card = 0; card < cards; ++card)
        for (const double value : Of(card, "down")) text += fmt::format("{} ", value);
      return text;
    });
  };
  EXPECT_EQ(whole(2), whole(4));
}

TEST(ListCollectives, TimesDoNotDependOnTheDataAndRepeat) {
  const auto digest = [](const char* functional) {
    return RunInChild([functional] {
      const RunResult result = RunList(kMlp, {"cards.count=4", "trace.enabled=true",
                                              std::string("workload.functional=") + functional});
      return fmt::format("{:016x} {}", result.trace_digest, result.sim_ps);
    });
  };
  const std::string first = digest("true");
  EXPECT_EQ(first, digest("true"));
  EXPECT_EQ(first, digest("false"));
}

TEST(ListCollectives, AreInTheReportOneByOne) {
  const RunResult result = RunList(kMlp, {"cards.count=4", "cards.algorithm=ring"});
  const json report = SortedJsonOf(ReportJson(result));
  ASSERT_EQ(report["collectives"].size(), 1u);
  const json& sum = report["collectives"][0];
  EXPECT_EQ(sum["name"], "sum");
  EXPECT_EQ(sum["operation"], "all_reduce");
  EXPECT_EQ(sum["algorithm"], "ring");
  EXPECT_EQ(sum["bytes"], 32 * 128 * 2);
  EXPECT_EQ(sum["verified"], true);
  EXPECT_EQ(sum["cards"].size(), 4u);
  EXPECT_EQ(sum["cards"][3]["bytes_sent"], 6 * 32 * 128 * 2 / 4);
  EXPECT_EQ(result.cards[3].peer_written_bytes, 6u * 32 * 128 * 2 / 4);
  EXPECT_GT(sum["time_ns"].get<double>(), 0);
  EXPECT_EQ(report["collective"], nullptr);
  EXPECT_LT(CollectivePs(result), ProgramPs(result));
}

// What other streams were given before goes on while the cards exchange data, if the card lets
// copies and kernels overlap.
TEST(ListCollectives, OverlapWithKernelsOfOtherStreams) {
  json list = SortedJsonOf(R"({
    "dims": {"S": 128, "H": 512, "N": 512},
    "tensors": [{"name": "a", "dims": ["S", "H"]}, {"name": "b", "dims": ["S", "H"]},
                {"name": "w", "dims": ["H", "N"]}],
    "ops": [{"op": "neg", "inputs": ["a"], "output": "na", "stream": 1},
            {"op": "matmul", "inputs": ["b", "w"], "output": "bw", "stream": 2},
            {"op": "all_reduce", "inputs": ["na"], "output": "sa"}]})");
  const auto ns = [&](const char* first) {
    if (std::string(first) == "in turn") {
      list["ops"][1]["after"] = {"sa"};
      std::swap(list["ops"][1], list["ops"][2]);
    }
    return std::stod(RunInChild([&list] {
      const RunResult result = RunList(
          list, {"cards.count=2", "workload.functional=false", "card.concurrency=pipelined"},
          "[workload.issue]\nmode = \"streams\"\n");
      return fmt::format("{}", result.LaunchPs() / 1000);
    }));
  };
  const double beside = ns("beside"), in_turn = ns("in turn");
  EXPECT_LT(beside, in_turn);
}

TEST(ListCollectives, WhatDoesNotFitIsRefused) {
  const auto refusal = [](const json& change, const std::vector<std::string>& sets) {
    json list = kMlp;
    list["ops"][3].update(change);
    return test::FailureOf([&] { RunList(list, sets); });
  };
  EXPECT_THAT(
      refusal(json::object(), {}),
      HasSubstr("'sum' (all_reduce) is what several cards do together, and cards.count is 1"));
  EXPECT_THAT(refusal({{"op", "broadcast"}, {"root", 4}}, {"cards.count=4"}),
              HasSubstr("'sum' (broadcast): root = 4: there are 4 cards, numbered from 0"));
  EXPECT_THAT(refusal({{"op", "send"}, {"root", 1}}, {"cards.count=4"}),
              HasSubstr("'sum' (send): peer = 1 is root"));
  EXPECT_THAT(refusal({{"root", 1}}, {"cards.count=4"}), HasSubstr("unknown key 'ops[3].root'"));
  EXPECT_THAT(refusal(json::object(), {"cards.count=4", "cards.collective=barrier"}),
              HasSubstr("the list says itself what the cards do together"));
  EXPECT_THAT(refusal(json::object(), {"cards.count=4", "workload.issue.mode=task_graph"}),
              HasSubstr("a task graph has no such task"));
  json list = kMlp;
  list["dims"]["J"] = 256;
  list["ops"][4] = {
      {"op", "all_gather"}, {"inputs", {"sum"}}, {"output", "y"}, {"dim", "H"}, {"into", "J"}};
  EXPECT_THAT(test::FailureOf([&] { RunList(list, {"cards.count=4"}); }),
              HasSubstr("'y' (all_gather): J = 256 is not the H = 128 of each of 4 cards: 512"));
  list["dims"]["J"] = 128;
  list["ops"][4].update({{"dim", "S"}});
  EXPECT_THAT(test::FailureOf([&] { RunList(list, {"cards.count=4"}); }),
              HasSubstr("must lie one behind the other in device memory"));
}

// ---------------------------------------------------------------- random lists

// A tensor of [A, B] on each card: elements, columns, and where they are defined at all.
struct PerCard {
  std::vector<Values> of;
  std::vector<bool> known;
  size_t columns = 0;
};

class RandomList {
 public:
  explicit RandomList(unsigned seed) : random_(seed) {
    cards_ = std::array<size_t, 5>{2, 3, 4, 5, 8}[Below(5)];
    rows_ = 1 + Below(9);
    list_["dims"] = {{"A", rows_}, {"B", 64}};
    list_["tensors"] = {{{"name", "x"}, {"dims", {"A", "B"}}},
                        {{"name", "w"}, {"dims", {"A", "B"}}, {"same", true}}};
    list_["ops"] = json::array();
    names_ = {"x", "w"};
    columns_ = {{"x", 64}, {"w", 64}};
    Append("add", {"x", "w"}, 64);
    const size_t count = 2 + Below(6);
    for (size_t i = 0; i < count; ++i) AppendAny();
    AppendCollective(0);
    json outputs = json::array();
    for (size_t i = 2; i < names_.size(); ++i) outputs.push_back(names_[i]);
    list_["outputs"] = outputs;
  }

  void RunAndCompare() {
    const bool streams = Below(3) == 0;
    const RunResult result =
        RunList(list_,
                {fmt::format("cards.count={}", cards_),
                 "cards.algorithm=" + runtime::CollectiveAlgorithmNames()[Below(4)]},
                streams ? "[workload.issue]\nmode = \"streams\"\n" : "");
    ExpectVerified(result);
    for (const char* input : {"x", "w"}) {
      PerCard& tensor = values_[input];
      tensor.columns = 64;
      for (size_t card = 0; card < cards_; ++card) tensor.of.push_back(Of(card, input));
      tensor.known.assign(cards_, true);
    }
    for (const json& op : list_["ops"]) Evaluate(op);
    for (const json& op : list_["ops"]) {
      const std::string name = op["output"];
      const PerCard& tensor = values_[name];
      for (size_t card = 0; card < cards_; ++card)
        if (tensor.known[card])
          ExpectNear(Of(card, name), tensor.of[card],
                     fmt::format("card {} of {}: {} of {}", card, cards_, name, list_.dump()));
    }
  }

 private:
  size_t Below(size_t end) { return random_() % end; }
  std::string Any() { return names_[Below(names_.size())]; }

  json& Append(const std::string& op, const std::vector<std::string>& inputs, size_t columns) {
    const std::string name = fmt::format("t{}", names_.size());
    list_["ops"].push_back({{"op", op}, {"inputs", inputs}, {"output", name}});
    names_.push_back(name);
    columns_[name] = columns;
    return list_["ops"].back();
  }

  void AppendAny() {
    if (Below(3) != 0) return AppendCollective(Below(8));
    const std::string first = Any();
    std::vector<std::string> fitting;
    for (const std::string& name : names_)
      if (dims_[name] == dims_[first]) fitting.push_back(name);
    Append(Below(2) == 0 ? "sub" : "maximum", {first, fitting[Below(fitting.size())]},
           columns_[first]);
    dims_[names_.back()] = dims_[first];
  }

  void AppendCollective(size_t which) {
    static const std::array<const char*, 8> kNames = {"all_reduce", "reduce",        "broadcast",
                                                      "send",       "barrier",       "all_gather",
                                                      "gather_to",  "reduce_scatter"};
    const std::string name = kNames[which], operand = Any();
    const size_t columns = columns_[operand];
    size_t after = columns;
    if (name == "reduce_scatter") {
      if (columns % (64 * cards_) != 0) return;
      after = columns / cards_;
    } else if (which == 5 || which == 6) {
      after = columns * cards_;
      if (after > 1024) return;
    }
    json& op = Append(name, {operand}, after);
    std::string dims = dims_[operand];
    if (which >= 5) {
      const std::string into = fmt::format("B{}", names_.size());
      list_["dims"][into] = after;
      op["dim"] = dims.empty() ? "B" : dims;
      op["into"] = dims = into;
    }
    dims_[names_.back()] = dims;
    const size_t root = Below(cards_);
    if (which == 1 || which == 2 || which == 3 || which == 6) op["root"] = root;
    if (which == 3) op["peer"] = (root + 1 + Below(cards_ - 1)) % cards_;
  }

  void Evaluate(const json& op) {
    const std::string name = op["op"];
    const PerCard in = values_[op["inputs"][0]];
    PerCard out = in;
    const bool all =
        std::count(in.known.begin(), in.known.end(), true) == static_cast<ptrdiff_t>(cards_);
    const size_t root = op.value("root", size_t{0});
    if (op["inputs"].size() == 2) {
      const PerCard& other = values_[op["inputs"][1]];
      for (size_t card = 0; card < cards_; ++card) {
        out.known[card] = in.known[card] && other.known[card];
        for (size_t i = 0; i < in.of[card].size(); ++i) {
          const double a = in.of[card][i], b = other.of[card][i];
          out.of[card][i] = name == "add" ? a + b : name == "sub" ? a - b : std::max(a, b);
        }
      }
    } else if (name == "all_reduce" || name == "reduce" || name == "reduce_scatter") {
      Values sum(in.of[0].size(), 0);
      for (const Values& values : in.of)
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
      if (name == "reduce_scatter") out.columns /= cards_;
      for (size_t card = 0; card < cards_; ++card) {
        out.of[card] = name == "reduce_scatter" ? Columns(sum, in.columns, card, out.columns) : sum;
        out.known[card] = all && (name != "reduce" || card == root);
      }
    } else if (name == "broadcast" || name == "send") {
      for (size_t card = 0; card < cards_; ++card) {
        if (name == "send" && card != op["peer"].get<size_t>()) continue;
        out.of[card] = in.of[root];
        out.known[card] = in.known[root];
      }
    } else if (name != "barrier") {
      Values joined;
      for (size_t row = 0; row < rows_; ++row)
        for (const Values& values : in.of)
          joined.insert(joined.end(), values.begin() + static_cast<ptrdiff_t>(row * in.columns),
                        values.begin() + static_cast<ptrdiff_t>((row + 1) * in.columns));
      out.of.assign(cards_, joined);
      out.columns *= cards_;
      for (size_t card = 0; card < cards_; ++card)
        out.known[card] = all && (name == "all_gather" || card == root);
    }
    values_[op["output"]] = std::move(out);
  }

  Values Columns(const Values& whole, size_t columns, size_t part, size_t width) const {
    Values values;
    for (size_t row = 0; row < rows_; ++row)
      for (size_t i = 0; i < width; ++i) values.push_back(whole[row * columns + part * width + i]);
    return values;
  }

  std::mt19937 random_;
  size_t cards_ = 2, rows_ = 1;
  json list_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> columns_;
  std::map<std::string, std::string> dims_;  // the last one; "": B
  std::map<std::string, PerCard> values_;
};

class RandomLists : public ::testing::TestWithParam<unsigned> {};
TEST_P(RandomLists, AreRightOnEveryCard) { RandomList(GetParam()).RunAndCompare(); }
INSTANTIATE_TEST_SUITE_P(ListCollectives, RandomLists, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace spyre::cosim::list_collectives_test
