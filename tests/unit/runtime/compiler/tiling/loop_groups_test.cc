// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/loop_groups.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/compiler/ir/ir.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::loop_groups_test {
namespace {

using Path = std::vector<int>;

// "4[ 0 2[ 1 ] ]": a loop of 4 trips with member 0 and an inner loop around member 1.
std::string Text(const std::vector<LoopNode>& nodes) {
  std::string text;
  for (const LoopNode& node : nodes) {
    if (!text.empty()) text += " ";
    if (const auto* member = std::get_if<size_t>(&node)) {
      text += std::to_string(*member);
    } else {
      const auto& loop = std::get<CountedLoop>(node);
      text += loop.count.ToString() + "[ " + Text(loop.body) + " ]";
    }
  }
  return text;
}

std::string ErrorOf(const std::vector<LoopMember>& members) {
  try {
    GroupLoops(members);
  } catch (const CompileError& error) {
    return error.type() + " " + error.message_kind();
  }
  return "";
}

TEST(LoopGroups, NeighboursWithOnePathAreOneLoop) {
  EXPECT_EQ(Text(GroupLoops({{"a", {}, {}}, {"b", {0}, {4}}, {"c", {0}, {4}}, {"d", {}, {}}})),
            "0 4[ 1 2 ] 3");
  EXPECT_EQ(Text(GroupLoops({})), "");
}

TEST(LoopGroups, OneOperationWithALongPathIsInAllItsLoops) {
  EXPECT_EQ(Text(GroupLoops({{"a", {3, 0, 7}, {2, 4, 8}}})), "2[ 4[ 8[ 0 ] ] ]");
}

TEST(LoopGroups, ShorterPathsAreMembersOfTheLoopTheyEndIn) {
  EXPECT_EQ(Text(GroupLoops({{"a", {0}, {2}}, {"b", {0, 0}, {2, 4}}, {"c", {0}, {2}}})),
            "2[ 0 4[ 1 ] 2 ]");
}

TEST(LoopGroups, AnInnerNumberMayComeBack) {
  EXPECT_EQ(Text(GroupLoops({{"a", {0, 0}, {2, 4}}, {"b", {0, 1}, {2, 8}}, {"c", {0, 0}, {2, 3}}})),
            "2[ 4[ 0 ] 8[ 1 ] 3[ 2 ] ]");
}

TEST(LoopGroups, AnOutermostNumberThatComesBackIsAnError) {
  EXPECT_EQ(ErrorOf({{"a", {0}, {2}}, {"b", {}, {}}, {"c", {0}, {2}}}),
            "RuntimeError not_contiguous");
  EXPECT_EQ(ErrorOf({{"a", {0}, {2}}, {"b", {1}, {2}}, {"c", {0}, {8}}}),
            "RuntimeError not_contiguous");
}

TEST(LoopGroups, MembersOfARunMustAgreeOnTheCountAtItsDepth) {
  EXPECT_EQ(ErrorOf({{"a", {0}, {2}}, {"b", {0}, {4}}}), "AssertionError inconsistent_loop_count");
  EXPECT_EQ(ErrorOf({{"a", {0, 0}, {2, 4}}, {"b", {0, 0}, {2, 8}}}),
            "AssertionError inconsistent_loop_count");
  EXPECT_EQ(ErrorOf({{"a", {0, 0}, {2, 4}}, {"b", {0, 1}, {2, 8}}}), "");
  const Extent s0 = Extent::Symbol("s0");
  EXPECT_EQ(ErrorOf({{"a", {0}, {s0}}, {"b", {0}, {s0 * 2 / 2}}}), "");
  EXPECT_EQ(ErrorOf({{"a", {0}, {s0}}, {"b", {0}, {2}}}), "AssertionError inconsistent_loop_count");
}

TEST(LoopGroups, CountsAreAsManyAsThePathIsLong) {
  EXPECT_EQ(ErrorOf({{"a", {0, 0}, {2}}}), "AssertionError count_length_mismatch");
  EXPECT_EQ(ErrorOf({{"a", {0}, {2, 3}}}), "AssertionError count_length_mismatch");
  EXPECT_EQ(ErrorOf({{"a", {0}, {2}}, {"b", {0}, {}}}), "AssertionError count_length_mismatch");
}

TEST(LoopGroups, PathsThatNobodyCanMeanAreRefused) {
  const std::vector<LoopMember> deep = {{"a", Path(100'000, 0), std::vector<Extent>(100'000, 1)}};
  EXPECT_THROW(GroupLoops(deep), Error);
}

TEST(LoopGroups, TheFirstErrorIsTheOneTold) {
  // The inner disagreement is seen before the outermost number that comes back.
  EXPECT_EQ(
      ErrorOf({{"a", {0, 0}, {2, 4}}, {"b", {0, 0}, {2, 8}}, {"c", {}, {}}, {"d", {0, 0}, {2, 4}}}),
      "AssertionError inconsistent_loop_count");
}

TEST(LoopGroups, GroupingThenFlatteningIsTheListOfMembers) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::vector<LoopMember> members;
    const int outer_runs = test::Draw(random, 0, 5);
    for (int run = 0; run < outer_runs; ++run) {
      const bool in_loop = test::DrawBool(random);
      const int size = test::Draw(random, 1, 5);
      const auto outer = test::Draw<int64_t>(random, 1, 8);
      for (int i = 0; i < size; ++i) {
        LoopMember member{"n", {}, {}};
        const int depth = in_loop ? test::Draw(random, 1, 3) : 0;
        for (int level = 0; level < depth; ++level) {
          // Counts follow from the numbers, so that members of one run agree.
          const int number = level == 0 ? run : test::Draw(random, 0, 2);
          member.group_id.push_back(number);
          member.count.emplace_back(level == 0 ? outer : number + 2);
        }
        members.push_back(std::move(member));
      }
    }
    std::vector<size_t> all(members.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_TRUE(FlattenLoops(GroupLoops(members)) == all);
  });
}

}  // namespace
}  // namespace spyre::compiler::loop_groups_test
