// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/for_each_execute.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"

namespace spyre::compiler {
namespace {

// enter(loop, walk_body) decides how often the body of a loop is walked. Nodes: const or not.
template <typename Nodes, typename Visit, typename Enter>
void WalkNodes(Nodes& nodes, const Visit& visit, const Enter& enter) {
  for (auto& node : nodes) {
    if (auto* loop = std::get_if<BundleLoop>(&node)) {
      enter(*loop, [&, loop] { WalkNodes(loop->body, visit, enter); });
    } else {
      visit(std::get<BundleExecute>(node));
    }
  }
}

}  // namespace

void ForEachExecute(const Bundle& bundle,
                    const std::function<void(const BundleExecute&,
                                             const std::vector<const BundleLoop*>& loops)>& visit) {
  std::vector<const BundleLoop*> loops;
  WalkNodes(
      bundle.body, [&](const BundleExecute& execute) { visit(execute, loops); },
      [&](const BundleLoop& loop, const auto& walk_body) {
        loops.push_back(&loop);
        walk_body();
        loops.pop_back();
      });
}

void ForEachExecute(Bundle& bundle, const std::function<void(BundleExecute&)>& visit) {
  WalkNodes(bundle.body, visit, [](BundleLoop&, const auto& walk_body) { walk_body(); });
}

void ForEachRun(const Bundle& bundle, const std::function<int64_t(const BundleLoop&)>& trips,
                const std::function<void(const BundleExecute&,
                                         const std::vector<int64_t>& iterations)>& visit) {
  std::vector<int64_t> iterations;
  WalkNodes(
      bundle.body, [&](const BundleExecute& execute) { visit(execute, iterations); },
      [&](const BundleLoop& loop, const auto& walk_body) {
        const int64_t count = trips(loop);
        iterations.push_back(0);
        for (int64_t i = 0; i < count; ++i) {
          iterations.back() = i;
          walk_body();
        }
        iterations.pop_back();
      });
}

TripCounts::TripCounts(const Bundle& bundle, const std::vector<int64_t>& dimensions) {
  size_t next = 0;
  for (const BundleArgument& argument : bundle.arguments) {
    const bool is_dimension = argument.kind == BundleArgument::Kind::kDimension;
    if (is_dimension && next == dimensions.size()) {
      throw BadInput("{}: the value of dimension '{}' is missing", bundle.name, argument.name)
          .Subject(argument.name);
    }
    values_.push_back(is_dimension ? dimensions[next++] : 0);
  }
}

}  // namespace spyre::compiler
