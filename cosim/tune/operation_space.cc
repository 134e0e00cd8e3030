// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/operation_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/ranges.h"
#include "base/round_up.h"
#include "runtime/compiler/codegen/expected_time.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {
namespace {

using compiler::kStickElements;
using compiler::OperationKind;
using Sizes = OperationSpace::Sizes;

OperationKind KindOf(const OperationPlan& plan) {
  return compiler::RequireOperation(plan.kernel_spec.op).kind;
}

Sizes SizesOf(const Dims& dims) {
  Sizes sizes;
  for (const auto& [name, size] : {std::pair{"batch", dims.batch},
                                   {"m", dims.m},
                                   {"k", dims.k},
                                   {"n", dims.n},
                                   {"rows", dims.rows},
                                   {"cols", dims.cols}})
    sizes[name] = static_cast<int64_t>(size);
  return sizes;
}

bool AnyOf(const Dims& dims) {
  return dims.batch + dims.m + dims.k + dims.n + dims.rows + dims.cols > 0;
}

bool IsInSticks(const std::string& name) { return name == "n" || name == "k" || name == "cols"; }

int64_t ProductOf(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         [](int64_t product, const auto& size) { return product * size.second; });
}

std::string OrderText(const std::vector<std::string>& order) {
  std::string text;
  for (const std::string& name : order) text += (text.empty() ? "" : ", ") + TomlString(name);
  return "[" + text + "]";
}

}  // namespace

OperationSpace::OperationSpace(RunConfig config, FixedKeys fixed)
    : config_(std::move(config)),
      fixed_(std::move(fixed)),
      plan_(PlanOperation(config_)),
      has_split_(AnyOf(config_.workload.split)),
      given_tile_(SizesOf(config_.workload.tile)),
      given_split_(SizesOf(config_.workload.split)) {
  for (const auto& [name, size] : plan_.sizes) names_.push_back(name);
}

int64_t OperationSpace::Units(const std::string& name, int64_t size) const {
  return IsInSticks(name) ? RoundUp(size, kStickElements) / kStickElements : size;
}

bool OperationSpace::MayTile(const std::string& name) const {
  if (fixed_.Has("workload.tile." + name)) return false;
  switch (KindOf(plan_)) {
    case OperationKind::kMatmul:
      return name != "k";
    case OperationKind::kReduction:
      return name != plan_.kernel_spec.axis;
    case OperationKind::kSoftmax:
      return name != "cols";
    case OperationKind::kUnary:
    case OperationKind::kBinary:
      break;
  }
  return true;
}

bool OperationSpace::MaySplit(const std::string& name) const {
  return KindOf(plan_) != OperationKind::kSoftmax || name != "cols";
}

// In ascending order.
std::vector<int64_t> OperationSpace::TilesOf(const std::string& name) const {
  const int64_t size = plan_.sizes.at(name), given = plan_.kernel_spec.dims.at(name);
  std::vector<int64_t> tiles = {given};
  if (!MayTile(name)) return tiles;
  if (given != size) tiles.push_back(size);
  const int64_t unit = IsInSticks(name) ? kStickElements : 1;
  for (int64_t parts = 2; parts <= kMostLaunches && parts <= size; ++parts) {
    const int64_t tile = size / parts;
    if (size % parts == 0 && tile % unit == 0 && tile != given) tiles.push_back(tile);
  }
  std::sort(tiles.begin(), tiles.end());
  return tiles;
}

int64_t OperationSpace::Launches(const Sizes& tile) const {
  int64_t launches = 1;
  for (const std::string& name : names_)
    launches *= RoundUp(plan_.sizes.at(name), tile.at(name)) / tile.at(name);
  return launches;
}

std::vector<Sizes> OperationSpace::Tiles() const {
  std::vector<Sizes> tiles = {plan_.sizes};
  for (const std::string& name : names_) {
    std::vector<Sizes> longer;
    for (const Sizes& tile : tiles) {
      for (const int64_t size : TilesOf(name)) {
        Sizes other = tile;
        other[name] = size;
        longer.push_back(std::move(other));
      }
    }
    tiles = std::move(longer);
  }
  tiles.erase(std::remove_if(tiles.begin(), tiles.end(),
                             [&](const Sizes& tile) {
                               return Launches(tile) > kMostLaunches &&
                                      tile != plan_.kernel_spec.dims;
                             }),
              tiles.end());
  return tiles;
}

bool OperationSpace::IsDivision(const Sizes& tile, const Sizes& split) const {
  for (const std::string& name : names_) {
    const int64_t parts = split.at(name);
    if (parts < 1 || parts > Units(name, tile.at(name))) return false;
    if (parts > 1 && !MaySplit(name)) return false;
    if (fixed_.Has("workload.split." + name) &&
        parts != std::max<int64_t>(1, given_split_.at(name)))
      return false;
  }
  return ProductOf(split) <= plan_.kernel_spec.cores;
}

