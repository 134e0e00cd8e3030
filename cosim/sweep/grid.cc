// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/toml_json.h"
#include "cosim/config/toml_text.h"
#include "cosim/sweep/config_keys.h"
#include "cosim/sweep/range_steps.h"
#include "cosim/trials/trial.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uint64_t kMostDrawn = 1'000'000;

struct Entry {
  std::string name;
  const toml::node* node;
};

// The entries of a table in the order of the file.
std::vector<Entry> EntriesOf(const toml::table& table) {
  std::vector<std::pair<toml::source_position, Entry>> placed;
  for (const auto& [key, node] : table)
    placed.push_back({key.source().begin, {std::string(key.str()), &node}});
  StableSort(placed, [](const auto& a, const auto& b) {
    return std::make_tuple(a.first.line, a.first.column) <
           std::make_tuple(b.first.line, b.first.column);
  });
  std::vector<Entry> entries;
  entries.reserve(placed.size());
  for (auto& [position, entry] : placed) entries.push_back(std::move(entry));
  return entries;
}

std::string Join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

class GridReader {
 public:
  explicit GridReader(Grid& grid) : grid_(grid), base_(fs::path(grid.path).parent_path()) {}

  void Read(const toml::table& document) {
    for (const auto& [name, node] : EntriesOf(document)) {
      if (name == "sweep") {
        ReadSweep(TableOf(name, *node));
      } else if (name == "fixed") {
        ReadFixed(TableOf(name, *node), "");
      } else if (name == "axes") {
        ReadAxes(TableOf(name, *node), "");
      } else if (name == "together") {
        ReadTogether(*node);
      } else {
        throw BadInput("{}: unknown table '{}'{} (sweep, fixed, axes, together)", Place(*node),
                       name, DidYouMean(name, {"sweep", "fixed", "axes", "together"}))
            .Subject(name);
      }
    }
    if (axes_.empty())
      throw BadInput("{}: nothing is swept; name keys and their values in [axes]", grid_.path);
    TakeAxes();
    CheckMethod();
    CheckWords();
  }

 private:
  std::string Place(const toml::node& node) const {
    const toml::source_position at = node.source().begin;
    return fmt::format("{}:{}:{}", grid_.path, at.line, at.column);
  }

  const toml::table& TableOf(const std::string& name, const toml::node& node) const {
    if (const toml::table* table = node.as_table()) return *table;
    throw BadInput("{}: {} must be a table, such as [{}]", Place(node), name, name).Subject(name);
  }

  template <class T>
  T Get(const std::string& name, const toml::node& node, const char* what) const {
    if (const auto value = node.value_exact<T>()) return *value;
    throw BadInput("{}: {} must be {}", Place(node), name, what).Subject(name);
  }

  uint64_t Whole(const std::string& name, const toml::node& node, uint64_t least) const {
    const auto value = Get<int64_t>(name, node, "a whole number");
    if (value < 0 || static_cast<uint64_t>(value) < least) {
      throw BadInput("{}: {} = {} must be at least {}", Place(node), name, value, least)
          .Subject(name)
          .Value(value);
    }
    return static_cast<uint64_t>(value);
  }

  std::vector<std::string> Texts(const std::string& name, const toml::node& node) const {
    std::vector<std::string> texts;
    const toml::array* const array = node.as_array();
    if (array == nullptr) throw BadInput("{}: {} must be a list of texts", Place(node), name);
    for (const toml::node& item : *array)
      texts.push_back(Get<std::string>(name, item, "a list of texts"));
    return texts;
  }

  void ReadSweep(const toml::table& table) {
    for (const auto& [name, node] : EntriesOf(table)) {
      if (name == "config") {
        grid_.config = FromBase(Get<std::string>(name, *node, "a path"));
      } else if (name == "method") {
        ReadMethod(Get<std::string>(name, *node, "a text"), *node);
      } else if (name == "points") {
        grid_.points = Whole(name, *node, 1);
      } else if (name == "seed") {
        grid_.seed = Whole(name, *node, 0);
      } else if (name == "where") {
        for (const std::string& text : Texts(name, *node)) grid_.where.emplace_back(text);
      } else if (name == "objectives") {
        grid_.objectives = Texts(name, *node);
      } else if (name == "traces") {
        grid_.traces = Get<bool>(name, *node, "true or false");
      } else if (name == "verify") {
        grid_.verify = Get<bool>(name, *node, "true or false");
      } else {
        const std::vector<std::string> known = {"config", "method",     "points", "seed",
                                                "where",  "objectives", "traces", "verify"};
        throw BadInput("{}: unknown key 'sweep.{}'{}", Place(*node), name, DidYouMean(name, known))
            .Subject("sweep." + name)
            .Remedy(Nearest(name, known));
      }
    }
  }

