// SPDX-License-Identifier: Apache-2.0
// The plans of one operation: the tile that its kernel is compiled for, the division of a tile over
// the cores, and how launches of several tiles overlap and follow each other. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/tune/fixed_keys.h"
#include "cosim/tune/plan.h"
#include "cosim/workload/operation_workload.h"
#include "runtime/spyre/launch_options.h"

namespace spyre::cosim {

class OperationSpace final : public PlanSpace {
 public:
  using Sizes = std::map<std::string, int64_t>;  // by the names of the operation's dimensions

  // No plan has more launches, unless it is the given one: every launch costs microseconds.
  static constexpr int64_t kMostLaunches = 64;

  // Throws Error(kBadInput) if the configuration's sizes are not those of the operation.
  OperationSpace(RunConfig config, FixedKeys fixed);

  // Every tile with every division of it. Of a matmul with whole k those first that the cost model
  // expects to be fastest (runtime/compiler/codegen/expected_time.h), of other operations those
  // whose largest share of a core, times launches, is smallest.
  Ranking Ranked() const override;
  std::vector<Plan> Nearby(const Plan& plan) const override;

  // Tiles that divide every dimension into equal parts, of whole sticks where it is inside a stick.
  // Dimensions that the operation sums over stay whole, or as given: tiles of them round
  // differently.
  std::vector<Sizes> Tiles() const;
  // Divisions of a tile, as equal as can be: on no more cores than there are, and every core has
  // work.
  std::vector<Sizes> Divisions(const Sizes& tile) const;

 private:
  // A plan as numbers.
  struct Point {
    Sizes tile;
    Sizes split;  // empty: the compiler's rule decides
    runtime::Overlap overlap = runtime::Overlap::kNone;
    uint64_t depth = 2, interleave = 1;
    std::vector<std::string> order;
  };

  int64_t Units(const std::string& name, int64_t size) const;
  bool MayTile(const std::string& name) const;
  bool MaySplit(const std::string& name) const;
  std::vector<int64_t> TilesOf(const std::string& name) const;
  int64_t Launches(const Sizes& tile) const;
  bool IsDivision(const Sizes& tile, const Sizes& split) const;
  std::optional<double> Expected(const Sizes& tile, const Sizes& split) const;
  double LargestShare(const Sizes& tile, const Sizes& split) const;

  Point GivenPoint() const;
  Point PointOf(const Plan& plan) const;
  Plan PlanOf(const Point& point) const;
  void AddTiles(const Point& point, std::vector<Plan>& plans) const;
  void AddDivisions(const Point& point, std::vector<Plan>& plans) const;
  void AddOverlaps(const Point& point, std::vector<Plan>& plans) const;
  void AddOrders(const Point& point, std::vector<Plan>& plans) const;

  const RunConfig config_;
  const FixedKeys fixed_;
  const OperationPlan plan_;
  const bool has_split_;            // the configuration forces a division
  Sizes given_tile_, given_split_;  // 0: not given
  std::vector<std::string> names_;
};

}  // namespace spyre::cosim