std::vector<Sizes> OperationSpace::Divisions(const Sizes& tile) const {
  Sizes one;
  for (const std::string& name : names_) one[name] = 1;
  std::vector<Sizes> splits = {one};
  for (const std::string& name : names_) {
    std::vector<Sizes> longer;
    for (const Sizes& split : splits) {
      const int64_t most =
          std::min(plan_.kernel_spec.cores / ProductOf(split), Units(name, tile.at(name)));
      for (int64_t parts = 1; parts <= most; ++parts) {
        Sizes other = split;
        other[name] = parts;
        longer.push_back(std::move(other));
      }
    }
    splits = std::move(longer);
  }
  splits.erase(std::remove_if(splits.begin(), splits.end(),
                              [&](const Sizes& split) { return !IsDivision(tile, split); }),
               splits.end());
  return splits;
}

std::optional<double> OperationSpace::Expected(const Sizes& tile, const Sizes& split) const {
  if (KindOf(plan_) != OperationKind::kMatmul || split.empty()) return std::nullopt;
  if (tile.at("k") != plan_.sizes.at("k")) return std::nullopt;
  const std::optional<double> launch_ns = compiler::ExpectedLaunchNs(
      plan_.kernel_spec.op, tile, split, plan_.kernel_spec.matmul_timing);
  if (!launch_ns) return std::nullopt;
  return static_cast<double>(Launches(tile)) * *launch_ns;
}

double OperationSpace::LargestShare(const Sizes& tile, const Sizes& split) const {
  auto share = static_cast<double>(Launches(tile));
  for (const std::string& name : names_) {
    const int64_t units = Units(name, tile.at(name)), parts = split.at(name);
    const int64_t longest = RoundUp(units, parts) / parts;
    share *= static_cast<double>(longest);
  }
  return share;
}

OperationSpace::Point OperationSpace::GivenPoint() const {
  Point point;
  point.tile = plan_.kernel_spec.dims;
  if (has_split_) {
    for (const std::string& name : names_)
      point.split[name] = std::max<int64_t>(1, given_split_.at(name));
  }
  const LaunchConfig& launch = config_.workload.launch;
  point.overlap = launch.overlap;
  point.depth = launch.depth;
  point.interleave = launch.interleave;
  point.order = launch.order;
  return point;
}

// What PlanOf made.
OperationSpace::Point OperationSpace::PointOf(const Plan& plan) const {
  Point point = GivenPoint();
  const auto number = [](const std::string& text) { return std::stoll(text); };
  for (const auto& [key, value] : plan.keys) {
    const std::string name = key.substr(key.rfind('.') + 1);
    const std::string table = key.substr(0, key.rfind('.'));
    if (table == "workload.tile") {
      point.tile[name] = number(value);
    } else if (table == "workload.split") {
      if (point.split.empty())
        for (const std::string& dimension : names_) point.split[dimension] = 1;
      point.split[name] = number(value);
    } else if (name == "overlap") {
      point.overlap = runtime::OverlapFromName(value.substr(1, value.size() - 2));
    } else if (name == "depth") {
      point.depth = static_cast<uint64_t>(number(value));
    } else if (name == "interleave") {
      point.interleave = static_cast<uint64_t>(number(value));
    } else if (name == "order") {
      for (const std::string& dimension : names_)
        if (value == OrderText({dimension})) point.order = {dimension};
    }
  }
  return point;
}

Plan OperationSpace::PlanOf(const Point& point) const {
  Plan plan;
  for (const std::string& name : names_) {
    if (point.tile.at(name) != plan_.kernel_spec.dims.at(name))
      plan.keys["workload.tile." + name] = std::to_string(point.tile.at(name));
  }
  for (const auto& [name, parts] : point.split) {
    if (parts != std::max<int64_t>(1, given_split_.at(name)))
      plan.keys["workload.split." + name] = std::to_string(parts);
  }
  // A division on one core is forced too.
  if (!has_split_ && !point.split.empty() && ProductOf(point.split) == 1)
    plan.keys["workload.split." + names_.front()] = "1";
  plan.expected_ns = Expected(point.tile, point.split);
  if (Launches(point.tile) == 1) return plan;
  const LaunchConfig& given = config_.workload.launch;
  if (point.overlap != given.overlap)
    plan.keys["workload.launch.overlap"] = TomlString(runtime::Name(point.overlap));
  if (point.overlap != runtime::Overlap::kNone && point.depth != given.depth)
    plan.keys["workload.launch.depth"] = std::to_string(point.depth);
  if (point.interleave != given.interleave)
    plan.keys["workload.launch.interleave"] = std::to_string(point.interleave);
  if (point.order != given.order) plan.keys["workload.launch.order"] = OrderText(point.order);
  return plan;
}

