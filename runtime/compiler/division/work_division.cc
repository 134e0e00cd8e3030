// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/division/work_division.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/division/matmul_cost.h"

namespace spyre::compiler {
namespace {

// Product of the splits. Throws where it is beyond any card: then they do not divide the work.
int Product(const std::vector<int>& splits) {
  constexpr int64_t kLimit = 1024;
  int64_t product = 1;
  for (int split : splits) {
    if (split >= 1) product *= split;
    if (split < 1 || product > kLimit) {
      throw BadInput("splits [{}]: each must be at least 1 and their product at most {}",
                     Joined(splits, ", "), kLimit);
    }
  }
  return static_cast<int>(product);
}

// What follows from the splits.
void Finish(const OpIr& op, const WorkDivider& divider, bool k_fast, WorkDivision& division) {
  division.cores_used = Product(division.splits);
  for (size_t i = 0; i < divider.tensor_count(); ++i) {
    const int64_t span = divider.PerCoreSpan(i, division.splits);
    if (span <= static_cast<int64_t>(kMaxCoreSpanBytes)) continue;
    division.too_far.push_back(
        fmt::format("CRITICAL: operation '{}': each core reaches {} bytes of "
                    "tensor '{}'; the limit is {}",
                    op.name, span, divider.tensor(i).name, kMaxCoreSpanBytes));
    division.log.push_back(division.too_far.back());
  }
  const std::vector<int>& space = divider.iteration_space();
  division.k_fastest = k_fast && op.IsMatmul() && space.size() >= 3 &&
                       division.splits[Index(space.back())] > 1 &&
                       op.output.index.coefficient[Index(space.back())] == 0;
  division.slice = CoreToSlice(division.splits, division.k_fastest);
}

}  // namespace

void CheckCoreCount(int cores) {
  if (cores >= 1 && cores <= kMaxCores) return;
  throw CompileError(
      "Unsupported", "invalid_sencores",
      fmt::format("the number of cores (SENCORES) is {}; it must be 1..{}", cores, kMaxCores))
      .Subject("SENCORES")
      .Remedy(fmt::format("1 to {}", kMaxCores));
}

int CoreSplit(int64_t size, int max_cores) {
  for (int split = max_cores; split > 1; --split) {
    if (size % split == 0) return split;
  }
  return 1;
}

SpaceSplit SplitIterationSpace(const std::vector<int64_t>& size, int max_cores,
                               const std::vector<int>& output_dims,
                               const std::vector<int>& reduction_dims,
                               const std::vector<std::pair<int, int>>& min_splits) {
  SpaceSplit result{std::vector<int>(size.size(), 1), {}};
  int remaining = max_cores;
  for (const auto& [dim, split] : min_splits) {
    const auto listed = [dim = dim](const std::vector<int>& dims) {
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    };
    if (listed(output_dims) || listed(reduction_dims)) {
      throw CompileError(
          "AssertionError", "committed_dim_still_listed",
          fmt::format("dimension {} has a minimum split of {} and must therefore not "
                      "be in the lists of dimensions to split",
                      dim, split));
    }
    if (split < 1) throw BadInput("minimum split {} of dimension {} is below 1", split, dim);
    if (remaining / split == 0) {
      result.log.push_back(
          fmt::format("CRITICAL: dimension {} needs {} slices, only {} cores are "
                      "left: the span limit may be violated",
                      dim, split, remaining));
      continue;
    }
    result.splits[Index(dim)] = split;
    remaining /= split;
  }
  for (int dim : output_dims) {
    if (remaining <= 1) break;
    const int split = CoreSplit(size[Index(dim)], remaining);
    if (split > 1) result.splits[Index(dim)] = split;
    remaining /= split;
  }
  if (remaining <= 1) return result;
  int best_dim = -1;
  int best_split = 1;
  for (int dim : reduction_dims) {
    const int split = CoreSplit(size[Index(dim)], remaining);
    if (split > best_split) {
      best_dim = dim;
      best_split = split;
    }
  }
  if (best_dim >= 0) result.splits[Index(best_dim)] = best_split;
  return result;
}

EncodedSplits EncodeSplits(const std::vector<int>& splits, const IndexExpression& write,
                           const IndexExpression& read) {
  EncodedSplits encoded;
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] <= 1) continue;
    if (write.coefficient[i] != 0) {
      encoded.output[write.coefficient[i]] = splits[i];
    } else if (read.coefficient[i] != 0) {
      encoded.reduction[read.coefficient[i]] = splits[i];
    }
  }
  return encoded;
}

