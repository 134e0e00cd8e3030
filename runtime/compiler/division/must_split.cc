// SPDX-License-Identifier: Apache-2.0
// The search of span reduction: which loops must be cut, and how often, for every core to reach no
// more than 256 MiB of each tensor.
#include <fmt/format.h>

#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/division/work_division.h"

namespace spyre::compiler {
namespace {

constexpr auto kSpanLimit = static_cast<int64_t>(kMaxCoreSpanBytes);

// Divisors of size between at_least and at_most, ascending.
std::vector<int> Divisors(int64_t size, int at_least, int at_most) {
  std::vector<int> divisors;
  for (int d = at_least; d <= at_most; ++d) {
    if (size % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// Calls visit(splits) for every combination of candidates, the first variable slowest, whose
// product over all loops is at most max_cores. `splits` is used for the trials and left changed.
template <typename Visit>
void ForEachTrial(const std::vector<int>& variables, size_t at, int max_cores,
                  const std::vector<std::vector<int>>& candidates, std::vector<int>* splits,
                  const Visit& visit) {
  int64_t product = 1;
  for (int split : *splits) product *= split;
  if (product > max_cores) return;  // candidates only grow it
  if (at == variables.size()) {
    visit(*splits);
    return;
  }
  int& split = (*splits)[static_cast<size_t>(variables[at])];
  const int before = split;
  for (int candidate : candidates[at]) {
    split = candidate;
    ForEachTrial(variables, at + 1, max_cores, candidates, splits, visit);
  }
  split = before;
}

}  // namespace

std::vector<std::pair<int, int>> WorkDivider::MustSplit(int max_cores,
                                                        std::vector<std::string>* log) const {
  std::vector<int> splits(op_.loops.size(), 1);
  std::vector<std::pair<int, int>> committed;
  for (size_t i = 0; i < tensor_count(); ++i) {
    if (PerCoreSpan(i, splits) > kSpanLimit) ReduceSpan(i, max_cores, &splits, &committed, log);
  }
  return committed;
}

// Cuts the loops of one tensor, outer device dimensions first, on top of what earlier tensors
// committed.
void WorkDivider::ReduceSpan(size_t i, int max_cores, std::vector<int>* splits,
                             std::vector<std::pair<int, int>>* committed,
                             std::vector<std::string>* log) const {
  const auto warn = [&](const std::string& why) {
    log->push_back(
        fmt::format("WARNING: operation '{}', tensor '{}': the span stays above {} "
                    "bytes: {}",
                    op_.name, tensor(i).name, kSpanLimit, why));
  };
  const std::vector<Coordinate>& coordinates = coordinates_[i];
  for (size_t d = 0; d + 1 < coordinates.size(); ++d) {
    std::vector<int> variables;  // every term has a range above 1
    for (const CoordinateTerm& term : coordinates[d].terms) variables.push_back(term.variable);
    if (variables.empty()) continue;
    std::vector<std::vector<int>> candidates;
    for (int variable : variables) {
      const auto v = static_cast<size_t>(variable);
      candidates.push_back(Divisors(size_in_sticks_[v], (*splits)[v], max_cores));
    }
    // Takes the largest of the spans within the limit (fewest cores), or the smallest if there is
    // none.
    int64_t best_span = 0;
    std::vector<int> best;
    ForEachTrial(variables, 0, max_cores, candidates, splits, [&](const std::vector<int>& trial) {
      const int64_t span = PerCoreSpan(i, trial);
      const bool better =
          best.empty() || (span <= kSpanLimit ? best_span > kSpanLimit || span > best_span
                                              : best_span > kSpanLimit && span < best_span);
      if (!better) return;
      best_span = span;
      best = trial;
    });
    if (best.empty()) {
      warn(fmt::format("no split of dimension {} leaves at most {} cores", d, max_cores));
      return;
    }
    *splits = best;
    for (int variable : variables) {
      const int split = best[static_cast<size_t>(variable)];
      const auto same = [&](const auto& entry) { return entry.first == variable; };
      auto it = FindIf(*committed, same);
      if (it == committed->end()) it = committed->insert(committed->end(), {variable, 1});
      it->second = split;
    }
    if (best_span <= kSpanLimit) return;
    std::vector<int64_t> last;  // of the loop values that one core runs over
    for (size_t v = 0; v < best.size(); ++v) last.push_back(op_.loops[v].range / best[v] - 1);
    if (coordinates[d].At(last) > 0) {
      warn(fmt::format("dimension {} reaches {} on each core, and inner dimensions cannot help", d,
                       coordinates[d].At(last) + 1));
      return;
    }
  }
}

}  // namespace spyre::compiler