Ranking OperationSpace::Ranked() const {
  struct Ranked {
    double value;
    int64_t launches;
    Plan plan;
  };
  std::vector<Ranked> all;
  Point point = GivenPoint();
  for (const Sizes& tile : Tiles()) {
    for (Sizes& split : Divisions(tile)) {
      point.tile = tile;
      point.split = std::move(split);
      Plan plan = PlanOf(point);
      if (plan.keys.empty()) continue;
      const double value = plan.expected_ns.value_or(LargestShare(point.tile, point.split));
      all.push_back({value, Launches(tile), std::move(plan)});
    }
  }
  StableSort(all, [](const Ranked& a, const Ranked& b) {
    return std::tie(a.value, a.launches) < std::tie(b.value, b.launches);
  });
  Ranking ranking;
  ranking.plans.reserve(all.size());
  for (Ranked& one : all) ranking.plans.push_back(std::move(one.plan));
  return ranking;
}

// The next smaller and larger tile of each dimension.
void OperationSpace::AddTiles(const Point& point, std::vector<Plan>& plans) const {
  for (const std::string& name : names_) {
    const std::vector<int64_t> tiles = TilesOf(name);
    const auto at = std::find(tiles.begin(), tiles.end(), point.tile.at(name));
    Point other = point;
    const auto add = [&](int64_t size) {
      other.tile[name] = size;
      if (Launches(other.tile) > kMostLaunches) return;
      if (other.split.empty() || IsDivision(other.tile, other.split))
        plans.push_back(PlanOf(other));
    };
    if (at == tiles.end()) continue;
    if (at != tiles.begin()) add(*std::prev(at));
    if (std::next(at) != tiles.end()) add(*std::next(at));
  }
}

// Twice as many slices of a dimension, half as many, one more and one fewer; and cores from one
// dimension to another.
void OperationSpace::AddDivisions(const Point& point, std::vector<Plan>& plans) const {
  if (point.split.empty()) return;
  const auto add = [&](const Sizes& split) {
    if (!IsDivision(point.tile, split)) return;
    Point other = point;
    other.split = split;
    plans.push_back(PlanOf(other));
  };
  for (const std::string& from : names_) {
    Sizes split = point.split;
    int64_t& parts = split[from];
    const int64_t now = parts;
    for (const int64_t count : {now * 2, now / 2, now + 1, now - 1}) {
      parts = count;
      add(split);
    }
    if (now % 2 != 0) continue;
    parts = now / 2;
    for (const std::string& to : names_) {
      if (to == from) continue;
      split[to] *= 2;
      add(split);
      split[to] /= 2;
    }
  }
}

void OperationSpace::AddOverlaps(const Point& point, std::vector<Plan>& plans) const {
  using runtime::Overlap;
  const bool may_overlap = !fixed_.Has("workload.launch.overlap");
  const bool may_deepen = !fixed_.Has("workload.launch.depth");
  for (const Overlap overlap : {Overlap::kDoubleBuffer, Overlap::kStreams}) {
    if (!may_overlap && overlap != config_.workload.launch.overlap) continue;
    for (const uint64_t depth : {2, 4, 8}) {
      if (!may_deepen && depth != config_.workload.launch.depth) continue;
      Point other = point;
      other.overlap = overlap;
      other.depth = depth;
      plans.push_back(PlanOf(other));
    }
  }
  Point alone = point;
  // A depth that is given is refused without an overlap; a depth of 1 is the same.
  if (config_.workload.launch.overlap != Overlap::kNone) {
    if (!may_deepen) return;
    alone.overlap = config_.workload.launch.overlap;
    alone.depth = 1;
  } else {
    alone.overlap = Overlap::kNone;
  }
  plans.push_back(PlanOf(alone));
}

// Which dimension is walked slowest, and whether neighbouring tiles lie in different regions.
void OperationSpace::AddOrders(const Point& point, std::vector<Plan>& plans) const {
  std::vector<std::string> cut;
  for (const std::string& name : names_)
    if (point.tile.at(name) < plan_.sizes.at(name)) cut.push_back(name);
  if (cut.size() > 1 && !fixed_.Has("workload.launch.order")) {
    for (const std::string& outermost : cut) {
      Point other = point;
      other.order = {outermost};
      plans.push_back(PlanOf(other));
    }
  }
  if (fixed_.Has("workload.launch.interleave")) return;
  for (const uint64_t chunks : {1, 2, 4}) {
    Point other = point;
    other.interleave = chunks;
    plans.push_back(PlanOf(other));
  }
}

std::vector<Plan> OperationSpace::Nearby(const Plan& plan) const {
  const Point point = PointOf(plan);
  std::vector<Plan> plans;
  if (Launches(point.tile) > 1) {
    AddOverlaps(point, plans);
    AddOrders(point, plans);
  }
  AddDivisions(point, plans);
  AddTiles(point, plans);
  plans.erase(std::remove_if(plans.begin(), plans.end(),
                             [&](const Plan& other) { return other.keys == plan.keys; }),
              plans.end());
  return plans;
}

}  // namespace spyre::cosim
