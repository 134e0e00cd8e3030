// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace spyre::cosim::pareto_test {
namespace {

using ::testing::ElementsAre;

// The definition, point by point.
std::vector<bool> ByDefinition(const std::vector<std::vector<double>>& values) {
  std::vector<bool> on_front;
  for (const auto& point : values) {
    bool dominated = false;
    for (const auto& other : values) {
      bool as_good = true, better = false;
      for (size_t i = 0; i < point.size(); ++i) {
        as_good = as_good && other[i] <= point[i];
        better = better || other[i] < point[i];
      }
      dominated = dominated || (as_good && better);
    }
    on_front.push_back(!dominated);
  }
  return on_front;
}

TEST(Pareto, TheFrontOfOneObjectiveIsTheLeast) {
  EXPECT_THAT(ParetoFront({{3}, {1}, {2}, {1}}), ElementsAre(false, true, false, true));
}

TEST(Pareto, OfAPointAndAWorseOneOnlyTheFirstIsOnTheFront) {
  EXPECT_THAT(ParetoFront({{1, 5}, {2, 5}, {2, 1}, {3, 0}, {1, 5}}),
              ElementsAre(true, false, true, true, true));
  EXPECT_TRUE(ParetoFront({}).empty());
}

TEST(Pareto, AgreesWithTheDefinitionOnRandomPoints) {
  std::mt19937 random(169);
  for (int round = 0; round < 200; ++round) {
    const size_t objectives = 1 + random() % 4, count = random() % 60;
    std::vector<std::vector<double>> values(count, std::vector<double>(objectives));
    for (auto& point : values)
      for (double& value : point) value = static_cast<double>(random() % 12);  // many are equal
    EXPECT_EQ(ParetoFront(values), ByDefinition(values)) << "round " << round;
  }
}

}  // namespace
}  // namespace spyre::cosim::pareto_test
