// SPDX-License-Identifier: Apache-2.0
// Random plans for lists of operations (docs/plans.md), in the JSON that users write. Many are
// valid; what the compiler refuses, it must refuse with a sentence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compiler/list/named_graph.h"

namespace spyre::fuzz {

class RandomPlan {
 public:
  using Json = nlohmann::ordered_json;

  // graph: without dead code, which a plan may not name.
  RandomPlan(compiler::NamedGraph graph, uint32_t seed) : graph_(std::move(graph)), random_(seed) {}

  // cuts: whether the list may be cut into kernels.
  Json Make(bool cuts) {
    Json plan = Json::object();
    if (!OneIn(3)) plan["groups"] = Groups(0, Count() - 1, 0, 1);
    if (!OneIn(3)) plan["splits"] = Splits();
    if (OneIn(2)) plan["lx"] = Places();
    if (cuts && OneIn(2)) {
      plan["cuts"] = Json::array();
      for (int i = 0; i < Count(); ++i)
        if (OneIn(4)) plan["cuts"].push_back(OpName(i));
    }
    return plan;
  }

 private:
  using Names = std::vector<std::string>;

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  bool OneIn(int n) { return Between(1, n) == 1; }
  template <typename T>
  T Pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

  int Count() const { return static_cast<int>(graph_.ops.size()); }
  std::string OpName(int op) const {
    const auto output = static_cast<size_t>(graph_.ops[static_cast<size_t>(op)].output);
    return graph_.tensors[output].name;
  }
  std::vector<int> DimsOf(int tensor) const {
    return graph_.tensors[static_cast<size_t>(tensor)].dims;
  }

  int64_t Divisor(int dim, int64_t most) {
    if (OneIn(20)) return Between(1, 5);  // perhaps no divisor
    const int64_t least = OneIn(6) ? 1 : 2;
    int64_t size = graph_.dims[static_cast<size_t>(dim)].size;
    constexpr int64_t kStick = 64;
    if (size % kStick == 0 && !OneIn(4)) size /= kStick;
    std::vector<int64_t> divisors;
    for (int64_t d = least; d <= std::min(size, most); ++d)
      if (size % d == 0) divisors.push_back(d);
    return divisors.empty() ? 1 : Pick(divisors);
  }

  // Dimensions of all their results, or, seldom, of the first.
  std::vector<int> Common(int first, int last) {
    std::vector<int> dims = DimsOf(graph_.ops[static_cast<size_t>(first)].output);
    if (OneIn(8)) return dims;
    for (int op = first + 1; op <= last; ++op) {
      const std::vector<int> others = DimsOf(graph_.ops[static_cast<size_t>(op)].output);
      dims.erase(std::remove_if(dims.begin(), dims.end(),
                                [&](int dim) {
                                  return std::find(others.begin(), others.end(), dim) ==
                                         others.end();
                                }),
                 dims.end());
    }
    return dims;
  }

  // [count, dims] of loops around operations first .. last.
  Json Level(int first, int last) {
    std::vector<int> dims = Common(first, last);
    if (dims.empty()) return Json::array({1});
    std::shuffle(dims.begin(), dims.end(), random_);
    // Those that no loop around has cut yet come first.
    std::stable_sort(dims.begin(), dims.end(),
                     [&](int a, int b) { return cut_.count(a) < cut_.count(b); });
    const int64_t count = Divisor(dims[0], std::max<int64_t>(1, std::min<int64_t>(4, tiles_left_)));
    tiles_left_ /= count;
    Json named = Json::array();
    for (const int dim : dims) {
      named.push_back(graph_.dims[static_cast<size_t>(dim)].name);
      cut_.insert(dim);
      if (tiles_left_ < count || !OneIn(4)) break;  // usually one
      tiles_left_ /= count;
    }
    if (OneIn(5)) return Json::array({count});
    if (OneIn(5)) return Json::array({count, Json::array({0})});
    return Json::array({count, named});
  }

  // Groups within operations first .. last, not all of which are in one.
  Json Groups(int first, int last, int depth, int one_in) {
    Json groups = Json::array();
    while (first <= last) {
      const int begin = OneIn(2) ? first : Between(first, last);
      const int end = Between(begin, last);
      if (OneIn(one_in)) groups.push_back(Group(begin, end, depth));
      first = end + 1;
      if (OneIn(2)) break;
    }
    return groups;
  }

  Json Group(int first, int last, int depth) {
    Json ops = Json::array();
    const std::set<int> around = cut_;
    const int64_t tiles_around = tiles_left_;
    Json levels = Json::array({Level(first, last)});
    if (OneIn(4)) levels.push_back(Level(first, last));
    const int inner = OneIn(3) ? 5 : 1;  // in how many cases an operation begins an inner loop
    for (int op = first; op <= last;) {
      if (depth < 2 && (first < last || depth == 0) && OneIn(inner)) {
        const int end = OneIn(2) ? op : Between(op, last);
        ops.push_back(Group(op, end, depth + 1));
        op = end + 1;
      } else {
        ops.push_back(OpName(op));
        ++op;
      }
    }
    cut_ = around;
    tiles_left_ = tiles_around;
    Json group = Json::array({ops});
    if (levels.size() > 1) {
      group.push_back(std::move(levels));
    } else {
      for (const Json& part : levels[0]) group.push_back(part);
    }
    return group;
  }

  Json Splits() {
    Json splits = Json::object();
    for (int i = 0; i < Count(); ++i) {
      if (OneIn(2)) continue;
      const compiler::NamedOp& op = graph_.ops[static_cast<size_t>(i)];
      std::vector<int> dims = DimsOf(op.output);
      if (OneIn(3))
        for (const int input : op.inputs)
          for (const int dim : DimsOf(input)) dims.push_back(dim);
      if (dims.empty()) continue;
      Json own = Json::object();
      int64_t cores = 8;
      for (int tries = Between(1, 2); tries > 0; --tries) {
        const int dim = Pick(dims);
        const int64_t slices = Divisor(dim, cores);
        own[graph_.dims[static_cast<size_t>(dim)].name] = slices;
        cores = std::max<int64_t>(1, cores / slices);
      }
      splits[OpName(i)] = std::move(own);
    }
    return splits;
  }

  Json Places() {
    Json places = Json::object();
    for (int i = 0; i < Count(); ++i) {
      if (!OneIn(3)) continue;
      Json& place = places[OpName(i)];
      if (OneIn(2)) {
        place = "device";
      } else if (OneIn(2)) {
        place = "lx";
      } else {
        place = 128 * Between(0, 64);
      }
    }
    return places;
  }

  compiler::NamedGraph graph_;
  std::mt19937 random_;
  std::set<int> cut_;        // dimensions that the loops around have cut
  int64_t tiles_left_ = 32;  // that loops may have in all: one dialect writes them out
};

}  // namespace spyre::fuzz
