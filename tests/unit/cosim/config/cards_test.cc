// SPDX-License-Identifier: Apache-2.0
// Several cards in a configuration, and misuse, which is refused with the card and the key.
#include "cosim/config/cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/error_of.h"

namespace spyre::cosim::cards_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  return test::BadInputOf([&] { ParseConfig(text, "cards.toml", sets); });
}

TEST(Cards, AreCountedByTheirNumbersAndLikeCardZero) {
  const RunConfig config = ParseConfig(
      "[[card]]\nnumber = 0\nmode = \"pf\"\ncores = 16\n[card.core]\nquantum_ns = 500\n"
      "[[card]]\nnumber = 1\n[[card]]\nnumber = 2\n",
      "cards.toml");
  EXPECT_EQ(config.cards.count, 3u);
  EXPECT_EQ(config.card.cores, 16u);
  EXPECT_EQ(config.card.core.quantum_ns, 500u);
  const RunConfig again = ParseConfig(ToToml(config), "again.toml");
  EXPECT_EQ(again.cards.count, 3u);
  EXPECT_EQ(ToToml(again), ToToml(config));
  EXPECT_EQ(ParseConfig("", "").cards.count, 1u);
}

TEST(Cards, AreNumberedWithoutGaps) {
  EXPECT_THAT(
      Refusal("[[card]]\nnumber = 0\nmode = \"pf\"\n[[card]]\nnumber = 2\n"),
      AllOf(HasSubstr("cards.toml:4"), HasSubstr("number = 2"), HasSubstr("this one is 1")));
  EXPECT_THAT(Refusal("[[card]]\nnumber = 0\n[[card]]\nnumber = 0\n"), HasSubstr("this one is 1"));
  EXPECT_THAT(Refusal("[[card]]\nmode = \"pf\"\n"), HasSubstr("number is missing"));
}

TEST(Cards, AreAllAlike) {
  EXPECT_THAT(Refusal("[[card]]\nnumber = 0\nmode = \"pf\"\n[[card]]\nnumber = 1\ncores = 8\n"),
              AllOf(HasSubstr("number = 1: key 'cores'"), HasSubstr("alike")));
  EXPECT_THAT(Refusal("[[card]]\nnumber = 0\nkores = 8\n"), HasSubstr("unknown key 'card.kores'"));
}

TEST(Cards, OfEarlierVersionsAreReadAndTheirKeysRefusedAsOptions) {
  EXPECT_EQ(ParseConfig("[card]\ncores = 4\nfast.tile_pass_ns = 2300\n", "").card.cores, 4u);
  EXPECT_THAT(Refusal("", {"card.fast.tile_pass_ns=1"}),
              HasSubstr("card.fast.tile_pass_ns has no effect any more"));
}

TEST(Cards, ThatContradictOtherKeysAreRefused) {
  EXPECT_THAT(Refusal("", {"cards.count=2"}), HasSubstr("card.mode must be \"pf\""));
  EXPECT_THAT(Refusal("", {"cards.collective=all_reduce"}), HasSubstr("cards.count is 1"));
  EXPECT_THAT(Refusal("", {"cards.count=17"}), HasSubstr("1 .. 16"));
  EXPECT_THAT(Refusal("", {"cards.count=4", "card.mode=pf", "cards.root=4"}),
              HasSubstr("cards.root = 4: there are 4 cards"));
  const std::vector<std::string> send = {"cards.count=2", "card.mode=pf", "cards.collective=send"};
  const auto with = [&](const char* set) {
    std::vector<std::string> sets = send;
    sets.emplace_back(set);
    return sets;
  };
  EXPECT_THAT(Refusal("", with("cards.peer=2")), HasSubstr("cards.peer = 2"));
  EXPECT_THAT(Refusal("", with("cards.root=1")), HasSubstr("a card sends to another one"));
  EXPECT_THAT(Refusal("", {"switch.lanes=3"}), HasSubstr("switch.lanes = 3"));
  EXPECT_THAT(Refusal("[[tenant]]\nfunction = 1\n", {"cards.count=2", "card.mode=pf"}),
              HasSubstr("tenants share one card"));
  EXPECT_THAT(Refusal("[[card]]\nnumber = 0\nmode = \"pf\"\n[cards]\ncount = 2\n"),
              HasSubstr("cards.count = 2, and there are 1 [[card]] tables"));
}

}  // namespace
}  // namespace spyre::cosim::cards_test
