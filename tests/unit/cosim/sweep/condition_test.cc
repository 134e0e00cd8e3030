// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/unit/error_of.h"

namespace spyre::cosim::condition_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

bool Holds(const std::string& text) {
  static const std::map<std::string, Json> values = {
      {"workload.m", 96},        {"workload.k", 64},       {"card.cores", 32},
      {"workload.lx", "public"}, {"workload.agree", true}, {"workload.tolerance", 0.5}};
  return Condition(text).Holds([](const std::string& key) { return values.at(key); });
}

TEST(Condition, ComparesKeysWithNumbersTextsAndFlags) {
  EXPECT_TRUE(Holds("workload.m > workload.k"));
  EXPECT_FALSE(Holds("workload.m < 96"));
  EXPECT_TRUE(Holds("workload.m >= 96 and workload.m <= 96 and workload.m == 96"));
  EXPECT_TRUE(Holds("workload.lx == \"public\" and workload.lx != 'none'"));
  EXPECT_TRUE(Holds("workload.agree"));
  EXPECT_FALSE(Holds("workload.agree == false"));
  EXPECT_TRUE(Holds("workload.tolerance == 0.5"));
}

TEST(Condition, OperatorsBindAsInArithmetic) {
  EXPECT_TRUE(Holds("2 + 3 * 4 == 14"));
  EXPECT_TRUE(Holds("(2 + 3) * 4 == 20"));
  EXPECT_TRUE(Holds("10 - 3 - 2 == 5"));  // from the left
  EXPECT_TRUE(Holds("48 / 4 / 3 == 4"));
  EXPECT_TRUE(Holds("-2 * -3 == 6"));
  EXPECT_TRUE(Holds("workload.m % 64 == 32"));
  EXPECT_TRUE(Holds("true or true and false"));  // and first
  EXPECT_FALSE(Holds("(true or true) and false"));
  EXPECT_TRUE(Holds("not 1 == 2"));
}

TEST(Condition, WhatDoesNotMatterIsNotJudged) {
  EXPECT_TRUE(Holds("true or 1 / 0 > 1"));
  EXPECT_FALSE(Holds("false and 1 / 0 > 1"));
}

TEST(Condition, KnowsItsKeysOnceEach) {
  EXPECT_THAT(Condition("workload.m * workload.m < card.cores or card.cores == 1").keys(),
              ElementsAre("workload.m", "card.cores"));
}

TEST(Condition, SaysWhereItGoesWrong) {
  const auto message = [](const std::string& text) {
    return test::BadInputOf([&] { Condition condition(text); });
  };
  EXPECT_THAT(message("workload.m >"), HasSubstr("a key or a value expected"));
  EXPECT_THAT(message("workload.m 3"), HasSubstr("an operator expected at \"3\""));
  EXPECT_THAT(message("(workload.m > 3"), HasSubstr("')' expected"));
  EXPECT_THAT(message("rows > 3"), HasSubstr("a key such as card.cores expected at \"rows"));
  EXPECT_THAT(message("workload.lx == \"none"), HasSubstr("a text that ends"));
  EXPECT_THAT(message(std::string(1000, '(')), HasSubstr("nested less deep"));
  EXPECT_THAT(message(std::string(5000, '1')), HasSubstr("longer than"));
}

TEST(Condition, ValuesOfTheWrongTypeAreRefused) {
  EXPECT_THAT(test::BadInputOf([] { Holds("workload.lx > 3"); }),
              HasSubstr("workload.lx must be a number"));
  EXPECT_THAT(test::BadInputOf([] { Holds("workload.m == \"96\""); }),
              HasSubstr("values of different types"));
  EXPECT_THAT(test::BadInputOf([] { Holds("workload.m"); }), HasSubstr("must be true or false"));
  EXPECT_THAT(test::BadInputOf([] { Holds("1 / 0 > 1"); }), HasSubstr("division by zero"));
}

}  // namespace
}  // namespace spyre::cosim::condition_test