  void ReadMethod(const std::string& name, const toml::node& node) {
    const std::vector<std::string> names = {"grid", "random", "latin_hypercube"};
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw BadInput("{}: sweep.method = \"{}\" is not allowed{} (allowed: {})", Place(node), name,
                     DidYouMean(name, names), Joined(names, ", "))
          .Subject("sweep.method")
          .Value(name);
    }
    grid_.method = static_cast<SweepMethod>(found - names.begin());
  }

  // Paths are relative to the file, as everywhere.
  std::string FromBase(const std::string& path) const {
    if (path.empty() || !fs::path(path).is_relative()) return path;
    return (base_ / path).lexically_normal().string();
  }

  Json ValueAt(const std::string& key, const toml::node& node) const {
    Json value = JsonOfToml(node);
    keys_.CheckValue(Place(node), key, value);
    const Field& field = *keys_.Find(key);
    const auto from_base = [&](Json& path) {
      if (path.is_string() && path.get<std::string>() != kBuiltInPreset)
        path = FromBase(path.get<std::string>());
    };
    if (field.is_path && value.is_array())
      for (Json& item : value) from_base(item);
    if (field.is_path) from_base(value);
    return value;
  }

  // Every key of a table of tables; `is_leaf` says where a value begins.
  template <class IsLeaf, class Visit>
  void ForEachKey(const toml::table& table, const std::string& prefix, const IsLeaf& is_leaf,
                  const Visit& visit) const {
    for (const auto& [name, node] : EntriesOf(table)) {
      const std::string key = Join(prefix, name);
      const toml::table* const inner = node->as_table();
      if (keys_.Find(key) == nullptr && !keys_.IsTable(key)) keys_.RefuseKey(Place(*node), key);
      if (inner != nullptr && !is_leaf(key, *inner)) {
        ForEachKey(*inner, key, is_leaf, visit);
      } else if (keys_.Find(key) == nullptr) {
        throw BadInput("{}: {} is a table of keys, not a key", Place(*node), key).Subject(key);
      } else {
        visit(key, *node);
      }
    }
  }

  void ReadFixed(const toml::table& table, const std::string& prefix) {
    const auto is_leaf = [this](const std::string& key, const toml::table&) {
      return keys_.Find(key) != nullptr;
    };
    ForEachKey(table, prefix, is_leaf, [this](const std::string& key, const toml::node& node) {
      grid_.fixed.push_back(key + "=" + TomlOfJson(ValueAt(key, node)));
    });
  }

  void ReadAxes(const toml::table& table, const std::string& prefix) {
    const auto is_leaf = [](const std::string&, const toml::table& inner) {
      return inner.contains("from") || inner.contains("to");
    };
    ForEachKey(table, prefix, is_leaf, [this](const std::string& key, const toml::node& node) {
      Axis axis;
      axis.keys = {key};
      if (const toml::array* array = node.as_array()) {
        if (array->empty()) throw BadInput("{}: {} has no value", Place(node), key).Subject(key);
        for (const toml::node& item : *array) axis.values.push_back({ValueAt(key, item)});
      } else if (const toml::table* range = node.as_table()) {
        ReadRange(key, *range, axis);
      } else {
        throw BadInput(
            "{}: {} must have a list of values, or a range such as {{ from = 1, to = 16, step = 1 "
            "}}; a single value belongs in [fixed]",
            Place(node), key)
            .Subject(key);
      }
      AddAxis(std::move(axis), node);
    });
  }

  void ReadRange(const std::string& key, const toml::table& table, Axis& axis) {
    RangeSteps steps;
    for (const auto& [name, node] : EntriesOf(table)) {
      const std::string path = Join(key, name);
      if (name == "from" || name == "to") {
        const uint64_t number = Whole(path, *node, 0);
        keys_.CheckValue(Place(*node), key, number);
        (name == "from" ? steps.from : steps.to) = number;
      } else if (name == "step") {
        steps.step = Whole(path, *node, 1);
      } else if (name == "count") {
        steps.count = Whole(path, *node, 2);
      } else if (name == "factor") {
        const auto factor = node->value<double>();
        if (!factor || !(*factor >= 1.01) || !std::isfinite(*factor))
          throw BadInput("{}: {} must be a number from 1.01 on", Place(*node), path).Subject(path);
        steps.factor = *factor;
      } else if (name == "scale") {
        const auto scale = Get<std::string>(path, *node, "\"linear\" or \"log\"");
        if (scale != "linear" && scale != "log")
          throw BadInput("{}: {} = \"{}\" must be \"linear\" or \"log\"", Place(*node), path, scale)
              .Subject(path);
        steps.logarithmic = scale == "log";
      } else {
        const std::vector<std::string> known = {"from", "to", "step", "factor", "count", "scale"};
        throw BadInput("{}: unknown key '{}' of a range{}", Place(*node), path,
                       DidYouMean(name, known))
            .Subject(path);
      }
    }
    FinishRange(key, table, steps, axis);
  }

  void FinishRange(const std::string& key, const toml::table& table, const RangeSteps& steps,
                   Axis& axis) const {
    const std::string place = Place(table);
    if (!table.contains("from") || !table.contains("to"))
      throw BadInput("{}: the range of {} needs from and to", place, key).Subject(key);
    if (steps.from > steps.to) {
      throw BadInput("{}: {}: from = {} is above to = {}", place, key, steps.from, steps.to)
          .Subject(key);
    }
    if (steps.from == 0 && (steps.logarithmic || steps.factor > 0))
      throw BadInput("{}: {}: from = 0 has no logarithm; begin at 1", place, key).Subject(key);
    const int ways = (steps.step > 0 ? 1 : 0) + (steps.factor > 0 ? 1 : 0) + (steps.count > 0);
    if (ways > 1)
      throw BadInput("{}: {}: give one of step, factor and count", place, key).Subject(key);
    if (ways == 0) {
      axis.range = {steps.from, steps.to, steps.logarithmic};
      return;
    }
    for (const uint64_t number : NumbersOf(steps)) axis.values.push_back({number});
  }

  void ReadTogether(const toml::node& node) {
    const toml::array* const tables = node.as_array();
    if (tables == nullptr) throw BadInput("{}: together must be [[together]]", Place(node));
    for (const toml::node& item : *tables) {
      const toml::table& table = TableOf("together", item);
      const toml::node* const keys = table.get("keys");
      const toml::node* const values = table.get("values");
      if (keys == nullptr || values == nullptr || table.size() != 2 || !values->is_array())
        throw BadInput("{}: [[together]] needs keys and values, and nothing else", Place(item));
      Axis axis;
      axis.keys = Texts("together.keys", *keys);
      for (const toml::node& row : *values->as_array()) {
        const toml::array* const cells = row.as_array();
        if (cells == nullptr || cells->size() != axis.keys.size()) {
          throw BadInput("{}: together.values: each must be a list of {} values, one for each key",
                         Place(row), axis.keys.size());
        }
        Axis::Values point;
        for (size_t i = 0; i < cells->size(); ++i)
          point.push_back(ValueAt(axis.keys[i], *cells->get(i)));
        axis.values.push_back(std::move(point));
      }
      if (axis.keys.empty() || axis.values.empty())
        throw BadInput("{}: [[together]] has no key or no value", Place(item));
      AddAxis(std::move(axis), item);
    }
  }

  void AddAxis(Axis axis, const toml::node& node) {
    for (const std::string& key : axis.keys) {
      if (!swept_.insert(key).second)
        throw BadInput("{}: {} is swept twice", Place(node), key).Subject(key);
    }
    axes_.emplace_back(node.source().begin, std::move(axis));
  }

  // Keys with dots bring tables together that stand apart in the file; its order is that of places.
  void TakeAxes() {
    StableSort(axes_, [](const auto& a, const auto& b) {
      return std::make_tuple(a.first.line, a.first.column) <
             std::make_tuple(b.first.line, b.first.column);
    });
    for (auto& [position, axis] : axes_) grid_.axes.push_back(std::move(axis));
  }

  void CheckMethod() const {
    const bool draws = grid_.method != SweepMethod::kGrid;
    if (draws && grid_.points == 0) {
      throw BadInput("{}: sweep.points says how many points are drawn, and is missing", grid_.path)
          .Subject("sweep.points");
    }
    if (!draws && grid_.points != 0) {
      throw BadInput("{}: sweep.points = {}: a grid has as many points as its axes make",
                     grid_.path, grid_.points)
          .Subject("sweep.points");
    }
    if (grid_.points > kMostDrawn)
      throw BadInput("{}: sweep.points = {} is above {}", grid_.path, grid_.points, kMostDrawn);
    for (const Axis& axis : grid_.axes) {
      if (draws || !axis.values.empty()) continue;
      throw BadInput("{}: {}: the range of a grid needs step, factor or count", grid_.path,
                     axis.keys[0])
          .Subject(axis.keys[0]);
    }
  }

  // Conditions and objectives name what there is.
  void CheckWords() {
    for (const Condition& condition : grid_.where) {
      for (const std::string& key : condition.keys()) {
        if (keys_.Find(key) == nullptr)
          keys_.RefuseKey(fmt::format("{}: condition \"{}\"", grid_.path, condition.text()), key);
      }
    }
    if (grid_.objectives.empty()) grid_.objectives = {"launch_ns"};
    for (const std::string& name : grid_.objectives) {
      if (swept_.count(name) != 0) continue;
      if (keys_.Find(name) != nullptr) {
        throw BadInput("{}: sweep.objectives: {} is not swept, so all points have the same",
                       grid_.path, name)
            .Subject(name);
      }
      try {
        NumberFigure(name);
      } catch (const Error& error) {
        throw error.Within(grid_.path + ": sweep.objectives");
      }
    }
  }

  Grid& grid_;
  const fs::path base_;
  const ConfigKeys keys_;
  std::set<std::string> swept_;
  std::vector<std::pair<toml::source_position, Axis>> axes_;
};

}  // namespace

std::vector<std::string> Grid::Keys() const {
  std::vector<std::string> keys;
  for (const Axis& axis : axes) keys.insert(keys.end(), axis.keys.begin(), axis.keys.end());
  return keys;
}

Grid ParseGrid(const std::string& text, const std::string& name) {
  Grid grid;
  grid.path = name;
  GridReader(grid).Read(ParseToml(text, name));
  return grid;
}

Grid LoadGrid(const std::string& path) { return ParseGrid(ReadFile(path, "grid"), path); }

}  // namespace spyre::cosim