std::vector<int> DecodeSplits(const EncodedSplits& encoded, const IndexExpression& write,
                              const IndexExpression& read, const std::vector<LoopVariable>& loops) {
  std::vector<int> splits(loops.size(), 1);
  for (size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].range <= 1) continue;
    const bool in_output = write.coefficient[i] != 0;
    const auto& stored = in_output ? encoded.output : encoded.reduction;
    const auto it = stored.find(in_output ? write.coefficient[i] : read.coefficient[i]);
    if (it != stored.end()) splits[i] = it->second;
  }
  return splits;
}

std::vector<std::vector<int>> CoreToSlice(const std::vector<int>& splits, bool last_fastest) {
  std::vector<size_t> order(splits.size());  // fastest first
  std::iota(order.begin(), order.end(), 0);
  if (last_fastest && !order.empty()) std::rotate(order.begin(), order.end() - 1, order.end());
  const auto cores = Index(Product(splits));
  std::vector<std::vector<int>> slices(cores, std::vector<int>(splits.size(), 0));
  for (size_t core = 0; core < cores; ++core) {
    auto rest = static_cast<int>(core);
    for (size_t dim : order) {
      slices[core][dim] = rest % splits[dim];
      rest /= splits[dim];
    }
  }
  return slices;
}

WorkDivider::WorkDivider(const OpIr& op)
    : op_(op), elements_per_stick_(op.loops.size(), 0), size_in_sticks_(op.loops.size(), 1) {
  CheckOp(op);
  for (size_t i = 0; i < op.loops.size(); ++i) {
    size_in_sticks_[i] = op.loops[i].range;
    if (op.loops[i].range > 1) iteration_space_.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < tensor_count(); ++i) {
    coordinates_.push_back(DeviceCoordinates(tensor(i).layout, tensor(i).index, op.loops));
    const Coordinate& stick = coordinates_.back().back();
    if (stick.terms.size() != 1) continue;
    int64_t& elements = elements_per_stick_[Index(stick.terms.front().variable)];
    elements = std::max<int64_t>(elements, ElementsPerStick(tensor(i).layout.format));
  }
  for (size_t i = 0; i < op.loops.size(); ++i) {
    const int64_t elements = elements_per_stick_[i];
    if (elements > 0) size_in_sticks_[i] = (op.loops[i].range - 1) / elements + 1;
  }
  // Sticks of indices are not padded: where the last one is not full, no core begins with another.
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Coordinate& stick = coordinates_[i].back();
    if (op.inputs[i].host_format != DataFormat::kIeeeInt32 || stick.terms.size() != 1) continue;
    const size_t loop = Index(stick.terms.front().variable);
    // Two cores that write by indices might write the same.
    const bool writes = op.output.index.coefficient[loop] == 0;
    if (writes || op.loops[loop].range % elements_per_stick_[loop] != 0) size_in_sticks_[loop] = 1;
  }
}

const TensorAccess& WorkDivider::tensor(size_t i) const {
  return i < op_.inputs.size() ? op_.inputs[i] : op_.output;
}

// An operation that reads nothing (a fill) uses its write index for both halves of the encoding.
const IndexExpression& WorkDivider::read_index() const {
  return op_.inputs.empty() ? op_.output.index : op_.inputs.front().index;
}

bool WorkDivider::InOutputCoordinates(int variable, bool with_stick) const {
  const std::vector<Coordinate>& coordinates = coordinates_.back();
  const auto end = coordinates.end() - (with_stick ? 0 : 1);
  return std::any_of(coordinates.begin(), end,
                     [&](const Coordinate& coordinate) { return coordinate.Uses(variable); });
}

