// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

// Of the budget, half goes to plans of the whole space, and a quarter of these are drawn.
constexpr uint64_t kSpaceShare = 2;
constexpr uint64_t kDrawnShare = 4;
// They are drawn from the first quarter of the ranking: plans on one core need no second opinion.
constexpr size_t kDrawnFrom = 4;
// How many plans are tried on the fast card for each one that is to be timed, and in all.
constexpr uint64_t kFastPlans = 4;
// Of the plans near one, so many are timed after the fast card.
constexpr uint64_t kNearbyTimed = 2;
// A plan near the best is timed if the fast card finds it worse by no more than this part.
constexpr double kAlmost = 0.02;

class Searcher {
 public:
  Searcher(const PlanSpace& space, const SearchOptions& options, const TryPlans& attempt)
      : space_(space), options_(options), attempt_(attempt), random_(options.seed) {}

  SearchResult Run() {
    Try(Stage::kGiven, {Plan{}});
    const TrialResult& given = result_.trials.front().result;
    if (!given.ended()) return std::move(result_);
    is_fast_ = options_.may_be_fast && options_.may_be_fast(given);
    TrySpace();
    std::set<size_t> expanded;
    while (Left() > 0) {
      const auto next =
          FindIf(result_.best, [&](size_t trial) { return expanded.count(trial) == 0; });
      if (next != result_.best.end()) {
        expanded.insert(*next);
        TryNearby(result_.trials[*next].plan);
      } else if (!rest_.empty()) {  // everything near all of them was tried
        TryRest();
      } else {
        break;
      }
    }
    return std::move(result_);
  }

 private:
  uint64_t Left() const { return options_.budget - std::min(options_.budget, ended_); }
  double ScoreOf(size_t trial) const { return options_.score(result_.trials[trial].result); }
  // Of equals, the plan that changes least.
  std::pair<double, size_t> RankOf(size_t trial) const {
    return {ScoreOf(trial), result_.trials[trial].plan.keys.size()};
  }

  void TrySpace() {
    Ranking ranking = space_.Ranked();
    result_.plans = ranking.plans.size() + 1;
    result_.refused = std::move(ranking.refused);
    std::vector<Plan>& plans = ranking.plans;
    const uint64_t timed = Left() / kSpaceShare;
    const uint64_t drawn = timed / kDrawnShare;
    const uint64_t scale = is_fast_ ? kFastPlans : 1;
    const size_t proposed = std::min<size_t>(plans.size(), (timed - drawn) * scale);
    // What is drawn changes places with the first of those to draw from.
    const size_t taken = std::min<size_t>(plans.size(), timed * scale);
    const size_t pool = std::max(taken, plans.size() / kDrawnFrom);
    for (size_t i = proposed; i < taken; ++i)
      std::swap(plans[i], plans[i + random_() % (pool - i)]);
    rest_.assign(plans.begin() + static_cast<std::ptrdiff_t>(taken), plans.end());
    plans.resize(taken);
    if (is_fast_) {
      TryBest(Stage::kProposed, TryFast(plans), timed, INFINITY);
      return;
    }
    const auto first_drawn = plans.begin() + static_cast<std::ptrdiff_t>(proposed);
    Try(Stage::kProposed, {plans.begin(), first_drawn});
    Try(Stage::kDrawn, {first_drawn, plans.end()});
  }

  // Half of what is left goes to the next plans of the ranking.
  void TryRest() {
    const auto count = std::min<size_t>(rest_.size(), std::max<uint64_t>(1, Left() / kSpaceShare));
    const auto end = rest_.begin() + static_cast<std::ptrdiff_t>(count);
    Try(Stage::kProposed, {rest_.begin(), end});
    rest_.erase(rest_.begin(), end);
  }

  void TryNearby(const Plan& plan) {
    const std::vector<Plan> plans = space_.Nearby(plan);
    if (!is_fast_) {
      Try(Stage::kNearby, plans);
      return;
    }
    const double best = ScoreOf(result_.best.front());
    const double limit = best + kAlmost * std::abs(best);
    TryBest(Stage::kNearby, TryFast(plans), kNearbyTimed, limit);
  }

  // Trials of those that were not tried there yet.
  std::vector<size_t> TryFast(const std::vector<Plan>& plans) {
    const size_t before = result_.trials.size();
    Try(Stage::kFast, plans);
    std::vector<size_t> trials;
    for (size_t i = before; i < result_.trials.size(); ++i) trials.push_back(i);
    return trials;
  }

  // On the timed card, the best of fast trials, at most so many and none with a score beyond the
  // limit.
  void TryBest(Stage stage, std::vector<size_t> fast, uint64_t count, double limit) {
    StableSort(fast, [&](size_t a, size_t b) { return ScoreOf(a) < ScoreOf(b); });
    std::vector<Plan> plans;
    for (const size_t trial : fast) {
      if (plans.size() == count || ScoreOf(trial) > limit) break;
      if (result_.trials[trial].result.ended()) plans.push_back(result_.trials[trial].plan);
    }
    Try(stage, plans);
  }

  // Those that were not tried yet at this stage, until the budget is used up. In batches of what is
  // left, so that how many processes there are has no influence.
  void Try(Stage stage, const std::vector<Plan>& plans) {
    const bool is_timed = stage != Stage::kFast;
    std::vector<Plan> batch;
    const auto finish = [&] {
      std::vector<TrialResult> results = attempt_(stage, batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        if (is_timed && results[i].ended()) ++ended_;
        result_.trials.push_back({stage, std::move(batch[i]), std::move(results[i])});
        if (is_timed) Insert(result_.trials.size() - 1);
      }
      batch.clear();
    };
    for (const Plan& plan : plans) {
      if (is_timed && batch.size() == Left()) {
        if (batch.empty()) return;
        finish();  // some may not have ended, and leave room
        if (Left() == 0) return;
      }
      if (!is_timed && fast_ == kFastPlans * options_.budget) break;
      if (!tried_.emplace(is_timed, plan.keys).second) continue;
      batch.push_back(plan);
      fast_ += is_timed ? 0 : 1;
    }
    if (!batch.empty()) finish();
  }

  void Insert(size_t trial) {
    if (!result_.trials[trial].result.ended()) return;
    const auto place = std::upper_bound(result_.best.begin(), result_.best.end(), trial,
                                        [&](size_t a, size_t b) { return RankOf(a) < RankOf(b); });
    result_.best.insert(place, trial);
  }

  const PlanSpace& space_;
  const SearchOptions& options_;
  const TryPlans& attempt_;
  std::mt19937_64 random_;
  SearchResult result_;
  std::vector<Plan> rest_;                                               // of the ranking
  std::set<std::pair<bool, std::map<std::string, std::string>>> tried_;  // timed or not, keys
  uint64_t ended_ = 0;                                                   // timed trials
  uint64_t fast_ = 0;                                                    // fast trials
  bool is_fast_ = false;
};

}  // namespace

const char* Name(Stage stage) {
  switch (stage) {
    case Stage::kGiven:
      return "given";
    case Stage::kFast:
      return "fast";
    case Stage::kProposed:
      return "proposed";
    case Stage::kDrawn:
      return "drawn";
    case Stage::kNearby:
      break;
  }
  return "nearby";
}

SearchResult Search(const PlanSpace& space, const SearchOptions& options, const TryPlans& attempt) {
  return Searcher(space, options, attempt).Run();
}

}  // namespace spyre::cosim
