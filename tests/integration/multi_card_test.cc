// SPDX-License-Identifier: Apache-2.0
// Several cards from one configuration: an all-reduce has the bits of loops in the documented order
// on every card, for any size, and the same configuration has the same trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/host/child_process.h"
#include "cosim/report/report.h"
#include "cosim/report/report_cards.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::multi_card_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kAllReduce =
    "[card]\nmode = \"pf\"\n[cards]\ncollective = \"all_reduce\"\n"
    "algorithm = \"ring\"\n";

// The float16 numbers of a .npy file.
std::vector<double> ReadNpy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t begin = text.find('\n') + 1;
  std::vector<double> values;
  for (size_t i = begin; i + 1 < text.size(); i += 2) {
    uint16_t bits = 0;
    std::memcpy(&bits, &text[i], 2);
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    const double size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    values.push_back((bits >> 15) != 0 ? -size : size);
  }
  return values;
}

// To 9 fraction bits, ties away from zero.
double Rounded(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(mantissa * 1024), exponent - 10);
}

// What every card must have: chunks of whole 64 elements, the first ones one longer, chunk c from
// the card after c on around the ring.
std::vector<double> SumOf(const std::vector<std::vector<double>>& inputs) {
  const size_t cards = inputs.size(), sticks = inputs[0].size() / 64;
  std::vector<double> sum(inputs[0].size());
  size_t element = 0;
  for (size_t chunk = 0; chunk < cards; ++chunk) {
    const size_t length = (sticks / cards + (chunk < sticks % cards ? 1 : 0)) * 64;
    for (size_t i = 0; i < length; ++i, ++element) {
      sum[element] = Rounded(inputs[(chunk + 1) % cards][element]);
      for (size_t next = 2; next <= cards; ++next) {
        const float term = static_cast<float>(Rounded(inputs[(chunk + next) % cards][element]));
        sum[element] = Rounded(static_cast<float>(sum[element]) + term);
      }
    }
  }
  return sum;
}

struct Size {
  int cards, rows;
};
class AllReduces : public ::testing::TestWithParam<Size> {};

TEST_P(AllReduces, HaveTheBitsOfLoopsOnEveryCard) {
  const auto [cards, rows] = GetParam();
  const std::string out = test::OutDir();
  const RunResult result =
      RunSession(ParseConfig(kAllReduce, "cards.toml",
                             {"cards.count=" + std::to_string(cards), "workload.op=copy",
                              "workload.rows=" + std::to_string(rows), "workload.cols=64",
                              "output.inputs=true", "card.cores=8"}),
                 out);
  ASSERT_EQ(MemberError(result), nullptr) << MemberError(result)->what();
  std::vector<std::vector<double>> inputs;
  for (int card = 0; card < cards; ++card)
    inputs.push_back(ReadNpy(fmt::format("{}/card{}/a.npy", out, card)));
  ASSERT_EQ(inputs[0].size(), static_cast<size_t>(rows) * 64);
  EXPECT_NE(inputs[0], inputs[1]) << "each has data of its own";
  const std::vector<double> sum = SumOf(inputs);
  for (int card = 0; card < cards; ++card)
    EXPECT_EQ(ReadNpy(fmt::format("{}/card{}/out.npy", out, card)), sum) << "card " << card;
  ASSERT_TRUE(result.collective.has_value());
  EXPECT_TRUE(result.collective->passed());
  EXPECT_EQ(result.collective->elements, cards * rows * 64) << "every one on every card";
}

std::vector<Size> Sizes() {
  std::mt19937 random(17);
  std::vector<Size> sizes = {{2, 1}, {4, 3}};  // fewer sticks than cards, too
  for (const int cards : {2, 3, 4, 8})
    sizes.push_back({cards, static_cast<int>(random() % 300) + cards});
  return sizes;
}
INSTANTIATE_TEST_SUITE_P(MultiCard, AllReduces, ::testing::ValuesIn(Sizes()), [](const auto& test) {
  return fmt::format("Of{}CardsAnd{}Sticks", test.param.cards, test.param.rows);
});

// Every collective by every algorithm: the bytes on all cards are right, and those that the cards'
// counters of peers saw are the plan's.
struct Operation {
  runtime::Collective collective;
  runtime::CollectiveAlgorithm algorithm;
  size_t cards;
};

void PrintTo(const Operation& operation, std::ostream* out) {
  *out << runtime::TraceName(operation.collective) << "By_" << runtime::Name(operation.algorithm)
       << "Of" << operation.cards;
}

class Collectives : public ::testing::TestWithParam<Operation> {};

TEST_P(Collectives, AreRightAndMoveTheBytesOfTheirPlan) {
  const auto [collective, algorithm, cards] = GetParam();
  std::mt19937 random(static_cast<unsigned>(cards) * 31 + static_cast<unsigned>(collective));
  const size_t rows = random() % 60 + 1;
  runtime::CollectiveCall call{collective,    algorithm,        rows * 128,
                               "SEN169_FP16", random() % cards, 0};
  call.peer = (call.root + 1 + random() % (cards - 1)) % cards;
  const RunResult result = RunSession(
      ParseConfig(
          "[card]\nmode = \"pf\"\n", "cards.toml",
          {fmt::format("cards.count={}", cards), "cards.collective=" + runtime::Name(collective),
           "cards.algorithm=" + runtime::Name(algorithm), fmt::format("cards.root={}", call.root),
           fmt::format("cards.peer={}", call.peer), "workload.op=copy",
           fmt::format("workload.rows={}", rows), "workload.cols=64", "card.cores=4"}),
      test::OutDir());
  ASSERT_EQ(MemberError(result), nullptr) << MemberError(result)->what();
  ASSERT_TRUE(result.collective.has_value());
  EXPECT_TRUE(result.collective->passed()) << result.collective->mismatches << " differ";
  const runtime::CollectivePlan plan = runtime::PlanCollective(call, cards);
  for (size_t card = 0; card < cards; ++card) {
    EXPECT_EQ(result.cards[card].communication.bytes_sent, plan.BytesFrom(card)) << card;
    EXPECT_EQ(result.cards[card].peer_written_bytes, plan.BytesFrom(card)) << card;
    EXPECT_EQ(result.cards[card].communication.steps, plan.StepsFrom(card)) << card;
  }
}