int64_t WorkDivider::PerCoreSpan(size_t i, const std::vector<int>& splits) const {
  // The item size is the host's, also where the device stores less (int64): so does the original.
  const int64_t item_bytes = std::max(BitsPerElement(tensor(i).host_format) / 8, 1);
  const std::vector<int64_t>& device_size = tensor(i).layout.device_size;
  for (size_t d = 0; d + 1 < device_size.size(); ++d) {
    int64_t extent = 1;
    for (const CoordinateTerm& term : coordinates_[i][d].terms) {
      const int64_t range = op_.loops[Index(term.variable)].range / splits[Index(term.variable)];
      extent += term.At(range - 1) - term.At(0);
    }
    if (extent <= 1) continue;
    const int64_t inner = std::accumulate(device_size.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                                          device_size.end(), int64_t{1}, std::multiplies<>());
    int64_t span;
    // Only an access far outside its tensor can overflow: such a span is beyond any limit.
    if (__builtin_mul_overflow(extent, inner * item_bytes, &span)) span = INT64_MAX;
    return span;
  }
  return item_bytes;
}

std::optional<EncodedSplits> WorkDivider::SpanReduction(int max_cores,
                                                        std::vector<std::string>* log) const {
  std::vector<int> splits(op_.loops.size(), 1);
  std::vector<std::string> reductions;
  for (const auto& [variable, split] : MustSplit(max_cores, log)) {
    splits[Index(variable)] = split;
    if (!InOutputCoordinates(variable, false))
      reductions.push_back(op_.loops[Index(variable)].name);
  }
  if (reductions.size() > 1) {
    throw CompileError(
        "Unsupported", "split_multiple_reduction_dims",
        fmt::format("operation '{}': each core reaches more than 256 MB of a tensor unless {} "
                    "reduction loops ({}) are split; at most one can be",
                    op_.name, reductions.size(), Joined(reductions, ", ")))
        .Subject(op_.name);
  }
  return Encode(splits);
}

WorkDivider::Priorities WorkDivider::Prioritize(const std::vector<int>& committed) const {
  Priorities priorities;
  for (int variable : iteration_space_) {
    if (committed[Index(variable)] > 1) continue;
    const bool output = InOutputCoordinates(variable, false);
    (output ? priorities.output : priorities.reduction).push_back(variable);
  }
  const auto larger = [&](int a, int b) {
    return size_in_sticks_[Index(a)] > size_in_sticks_[Index(b)];
  };
  StableSort(priorities.output, larger);
  StableSort(priorities.reduction, larger);
  return priorities;
}

std::optional<std::vector<int>> WorkDivider::KFast(int max_cores, const std::vector<int>& committed,
                                                   std::string* refused) const {
  if (!op_.IsMatmul()) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    if (refused != nullptr) *refused = why;
    return std::nullopt;
  };
  std::vector<int> outputs;
  std::vector<int> reductions;
  for (int variable : iteration_space_) {
    (InOutputCoordinates(variable, true) ? outputs : reductions).push_back(variable);
  }
  if (outputs.size() != 2 || reductions.size() != 1)
    return refuse("it is for matmuls with two output loops and one reduction loop");
  const auto range = [&](int variable) { return op_.loops[Index(variable)].range; };
  const int k = reductions[0];
  const int n = range(outputs[1]) > range(outputs[0]) ? outputs[1] : outputs[0];
  const int m = n == outputs[0] ? outputs[1] : outputs[0];
  if (committed[Index(k)] > 1 || committed[Index(m)] > 1)
    return refuse("span reduction has cut the rows or the contraction");

  // Few rows per core, so that N and K are the loops worth cutting. The limits are the original's.
  constexpr int64_t kMostRows = 16;
  constexpr int64_t kFewRows = 4;
  const int64_t elements = ElementsPerStick(op_.output.layout.format);
  if (range(n) % elements != 0 || range(k) % elements != 0)
    return refuse("columns and contraction must be whole sticks");
  const int64_t n_sticks = range(n) / elements;
  const int64_t k_sticks = range(k) / elements;
  const int64_t rows = range(m);  // compared as rows of one core, which need not be a whole number
  if (rows < max_cores || rows > kMostRows * max_cores)
    return refuse(fmt::format("{} rows are not 1 to {} for each core", rows, kMostRows));
  if (k_sticks < max_cores)
    return refuse(fmt::format("{} sticks of contraction are too few for the cores", k_sticks));
  if (rows > kFewRows * max_cores && n_sticks >= max_cores)
    return refuse("more than 4 rows for each core, and columns enough for all cores");
  for (int split = max_cores - 1; split > 1; --split) {
    if (max_cores % split != 0 || n_sticks % split != 0) continue;
    if (k_sticks % (max_cores / split) != 0) continue;
    std::vector<int> splits(op_.loops.size(), 1);
    splits[Index(n)] = split;
    splits[Index(k)] = max_cores / split;
    return splits;
  }
  return refuse("no pair of splits divides the sticks of columns and contraction");
}

