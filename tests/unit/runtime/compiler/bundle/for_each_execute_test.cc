// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/for_each_execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/error_of.h"

namespace spyre::compiler::for_each_execute_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

BundleExecute Execute(int dsc) {
  BundleExecute execute;
  execute.dsc = dsc;
  return execute;
}

// 0, then twice (1, then as often as the dimension says 2), then 3.
Bundle Nest() {
  Bundle bundle;
  bundle.name = "nest";
  bundle.arguments.push_back({BundleArgument::Kind::kTensor, "x"});
  bundle.arguments.push_back({BundleArgument::Kind::kDimension, "rows", 3});
  BundleLoop inner{3, 1, {Execute(2)}};
  BundleLoop outer{2, -1, {Execute(1), std::move(inner)}};
  bundle.body = {Execute(0), std::move(outer), Execute(3)};
  return bundle;
}

TEST(ForEachExecute, VisitsEachOnceAsWrittenWithTheLoopsAroundIt) {
  std::vector<int> order;
  std::vector<std::vector<int64_t>> around;
  ForEachExecute(Nest(), [&](const BundleExecute& execute, const auto& loops) {
    order.push_back(execute.dsc);
    around.emplace_back();
    for (const BundleLoop* loop : loops) around.back().push_back(loop->count);
  });
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(around, ElementsAre(IsEmpty(), ElementsAre(2), ElementsAre(2, 3), IsEmpty()));
}

TEST(ForEachExecute, ChangesWhatItVisits) {
  Bundle bundle = Nest();
  ForEachExecute(bundle, [](BundleExecute& execute) { execute.dsc += 10; });
  std::vector<int> order;
  ForEachExecute(std::as_const(bundle),
                 [&](const BundleExecute& execute, const auto&) { order.push_back(execute.dsc); });
  EXPECT_THAT(order, ElementsAre(10, 11, 12, 13));
}

TEST(ForEachRun, VisitsEveryIterationInOrderWithTheDimensionsOfTheLaunch) {
  const Bundle bundle = Nest();
  std::vector<std::string> runs;
  ForEachRun(bundle, TripCounts(bundle, {2}),
             [&](const BundleExecute& execute, const std::vector<int64_t>& iterations) {
               runs.push_back(std::to_string(execute.dsc) + ":");
               for (const int64_t i : iterations) runs.back() += std::to_string(i);
             });
  EXPECT_THAT(runs, ElementsAre("0:", "1:0", "2:00", "2:01", "1:1", "2:10", "2:11", "3:"));
}

TEST(ForEachRun, AMissingDimensionIsNamed) {
  const Error error = test::CaughtFrom([] { TripCounts(Nest(), {}); });
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_EQ(error.subject(), "rows");
}

}  // namespace
}  // namespace spyre::compiler::for_each_execute_test