std::vector<Operation> Operations() {
  std::vector<Operation> operations;
  for (size_t collective = 1; collective < runtime::CollectiveNames().size(); ++collective) {
    for (size_t algorithm = 1; algorithm < runtime::CollectiveAlgorithmNames().size();
         ++algorithm) {
      for (const size_t cards : {2, 3, 4, 8}) {
        operations.push_back({static_cast<runtime::Collective>(collective),
                              static_cast<runtime::CollectiveAlgorithm>(algorithm), cards});
      }
    }
  }
  return operations;
}
INSTANTIATE_TEST_SUITE_P(MultiCard, Collectives, ::testing::ValuesIn(Operations()),
                         ::testing::PrintToStringParamName());

const std::vector<std::string> kMatmul = {"cards.count=4", "workload.m=64", "workload.k=128",
                                          "workload.n=128", "card.cores=8"};

TEST(MultiCard, ATensorParallelMatmulIsVerifiedOnEveryCardAndTogether) {
  const RunResult result =
      RunSession(ParseConfig(kAllReduce, "cards.toml", kMatmul), test::OutDir());
  ASSERT_EQ(result.cards.size(), 4u);
  for (const CardResult& card : result.cards) {
    ASSERT_FALSE(card.error.has_value()) << card.error->what();
    EXPECT_TRUE(card.run.verification->passed()) << card.name;
    EXPECT_EQ(card.communication.steps, 6u) << "3 of reduce-scatter, 3 of all-gather";
    EXPECT_EQ(card.communication.bytes_sent, 6u * 64 * 128 * 2 / 4);
    EXPECT_GE(
        card.collective_end_ps - card.collective_begin_ps,
        card.communication.send_ps + card.communication.wait_ps + card.communication.compute_ps);
  }
  EXPECT_TRUE(result.collective->passed());
  EXPECT_EQ(result.collective->mismatches, 0);
  const json report = SortedJsonOf(ReportJson(result));
  EXPECT_EQ(report["cards"].size(), 4u);
  EXPECT_EQ(report["cards"][2]["rank"], 2);
  EXPECT_GT(report["cards"][2]["communication"]["send_ns"].get<double>(), 0);
  EXPECT_EQ(report["collective"]["ranks"], 4);
  EXPECT_EQ(report["collective"]["verified"], true);
  EXPECT_THAT(ReportSummary(result, "spyre-cosim"), HasSubstr("all_reduce by ring of 4 cards"));
}

// The records of four real cards: 512 KiB from card to card in 39.3 and 42.6 us, and an all-reduce
// of 512 KiB in 178.3 us. The one parameter that configs/all_reduce.toml sets for it is the room
// for posted writes.
TEST(MultiCard, SendsAndAllReducesTakeTheMeasuredTimes) {
  const auto us = [](const std::string& collective) {
    return std::stod(RunInChild([&collective] {
      const RunResult result = RunSession(
          LoadConfig(SPYRE_SOURCE_DIR "/configs/all_reduce.toml",
                     {"cards.collective=" + collective, "cards.algorithm=tree",
                      "workload.rows=4096", "workload.cols=64", "workload.functional=false"}),
          test::OutDir());
      return fmt::format("{}", static_cast<double>(CollectivePs(result)) / 1e6);
    }));
  };
  const double send = us("send");
  EXPECT_GE(send, 39.3 * 0.9);
  EXPECT_LE(send, 42.6 * 1.1);
  EXPECT_NEAR(us("all_reduce"), 178.3, 0.1 * 178.3);
}

TEST(MultiCard, NoUnitIsBusierThanTheTimeInWhichTheCardsLaunchAndReduce) {
  const RunResult result =
      RunSession(ParseConfig(kAllReduce, "cards.toml", kMatmul), test::OutDir());
  EXPECT_GT(result.launch_units_ps,
            result.cards[0].collective_end_ps - result.cards[0].collective_begin_ps);
  for (const json& unit : SortedJsonOf(ReportJson(result))["units"]) {
    EXPECT_LE(unit["launch_utilization"].get<double>(), 1) << unit["name"];
  }
}

TEST(MultiCard, RunsRepeatAndTakeTheSameTimesWithoutData) {
  const auto digest = [](const char* functional) {
    return RunInChild([functional] {
      std::vector<std::string> sets = kMatmul;
      sets.push_back(std::string("workload.functional=") + functional);
      const RunResult result = RunSession(ParseConfig(kAllReduce, "c.toml", sets), test::OutDir());
      return fmt::format("{:016x} {}", result.trace_digest, result.sim_ps);
    });
  };
  const std::string first = digest("true");
  EXPECT_EQ(first, digest("true"));
  EXPECT_EQ(first, digest("false"));
}

TEST(MultiCard, WhatIsForOneCardIsRefused) {
  SessionOptions options;
  options.record = test::OutDir() + "/recording";
  EXPECT_THAT(test::BadInputOf([&] {
                RunSession(ParseConfig(kAllReduce, "c.toml", kMatmul), test::OutDir(), options);
              }),
              HasSubstr("--record"));
}

}  // namespace
}  // namespace spyre::cosim::multi_card_test
