// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/expand.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/config/toml_json.h"
#include "cosim/sweep/config_keys.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostPoints = 1'000'000;
constexpr uint64_t kMostCombinations = 50'000'000;  // looked at, conditions or not
constexpr uint64_t kTriesPerPoint = 1000;

// The standard fixes what the engine gives, but not what its distributions make of it.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // In [0, 1), 53 bits.
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // In [0, count).
  size_t Below(size_t count) { return static_cast<size_t>(Unit() * static_cast<double>(count)); }

 private:
  std::mt19937_64 engine_;
};

// The values of an axis at a place in [0, 1).
Axis::Values ValuesAt(const Axis& axis, double place) {
  if (!axis.values.empty()) {
    const auto count = static_cast<double>(axis.values.size());
    return axis.values[std::min(axis.values.size() - 1, static_cast<size_t>(place * count))];
  }
  const auto from = static_cast<double>(axis.range.from), to = static_cast<double>(axis.range.to);
  // Every whole number has an equal part of the line, or of its logarithm.
  const double number = axis.range.logarithmic ? from * std::pow((to + 1) / from, place)
                                               : from + (to + 1 - from) * place;
  return {std::min(axis.range.to, static_cast<uint64_t>(number))};
}

class GridExpander {
 public:
  GridExpander(const Grid& grid, const RunConfig& base) : grid_(grid), keys_(grid.Keys()) {
    for (const Condition& condition : grid.where) {
      for (const std::string& key : condition.keys()) {
        if (std::find(keys_.begin(), keys_.end(), key) == keys_.end())
          base_values_[key] = ValueOf(base, key);
      }
    }
  }

  Expansion Run() {
    switch (grid_.method) {
      case SweepMethod::kGrid:
        RunGrid();
        break;
      case SweepMethod::kRandom:
        RunRandom();
        break;
      case SweepMethod::kLatinHypercube:
        RunLatinHypercube();
        break;
    }
    if (expansion_.points.empty()) {
      throw BadInput("{}: none of {} points meets the conditions of sweep.where", grid_.path,
                     expansion_.unmet);
    }
    return std::move(expansion_);
  }

 private:
  bool Meets(const GridPoint& point) const {
    const auto value_of = [&](const std::string& key) {
      const auto swept = std::find(keys_.begin(), keys_.end(), key);
      return swept != keys_.end() ? point.values[static_cast<size_t>(swept - keys_.begin())]
                                  : base_values_.at(key);
    };
    return AllFit(grid_.where,
                  [&](const Condition& condition) { return condition.Holds(value_of); });
  }

  // False: it is not one of the points.
  bool Offer(GridPoint point) {
    if (!Meets(point)) {
      ++expansion_.unmet;
      return false;
    }
    if (grid_.method != SweepMethod::kGrid && !seen_.insert(DumpJson(Json(point.values))).second) {
      ++expansion_.duplicate;
      return false;
    }
    if (expansion_.points.size() == kMostPoints)
      throw BadInput("{}: more than {} points; draw some of them (sweep.method = \"random\")",
                     grid_.path, kMostPoints);
    expansion_.points.push_back(std::move(point));
    return true;
  }

  static void Append(GridPoint& point, Axis::Values values) {
    std::move(values.begin(), values.end(), std::back_inserter(point.values));
  }

  void RunGrid() {
    uint64_t combinations = 1;
    for (const Axis& axis : grid_.axes) {
      if (axis.values.size() > kMostCombinations / combinations) {
        throw BadInput(
            "{}: the axes make more than {} combinations; draw some of them "
            "(sweep.method = \"random\")",
            grid_.path, kMostCombinations);
      }
      combinations *= axis.values.size();
    }
    for (uint64_t number = 0; number < combinations; ++number) {
      GridPoint point;
      uint64_t below = combinations;
      for (const Axis& axis : grid_.axes) {
        below /= axis.values.size();
        Append(point, axis.values[number / below % axis.values.size()]);
      }
      Offer(std::move(point));
    }
  }

  void RunRandom() {
    Random random(grid_.seed);
    for (uint64_t tries = 0; expansion_.points.size() < grid_.points; ++tries) {
      if (tries == grid_.points * kTriesPerPoint) {
        throw BadInput(
            "{}: only {} of {} points found in {} draws ({} did not meet the conditions, {} were "
            "there already); ask for fewer, or sweep the whole grid",
            grid_.path, expansion_.points.size(), grid_.points, tries, expansion_.unmet,
            expansion_.duplicate);
      }
      GridPoint point;
      for (const Axis& axis : grid_.axes) Append(point, ValuesAt(axis, random.Unit()));
      Offer(std::move(point));
    }
  }

  void RunLatinHypercube() {
    Random random(grid_.seed);
    const size_t count = grid_.points;
    std::vector<GridPoint> points(count);
    for (const Axis& axis : grid_.axes) {
      std::vector<size_t> strata(count);
      std::iota(strata.begin(), strata.end(), size_t{0});
      for (size_t i = count; i > 1; --i) std::swap(strata[i - 1], strata[random.Below(i)]);
      for (size_t i = 0; i < count; ++i) {
        const double place =
            (static_cast<double>(strata[i]) + random.Unit()) / static_cast<double>(count);
        Append(points[i], ValuesAt(axis, place));
      }
    }
    for (GridPoint& point : points) Offer(std::move(point));
  }

  const Grid& grid_;
  const std::vector<std::string> keys_;
  std::map<std::string, Json> base_values_;  // of keys that conditions read and nothing sweeps
  std::set<std::string> seen_;               // drawn points
  Expansion expansion_;
};

}  // namespace

Expansion Expand(const Grid& grid, const RunConfig& base) { return GridExpander(grid, base).Run(); }

std::vector<std::string> SetsOf(const Grid& grid, const GridPoint& point) {
  std::vector<std::string> sets = grid.fixed;
  const std::vector<std::string> keys = grid.Keys();
  for (size_t i = 0; i < keys.size(); ++i)
    sets.push_back(keys[i] + "=" + TomlOfJson(point.values[i]));
  return sets;
}

std::string DigestOf(const Grid& grid, const RunConfig& base, const Expansion& expansion) {
  std::string text = ToJson(base);
  text += fmt::format("\n{} {}\n", grid.traces, grid.verify);
  for (const GridPoint& point : expansion.points) {
    for (const std::string& set : SetsOf(grid, point)) text += set + "\n";
    text += "\n";
  }
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace spyre::cosim
