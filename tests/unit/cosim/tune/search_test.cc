// SPDX-License-Identifier: Apache-2.0
// The search on spaces that are small enough to look at every plan.
#include "cosim/tune/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace spyre::cosim::search_test {
namespace {

using ::testing::SizeIs;

// x and y from 0 to size-1; a model that knows nothing ranks plans by y, the largest first.
class Grid final : public PlanSpace {
 public:
  explicit Grid(int size) : size_(size) {}

  static Plan At(int x, int y) {
    return {{{"x", std::to_string(x)}, {"y", std::to_string(y)}}, -y};
  }
  static int Of(const Plan& plan, const char* key) {
    return plan.keys.empty() ? 0 : std::stoi(plan.keys.at(key));
  }

  Ranking Ranked() const override {
    Ranking ranking;
    for (int y = size_ - 1; y >= 0; --y)
      for (int x = 0; x < size_; ++x) ranking.plans.push_back(At(x, y));
    ranking.refused["a hole"] = 3;
    return ranking;
  }
  std::vector<Plan> Nearby(const Plan& plan) const override {
    std::vector<Plan> plans;
    for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
      const int x = Of(plan, "x") + dx, y = Of(plan, "y") + dy;
      if (x >= 0 && y >= 0 && x < size_ && y < size_) plans.push_back(At(x, y));
    }
    return plans;
  }

 private:
  int size_;
};

// One number, which is the figure; none: infeasible.
TrialResult ResultOf(std::optional<double> value) {
  TrialResult result;
  result.status = value ? TrialStatus::kDone : TrialStatus::kInfeasible;
  if (value) {
    result.numbers = {*value};
  } else {
    result.reason = "no";
  }
  return result;
}

double ScoreOf(const TrialResult& result) { return result.ended() ? result.numbers[0] : INFINITY; }

// A valley with its lowest point at (13, 4), far from what is ranked first.
double Valley(const Plan& plan) {
  const double x = Grid::Of(plan, "x") - 13, y = Grid::Of(plan, "y") - 4;
  return 5 + x * x + 2 * y * y + (x * y > 0 ? 1 : 0);
}

struct Counts {
  uint64_t timed = 0, fast = 0, timed_ended = 0;
  size_t largest_batch = 0;
};

SearchResult SearchOf(const PlanSpace& space, const SearchOptions& options,
                      const std::function<std::optional<double>(const Plan&)>& figure,
                      Counts* counts = nullptr) {
  Counts none;
  Counts& count = counts != nullptr ? *counts : none;
  return Search(space, options, [&](Stage stage, const std::vector<Plan>& plans) {
    std::vector<TrialResult> results;
    for (const Plan& plan : plans) {
      results.push_back(ResultOf(figure(plan)));
      (stage == Stage::kFast ? count.fast : count.timed) += 1;
      if (stage != Stage::kFast && results.back().ended()) ++count.timed_ended;
    }
    count.largest_batch = std::max(count.largest_batch, plans.size());
    return results;
  });
}

SearchOptions Options(uint64_t budget, uint64_t seed = 1) {
  SearchOptions options;
  options.budget = budget;
  options.seed = seed;
  options.score = ScoreOf;
  return options;
}

TEST(Search, FindsTheBestOfTheSpaceWithAFractionOfItsTrials) {
  const Grid space(20);
  double best = INFINITY;  // by looking at all
  for (int x = 0; x < 20; ++x)
    for (int y = 0; y < 20; ++y) best = std::min(best, Valley(Grid::At(x, y)));
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const SearchResult result = SearchOf(space, Options(120, seed), Valley);
    EXPECT_EQ(ScoreOf(result.trials[result.best.front()].result), best) << "seed " << seed;
    EXPECT_EQ(result.trials[result.best.front()].plan.keys, Grid::At(13, 4).keys);
    EXPECT_EQ(result.plans, 401u);
    EXPECT_EQ(result.refused.at("a hole"), 3u);
  }
}

TEST(Search, KeepsToItsBudgetAndTriesNothingTwice) {
  for (const uint64_t budget : {1, 2, 3, 10, 77}) {
    Counts counts;
    const SearchResult result = SearchOf(Grid(20), Options(budget), Valley, &counts);
    EXPECT_EQ(counts.timed, budget);
    EXPECT_THAT(result.trials, SizeIs(budget));
    EXPECT_EQ(result.trials[0].stage, Stage::kGiven);
    std::set<std::map<std::string, std::string>> tried;
    for (const TuneTrial& trial : result.trials)
      EXPECT_TRUE(tried.insert(trial.plan.keys).second) << TextOf(trial.plan);
  }
}