std::vector<int> WorkDivider::Distribute(int max_cores, const std::vector<int>& committed,
                                         std::vector<std::string>* log) const {
  Priorities priorities = Prioritize(committed);
  // Of several dimensions that a matmul sums over, the card divides that in its first operand's
  // sticks.
  if (op_.IsMatmul() && priorities.reduction.size() > 1) {
    std::vector<int>& all = priorities.reduction;
    const auto beside = [&](int variable) { return !coordinates(0).back().Uses(variable); };
    all.erase(std::remove_if(all.begin(), all.end(), beside), all.end());
  }
  std::vector<std::pair<int, int>> min_splits;
  for (int variable : iteration_space_) {
    if (committed[Index(variable)] <= 1) continue;
    min_splits.emplace_back(variable, committed[Index(variable)]);
    // Only one reduction loop can be split, and this one already is.
    if (!InOutputCoordinates(variable, false)) priorities.reduction.clear();
  }
  SpaceSplit split = SplitIterationSpace(size_in_sticks_, max_cores, priorities.output,
                                         priorities.reduction, min_splits);
  log->insert(log->end(), split.log.begin(), split.log.end());
  return split.splits;
}

std::optional<EncodedSplits> WorkDivider::Encode(const std::vector<int>& splits) const {
  if (Product(splits) <= 1) return std::nullopt;
  return EncodeSplits(splits, op_.output.index, read_index());
}

std::vector<int> WorkDivider::Decode(const std::optional<EncodedSplits>& encoded) const {
  return DecodeSplits(encoded.value_or(EncodedSplits{}), op_.output.index, read_index(), op_.loops);
}

const std::vector<std::string>& SplitRuleNames() {
  static const std::vector<std::string> names = {"public", "cost", "public-cost"};
  return names;
}

SplitRule SplitRuleFromName(std::string_view name) {
  const std::vector<std::string>& names = SplitRuleNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<SplitRule>(i);
  }
  throw BadInput("rule of work division '{}' must be public, cost or public-cost{}", name,
                 DidYouMean(name, names));
}

WorkDivision DivideWork(const OpIr& op, int max_cores, bool k_fast) {
  CheckCoreCount(max_cores);
  const WorkDivider divider(op);
  WorkDivision division;
  std::optional<EncodedSplits> stored;
  if (!op.IsTopK()) {
    stored = divider.SpanReduction(max_cores, &division.log);
    const std::vector<int> committed = divider.Decode(stored);
    std::optional<std::vector<int>> claimed;
    if (k_fast) claimed = divider.KFast(max_cores, committed, &division.trace.k_fast_refused);
    division.trace.committed = committed;
    division.k_fast_applied = claimed.has_value();
    const std::vector<int> splits =
        claimed ? *claimed : divider.Distribute(max_cores, committed, &division.log);
    if (auto encoded = divider.Encode(splits)) stored = std::move(encoded);
  }
  division.splits = divider.Decode(stored);
  division.trace.by_rule = division.splits;
  Finish(op, divider, k_fast, division);
  return division;
}

WorkDivision DivideWork(const OpIr& op, int max_cores, bool k_fast, SplitRule rule,
                        const MatmulTiming& timing) {
  std::optional<std::vector<int>> splits;
  if (rule != SplitRule::kPublic) {
    splits = CheapestMatmulSplits(op, max_cores, timing, rule == SplitRule::kCost ? kAsGood : 1);
  }
  if (!splits) return DivideWork(op, max_cores, k_fast);
  WorkDivision division = DivisionOf(op, std::move(*splits), k_fast);
  division.trace.by_cost = true;
  return division;
}

WorkDivision DivisionOf(const OpIr& op, std::vector<int> splits, bool k_fast) {
  WorkDivision division;
  division.splits = std::move(splits);
  division.trace.by_rule = division.splits;
  Finish(op, WorkDivider(op), k_fast, division);
  return division;
}

}  // namespace spyre::compiler
