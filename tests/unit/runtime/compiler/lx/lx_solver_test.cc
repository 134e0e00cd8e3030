// SPDX-License-Identifier: Apache-2.0
// The rules of the three LX solvers, each on a few buffers, and what holds for any.
#include "runtime/compiler/lx/lx_solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/lx/pool_planning.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::lx_solver_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNowhere = -1;

std::vector<int64_t> Place(LxSolver solver, const std::vector<LxBuffer>& buffers, int64_t capacity,
                           int64_t alignment = 128) {
  std::vector<int64_t> addresses;
  for (const auto& address : PlaceInLx(solver, buffers, capacity, alignment)) {
    addresses.push_back(address.value_or(kNowhere));
  }
  return addresses;
}

LxBuffer Buffer(const std::string& name, int64_t size, int64_t start, int64_t end,
                std::vector<std::string> in_place = {}) {
  return {name, size, start, end, std::move(in_place)};
}

TEST(GreedyLxSolver, GoesAboveEverythingThatIsLiveAligned) {
  EXPECT_THAT(Place(LxSolver::kGreedy, {Buffer("a", 100, 0, 3), Buffer("b", 10, 1, 3)}, 1024),
              ElementsAre(0, 128));
}

TEST(GreedyLxSolver, StartsAgainAtZeroBelowTheLowestLiveAddressWithRoom) {
  // a dies before c comes: 0..255 is free below b.
  EXPECT_THAT(Place(LxSolver::kGreedy,
                    {Buffer("a", 256, 0, 2), Buffer("b", 128, 1, 4), Buffer("c", 256, 2, 4)}, 4096),
              ElementsAre(0, 256, 0));
  EXPECT_THAT(Place(LxSolver::kGreedy,
                    {Buffer("a", 256, 0, 2), Buffer("b", 128, 1, 4), Buffer("c", 257, 2, 4)}, 4096),
              ElementsAre(0, 256, 384));
}

TEST(GreedyLxSolver, UsesAGapOnlyWhenThereIsNoRoomAboveAndElseGivesUp) {
  const std::vector<LxBuffer> buffers = {Buffer("a", 128, 0, 9), Buffer("hole", 256, 0, 2),
                                         Buffer("b", 128, 1, 9), Buffer("c", 200, 3, 5),
                                         Buffer("d", 200, 3, 5)};
  EXPECT_THAT(Place(LxSolver::kGreedy, buffers, 4096), ElementsAre(0, 128, 384, 512, 768));
  EXPECT_THAT(Place(LxSolver::kGreedy, buffers, 512), ElementsAre(0, 128, 384, 128, kNowhere));
}

TEST(GreedyLxSolver, FreesBeforeItAllocatesInTheSameOperation) {
  EXPECT_THAT(Place(LxSolver::kGreedy, {Buffer("a", 128, 0, 2), Buffer("b", 128, 2, 3)}, 128),
              ElementsAre(0, 0));
  EXPECT_THAT(Place(LxSolver::kGreedy, {Buffer("a", 128, 0, 3), Buffer("b", 128, 2, 3)}, 128),
              ElementsAre(0, kNowhere));
}

TEST(GreedyLxSolver, TakesTheSlotOfTheFirstLiveParentThatIsLargeEnough) {
  const std::vector<LxBuffer> buffers = {Buffer("small", 64, 0, 3), Buffer("p", 256, 0, 3),
                                         Buffer("q", 256, 0, 3),
                                         Buffer("child", 128, 2, 4, {"absent", "small", "p", "q"})};
  EXPECT_THAT(Place(LxSolver::kGreedy, buffers, 4096), ElementsAre(0, 128, 384, 128));
}

TEST(GreedyLxSolver, AParentThatWasNotPlacedHasNoSlotToGive) {
  EXPECT_THAT(
      Place(LxSolver::kGreedy, {Buffer("p", 512, 0, 3), Buffer("child", 128, 2, 4, {"p"})}, 256),
      ElementsAre(kNowhere, 0));
}

TEST(FirstFitLxSolver, PlacesShortLifetimesFirstThenInTheOrderGiven) {
  EXPECT_THAT(
      Place(LxSolver::kFirstFit,
            {Buffer("long", 128, 0, 9), Buffer("x", 256, 1, 3), Buffer("y", 128, 2, 4)}, 4096),
      ElementsAre(384, 0, 256));
}

