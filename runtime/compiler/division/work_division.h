// SPDX-License-Identifier: Apache-2.0
// Work division: how many slices each loop of an operation is cut into, and which core works on
// which slice. Two passes: span reduction cuts what must be cut for every core to reach no more
// than 256 MiB of each tensor; distribution deals the remaining cores to output loops by size, and
// to at most one reduction loop. Between them, k-fast division may claim matmuls with few rows.
//
// Callers: code generation (DivideWork), `opt work-division` and tests (the steps). Pure functions,
// any thread. Sizes in elements or sticks as named, spans in bytes. Lists indexed by loop variable
// have one entry for each of OpIr::loops. Errors: CompileError; BadInput from CheckOp.
// Source: the public work division document and passes (docs/facts.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

inline size_t Index(int variable) { return static_cast<size_t>(variable); }

// How an answer came about, for those who ask (front_end/explain.h).
struct DivisionTrace {
  std::vector<int> committed;  // by span reduction
  std::vector<int> by_rule;    // splits by the rule for the operation by itself
  bool by_cost = false;        // which was SplitRule::kCost
  bool by_plan = false;        // no rule: a plan of the user's own
  std::string k_fast_refused;  // why k-fast division did not claim a matmul
  std::string agreement;       // with its loop: why the splits are those, or why not
};

struct WorkDivision {
  std::vector<int> splits;              // slices of each loop variable, 1: not cut
  int cores_used = 1;                   // product of the splits; cores 0 .. cores_used-1 work
  std::vector<std::vector<int>> slice;  // [core][loop variable]: the slice this core works on
  bool k_fast_applied = false;          // the k-fast rule chose the splits
  bool k_fastest = false;        // neighbouring cores are neighbours in K, not in the first loop
  std::vector<std::string> log;  // "WARNING: ..." and "CRITICAL: ..." lines
  std::vector<std::string> too_far;  // of these, tensors of which a core reaches more than 256 MiB
  DivisionTrace trace;
};

// The rule that chooses the splits.
enum class SplitRule : uint8_t {
  kPublic,  // the two passes of the public compiler (the work-division RFC)
  kCost,    // of matmuls the fastest split by the card's timing (matmul_cost.h); else as kPublic
  // Of matmuls the split with the smallest time by the public cost model, which kCost takes for no
  // more than a hint where others are within 1 %.
  kPublicCost,
};
SplitRule SplitRuleFromName(std::string_view name);  // throws BadInput
const std::vector<std::string>& SplitRuleNames();

// Divides one operation over at most max_cores cores (1..32). k_fast: the k-fast rule and the
// K-fastest core order may be used.
WorkDivision DivideWork(const OpIr& op, int max_cores, bool k_fast);

// The division that these splits give: cores, slices, spans. splits: one for each loop of op.
WorkDivision DivisionOf(const OpIr& op, std::vector<int> splits, bool k_fast);

struct MatmulTiming;
// Either rule may apply.
WorkDivision DivideWork(const OpIr& op, int max_cores, bool k_fast, SplitRule rule,
                        const MatmulTiming& timing);

// ---------------------------------------------------------------- steps

// Throws CompileError "Unsupported" / "invalid_sencores" unless cores is 1..32.
void CheckCoreCount(int cores);

// Largest divisor of size that is not above max_cores.
int CoreSplit(int64_t size, int max_cores);

struct SpaceSplit {
  std::vector<int> splits;
  std::vector<std::string> log;  // one CRITICAL line for each minimum that does not fit
};
// Deals max_cores to dimensions: first the minimum splits, then output_dims in the order given,
// then the one of reduction_dims that can take most. Dimensions are positions in `size`.
SpaceSplit SplitIterationSpace(const std::vector<int64_t>& size, int max_cores,
                               const std::vector<int>& output_dims,
                               const std::vector<int>& reduction_dims,
                               const std::vector<std::pair<int, int>>& min_splits);

// How splits are stored on an operation, so that they survive renaming of loop variables: by the
// coefficient of the variable in the write index, or, for variables that the write does not use, in
// the first read index. Only splits above 1 are stored.
struct EncodedSplits {
  std::map<int64_t, int> output;
  std::map<int64_t, int> reduction;
};
EncodedSplits EncodeSplits(const std::vector<int>& splits, const IndexExpression& write,
                           const IndexExpression& read);
std::vector<int> DecodeSplits(const EncodedSplits& encoded, const IndexExpression& write,
                              const IndexExpression& read, const std::vector<LoopVariable>& loops);

// Slice of each core in each dimension, [core][dimension], for as many cores as the product of the
// splits: mixed radix, first dimension fastest; with last_fastest the last dimension comes before
// the first.
std::vector<std::vector<int>> CoreToSlice(const std::vector<int>& splits, bool last_fastest);

// One operation with everything the passes derive from it. `op` must outlive the object.
class WorkDivider {
 public:
  explicit WorkDivider(const OpIr& op);

  // Loop variables of range above 1, in loop order.
  const std::vector<int>& iteration_space() const { return iteration_space_; }
  // Elements per stick for variables that run inside a stick of some tensor, 0 for the others.
  const std::vector<int64_t>& elements_per_stick() const { return elements_per_stick_; }
  // Ranges, in sticks for stick variables.
  const std::vector<int64_t>& size_in_sticks() const { return size_in_sticks_; }

  size_t tensor_count() const { return op_.inputs.size() + 1; }
  const TensorAccess& tensor(size_t i) const;  // inputs in order, then the output
  const std::vector<Coordinate>& coordinates(size_t i) const { return coordinates_[i]; }

  // Bytes of tensor i that one core must reach.
  int64_t PerCoreSpan(size_t i, const std::vector<int>& splits) const;

  // Splits that bring every span within the limit, in order of commitment; a variable may be
  // committed with split 1.
  std::vector<std::pair<int, int>> MustSplit(int max_cores, std::vector<std::string>* log) const;

  // Pass 1. Empty if no split is needed.
  std::optional<EncodedSplits> SpanReduction(int max_cores, std::vector<std::string>* log) const;

  // Loops that pass 2 deals cores to, largest first. Decoded splits of pass 1 above 1 are left out.
  struct Priorities {
    std::vector<int> output;
    std::vector<int> reduction;
  };
  Priorities Prioritize(const std::vector<int>& committed) const;

  // The k-fast rule: splits of every loop, or nothing if it does not apply; `refused` (may be null)
  // then says why not, for a matmul.
  std::optional<std::vector<int>> KFast(int max_cores, const std::vector<int>& committed,
                                        std::string* refused = nullptr) const;

  // Pass 2: the splits of every loop.
  std::vector<int> Distribute(int max_cores, const std::vector<int>& committed,
                              std::vector<std::string>* log) const;

  std::optional<EncodedSplits> Encode(const std::vector<int>& splits) const;  // nothing: product 1
  std::vector<int> Decode(const std::optional<EncodedSplits>& encoded) const;

 private:
  bool InOutputCoordinates(int variable, bool with_stick) const;
  void ReduceSpan(size_t i, int max_cores, std::vector<int>* splits,
                  std::vector<std::pair<int, int>>* committed, std::vector<std::string>* log) const;
  const IndexExpression& read_index() const;

  const OpIr& op_;
  std::vector<std::vector<Coordinate>> coordinates_;  // of each tensor
  std::vector<int> iteration_space_;
  std::vector<int64_t> elements_per_stick_;
  std::vector<int64_t> size_in_sticks_;
};

}  // namespace spyre::compiler