TEST(Search, EndsWhenEverythingWasTried) {
  const SearchResult result = SearchOf(Grid(3), Options(1000), Valley);
  EXPECT_THAT(result.trials, SizeIs(10));  // nine plans and the given one
  EXPECT_EQ(result.trials[result.best.front()].plan.keys, Grid::At(2, 2).keys);
}

TEST(Search, PlansThatDoNotRunUseUpNoBudget) {
  Counts counts;
  const auto figure = [](const Plan& plan) -> std::optional<double> {
    if (!plan.keys.empty() && (Grid::Of(plan, "x") + Grid::Of(plan, "y")) % 2 == 0) return {};
    return Valley(plan);
  };
  const SearchResult result = SearchOf(Grid(20), Options(50), figure, &counts);
  EXPECT_EQ(counts.timed_ended, 50u);
  EXPECT_GT(counts.timed, 50u);
  for (const size_t trial : result.best) EXPECT_TRUE(result.trials[trial].result.ended());
  for (size_t i = 1; i < result.best.size(); ++i) {
    EXPECT_LE(ScoreOf(result.trials[result.best[i - 1]].result),
              ScoreOf(result.trials[result.best[i]].result));
  }
}

TEST(Search, StopsIfThePlanAsGivenDoesNotRun) {
  const SearchResult result =
      SearchOf(Grid(3), Options(10), [](const Plan&) { return std::optional<double>(); });
  ASSERT_THAT(result.trials, SizeIs(1));
  EXPECT_EQ(result.trials[0].result.reason, "no");
}

TEST(Search, ASeedDrawsTheSamePlansEveryTimeAndAnotherOthers) {
  const auto drawn = [](uint64_t seed) {
    std::set<std::map<std::string, std::string>> keys;
    for (const TuneTrial& trial : SearchOf(Grid(20), Options(60, seed), Valley).trials)
      if (trial.stage == Stage::kDrawn) keys.insert(trial.plan.keys);
    return keys;
  };
  EXPECT_THAT(drawn(1), SizeIs(7));  // a quarter of half of 59
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(Search, TheFastCardIsAskedFirstAndOnlyTheBestAreTimed) {
  constexpr size_t kProposed = 29;  // half of 59
  SearchOptions options = Options(60);
  options.may_be_fast = [](const TrialResult& given) { return given.numbers[0] > 100; };
  Counts counts;
  const SearchResult result = SearchOf(Grid(20), options, Valley, &counts);
  EXPECT_EQ(counts.timed_ended, counts.timed);
  EXPECT_LE(counts.timed, 60u);
  EXPECT_GE(counts.fast, 4 * kProposed);
  EXPECT_LE(counts.fast, 4u * 60);
  EXPECT_EQ(result.trials[result.best.front()].plan.keys, Grid::At(13, 4).keys);
  // Every timed plan but the given one was found good enough by the fast card.
  double worst_timed = 0, best_fast_left_out = INFINITY;
  std::set<std::map<std::string, std::string>> timed;
  for (const TuneTrial& trial : result.trials)
    if (trial.stage == Stage::kProposed && timed.size() < kProposed) timed.insert(trial.plan.keys);
  EXPECT_THAT(timed, SizeIs(kProposed));
  size_t fast = 0;
  for (const TuneTrial& trial : result.trials) {
    if (trial.stage != Stage::kFast || ++fast > 4 * kProposed) continue;
    if (timed.count(trial.plan.keys) != 0) {
      worst_timed = std::max(worst_timed, ScoreOf(trial.result));
    } else {
      best_fast_left_out = std::min(best_fast_left_out, ScoreOf(trial.result));
    }
  }
  EXPECT_LE(worst_timed, best_fast_left_out);

  options.may_be_fast = [](const TrialResult&) { return false; };
  Counts without;
  SearchOf(Grid(20), options, Valley, &without);
  EXPECT_EQ(without.fast, 0u);
}

TEST(Search, OfEqualPlansTheOneThatChangesLeastIsTheBest) {
  const SearchResult result =
      SearchOf(Grid(3), Options(10), [](const Plan&) { return std::optional<double>(7); });
  EXPECT_EQ(result.best.front(), 0u);
}

}  // namespace
}  // namespace spyre::cosim::search_test