TEST(FirstFitLxSolver, AChildWaitsForItsParentAndThenRanksByItsOwnLifetime) {
  // child is shorter than other, but its parent is longer than both.
  const std::vector<LxBuffer> buffers = {Buffer("child", 128, 4, 5, {"parent"}),
                                         Buffer("other", 128, 3, 6), Buffer("parent", 128, 0, 5)};
  EXPECT_THAT(Place(LxSolver::kFirstFit, buffers, 4096), ElementsAre(128, 0, 128));
}

TEST(FirstFitLxSolver, BuffersThatNeverLiveTogetherShareAddresses) {
  EXPECT_THAT(Place(LxSolver::kFirstFit, {Buffer("a", 128, 0, 2), Buffer("b", 128, 2, 4)}, 128),
              ElementsAre(0, 0));
}

TEST(FirstFitLxSolver, ABufferWithoutALifetimeIsNotPlaced) {
  EXPECT_THAT(Place(LxSolver::kFirstFit, {Buffer("a", 128, 3, 3)}, 4096), ElementsAre(kNowhere));
  EXPECT_THAT(Place(LxSolver::kBestFit, {Buffer("a", 128, 3, 2)}, 4096), ElementsAre(kNowhere));
}

TEST(BestFitLxSolver, TakesTheTightestGapWhereFirstFitTakesTheFirst) {
  // For x the gaps are 0..511 and 640..767.
  const std::vector<LxBuffer> buffers = {Buffer("a", 512, 0, 2), Buffer("b", 128, 1, 3),
                                         Buffer("c", 128, 0, 2), Buffer("d", 128, 1, 3),
                                         Buffer("x", 128, 2, 6)};
  EXPECT_THAT(Place(LxSolver::kFirstFit, buffers, 896), ElementsAre(0, 512, 640, 768, 0));
  EXPECT_THAT(Place(LxSolver::kBestFit, buffers, 896), ElementsAre(0, 512, 640, 768, 640));
}

TEST(FirstFitLxSolver, RefusesInPlaceRelationsThatDoNotHold) {
  const auto refusal = [](const std::vector<LxBuffer>& buffers) -> std::string {
    try {
      PlaceInLx(LxSolver::kFirstFit, buffers, 4096, 128);
    } catch (const CompileError& error) {
      EXPECT_EQ(error.type(), "AssertionError");
      EXPECT_EQ(error.message_kind(), "in_place_relation");
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({Buffer("p", 128, 0, 2), Buffer("c", 128, 2, 3, {"p"})}),
              HasSubstr("'c' (128 bytes, written by operation 2) cannot take the place of 'p'"));
  EXPECT_THAT(refusal({Buffer("p", 128, 0, 3), Buffer("c", 129, 2, 3, {"p"})}), HasSubstr("'c'"));
  EXPECT_THAT(refusal({Buffer("p", 128, 0, 1, {"c"}), Buffer("c", 128, 0, 1, {"p"})}),
              HasSubstr("ring"));
  EXPECT_EQ(refusal({Buffer("p", 128, 0, 3), Buffer("c", 128, 2, 3, {"p"})}), "");
  EXPECT_THROW(PlaceInLx(LxSolver::kBestFit, {Buffer("c", 1, 0, 1, {"?"})}, 4096, 128), Error);
}

TEST(LxSolvers, RefuseWhatCannotBePlanned) {
  for (const LxSolver solver : {LxSolver::kGreedy, LxSolver::kFirstFit, LxSolver::kBestFit}) {
    const auto throws = [&](const LxBuffer& buffer, int64_t capacity, int64_t alignment) {
      EXPECT_THROW(PlaceInLx(solver, {buffer}, capacity, alignment), Error);
    };
    throws(Buffer("a", -1, 0, 1), 1024, 128);
    throws(Buffer("a", INT64_MAX, 0, 1), 1024, 128);
    throws(Buffer("a", 1, INT64_MIN, INT64_MAX), 1024, 128);
    throws(Buffer("a", 1, 0, 1), -1, 128);
    throws(Buffer("a", 1, 0, 1), INT64_MAX, 128);
    throws(Buffer("a", 1, 0, 1), 1024, 0);
    EXPECT_THROW(PlaceInLx(solver, {Buffer("a", 1, 0, 1), Buffer("a", 1, 0, 1)}, 1024, 128), Error);
    EXPECT_THROW(PlaceInLx(solver, std::vector<LxBuffer>(5000), 1024, 128), Error);
    EXPECT_TRUE(PlaceInLx(solver, {}, 0, 1).empty());
  }
}

TEST(LxSolvers, AnUnknownNameIsAValueError) {
  EXPECT_EQ(LxSolverFromName("bestfit"), LxSolver::kBestFit);
  try {
    LxSolverFromName("firstfti");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "ValueError");
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'firstfit'?"));
  }
}

TEST(LxSolvers, BuffersThatLiveTogetherNeverOverlapAndStayWithinTheCapacity) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto capacity = test::Draw<int64_t>(random, 0, 4999);
    const auto alignment = test::DrawOf<int64_t>(random, {1, 64, 128});
    std::vector<LxBuffer> buffers;
    for (int i = test::Draw(random, 0, 11); i > 0; --i) {
      const auto start = test::Draw<int64_t>(random, 0, 7);
      const auto end = start + test::Draw<int64_t>(random, 1, 5);
      const auto size = test::Draw<int64_t>(random, 1, 1499);
      buffers.push_back(Buffer(std::to_string(i), size, start, end));
    }
    for (const LxSolver solver : {LxSolver::kGreedy, LxSolver::kFirstFit, LxSolver::kBestFit}) {
      const std::vector<int64_t> at = Place(solver, buffers, capacity, alignment);
      for (size_t i = 0; i < at.size(); ++i) {
        if (at[i] == kNowhere) continue;
        EXPECT_EQ(at[i] % alignment, 0);
        EXPECT_LE(at[i] + buffers[i].size, capacity);
        for (size_t j = 0; j < i; ++j) {
          const bool together =
              buffers[i].start < buffers[j].end && buffers[j].start < buffers[i].end;
          if (at[j] == kNowhere || !together) continue;
          EXPECT_TRUE(at[i] + buffers[i].size <= at[j] || at[j] + buffers[j].size <= at[i]);
        }
      }
    }
  });
}

// ---------------------------------------------------------------- the pool

TEST(LxSolver, ABufferWithAnAddressLiesThereOrNowhere) {
  const auto place = [](std::vector<LxBuffer> buffers) {
    return PlaceInLx(LxSolver::kFirstFit, buffers, 1024, 128);
  };
  // Shorter lifetimes go first, but not before those that have an address.
  EXPECT_THAT(place({{"a", 256, 0, 9, {}, 128}, {"b", 128, 0, 1, {}}, {"c", 256, 0, 2, {}}}),
              ElementsAre(128, 0, 384));
  EXPECT_THAT(place({{"a", 256, 0, 2, {}, 100}}), ElementsAre(std::nullopt)) << "not aligned";
  EXPECT_THAT(place({{"a", 256, 0, 2, {}, 896}}), ElementsAre(std::nullopt)) << "behind the end";
  EXPECT_THAT(place({{"a", 256, 0, 2, {}, 0}, {"b", 256, 1, 3, {}, 128}}),
              ElementsAre(0, std::nullopt))
      << "across another";
  EXPECT_THAT(place({{"a", 256, 0, 2, {}, 0}, {"b", 256, 2, 3, {}, 128}}), ElementsAre(0, 128))
      << "the other is dead";
}

TEST(PoolPlanning, ReusesTheFirstBlockGivenBackThatFitsAndGivesBackItsRest) {
  std::vector<PoolBuffer> buffers = {{"a", 512, 0, 1, 0},
                                     {"b", 128, 0, 9, 0},
                                     {"c", 256, 1, 2, 0},
                                     {"d", 256, 1, 9, 0},
                                     {"e", 384, 2, 9, 0}};
  EXPECT_EQ(PlacePool(buffers), 1024);
  EXPECT_EQ(buffers[0].offset, 0);
  EXPECT_EQ(buffers[1].offset, 512);
  EXPECT_EQ(buffers[2].offset, 0);    // of a's 512 bytes
  EXPECT_EQ(buffers[3].offset, 256);  // the rest of them
  EXPECT_EQ(buffers[4].offset, 640);  // c's 256 are too few
}

TEST(PoolPlanning, MoreThanASegmentIsARuntimeError) {
  std::vector<PoolBuffer> buffers = {{"a", int64_t{10} << 30, 0, 1, 0},
                                     {"b", int64_t{16} << 30, 1, 2, 0}};
  try {
    PlacePool(buffers);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "RuntimeError");
    EXPECT_EQ(error.message_kind(), "pool_overflow");
    EXPECT_THAT(error.what(), HasSubstr("intermediate 'b' of 17179869184 bytes"));
  }
  buffers[1].size = int64_t{10} << 30;
  EXPECT_EQ(PlacePool(buffers), int64_t{10} << 30);
}

}  // namespace
}  // namespace spyre::compiler::lx_solver_test
