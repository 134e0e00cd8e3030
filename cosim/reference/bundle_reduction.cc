// SPDX-License-Identifier: Apache-2.0
// Reductions.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/bundle_lines.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/reference_functions.h"
#include "model/contract/op_table.h"

namespace spyre::cosim {
namespace {

using compiler::OpFunc;
using compiler::OpFuncReduction;
using compiler::SuperDsc;

constexpr int64_t kReductionChunk = 64;

// Real: float for the exact result, double for the one without rounding.
template <class Real>
const FoldFunction<Real>& FoldOf(ReduceFn fn) {
  static const auto folds = [] {
    std::vector<const FoldFunction<Real>*> all;
    for (const std::string_view name : FnNames(FnSet::kReduce)) all.push_back(FindFold<Real>(name));
    return all;
  }();
  return *folds.at(static_cast<size_t>(fn));
}

class ReductionRunner {
 public:
  ReductionRunner(const BoundStep& step, const OpFunc& op, BundleMemory& memory)
      : step_(step), op_(op), memory_(memory), constants_(ConstantsOf(op, *step.dsc, step.name)) {
    const SuperDsc& dsc = *step.dsc;
    if (step.inputs.empty()) throw BadInput("{}: no input", step.name);
    const StepOperand& input = step.inputs.front();
    for (int dim = 0; dim < static_cast<int>(dsc.dims.size()); ++dim) {
      if (step.output.walks[dim]) {
        kept_.push_back(dim);
      } else if (input.walks[dim]) {
        reduced_.push_back(dim);
      }
    }
    chains_ = CoreChains(dsc, reduced_);
    if (op.reduction.of_products && step.inputs.size() != 2)
      throw BadInput("{}: {} inputs; two are multiplied", step.name, step.inputs.size());
    // The terms of one run follow each other along the dimension in the sticks, else the first.
    if (!reduced_.empty()) {
      auto innermost = std::find(reduced_.begin(), reduced_.end(), input.stick_dim);
      if (innermost == reduced_.end()) {
        innermost = reduced_.begin();
      } else {
        chunk_ = static_cast<int64_t>(kStickBytes) / input.bytes;
      }
      run_ = dsc.dims[*innermost].per_core;
      std::rotate(innermost, innermost + 1, reduced_.end());
    }
    lanes_ = op.reduction.second ? 2 : 1;
    FindTerms();
  }

  void Run() {
    // Per chain the result lanes of every kept index, in order.
    std::vector<Line> results(chains_.size());
    ParallelFor(static_cast<int64_t>(chains_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t chain = begin; chain < end; ++chain) Compute(chains_[chain], results[chain]);
    });
    for (size_t chain = 0; chain < chains_.size(); ++chain) Commit(chains_[chain], results[chain]);
  }

 private:
  // Offsets of the reduced elements and their indices, the same for every kept index.
  void FindTerms() {
    const SuperDsc& dsc = *step_.dsc;
    ForEachIndex(dsc, reduced_, [&](const std::vector<int64_t>& index) {
      terms_.push_back(OffsetAt(step_.inputs.front(), index));
      if (op_.reduction.of_products) factor_terms_.push_back(OffsetAt(step_.inputs[1], index));
      for (const int dim : reduced_) term_index_.push_back(index[dim]);
    });
  }

  // Global indices of the core's terms that hold data.
  std::vector<bool> Present(int core) const {
    const SuperDsc& dsc = *step_.dsc;
    std::vector<bool> present(terms_.size(), true);
    for (const compiler::SdscMask& mask : dsc.masks) {
      const auto at = std::find(reduced_.begin(), reduced_.end(), mask.dim);
      if (at == reduced_.end()) continue;
      const auto position = static_cast<size_t>(at - reduced_.begin());
      const int64_t begin = dsc.slice[core][mask.dim] * dsc.dims[mask.dim].per_core;
      for (size_t term = 0; term < terms_.size(); ++term) {
        const int64_t index = begin + term_index_[term * reduced_.size() + position];
        if (index >= mask.start && index < mask.start + mask.count) present[term] = false;
      }
    }
    return present;
  }

  void Compute(const std::vector<int>& chain, Line& results) const {
    const OpFuncReduction& reduction = op_.reduction;
    std::vector<std::vector<bool>> present;
    present.reserve(chain.size());
    for (const int core : chain) present.push_back(Present(core));
    LineSteps steps(op_, constants_, step_.output.format, 1, memory_.has_ideal());
    std::vector<Line> value(1, Line(step_.output.format, 1, memory_.has_ideal()));
    ForEachIndex(*step_.dsc, kept_, [&](const std::vector<int64_t>& index) {
      for (int lane = 0; lane < lanes_; ++lane) {
        const ReduceFn fn = lane == 0 ? reduction.first : *reduction.second;
        Line& line = value.front();
        if (lane == 0 && FirstIsZero()) {
          line = Line(step_.output.format, 1, memory_.has_ideal());
        } else {
          line.bits[0] = DeviceBits(step_.output.format, Exact(fn, chain, present, index));
          if (memory_.has_ideal()) line.ideal[0] = Ideal(fn, chain, present, index);
        }
        const Line& out = op_.steps.empty() ? line : steps.Run(value);
        results.bits.push_back(out.bits[0]);
        if (memory_.has_ideal()) results.ideal.push_back(out.ideal[0]);
      }
    });
  }

  bool FirstIsZero() const {
    const OpFuncReduction& reduction = op_.reduction;
    return reduction.always_zero_first ||
           (reduction.zero_first >= 0 && constants_[reduction.zero_first] != 0);
  }

  // The total of a chain of cores; value(core, term) gives an element.
  template <class Real, class Value>
  Real Total(ReduceFn fn, const std::vector<int>& chain,
             const std::vector<std::vector<bool>>& present, const Value& value) const {
    const FoldFunction<Real>& fold = FoldOf<Real>(fn);
    Real total = fold.start;
    const auto terms = static_cast<int64_t>(terms_.size());
    for (size_t c = 0; c < chain.size(); ++c) {
      Real sum = fold.start;
      for (int64_t run = 0; run < terms; run += run_) {
        for (int64_t at = run; at < run + run_; at += chunk_) {
          Real chunk = fold.start;
          for (int64_t term = at; term < std::min(run + run_, at + chunk_); ++term) {
            if (present[c][term]) chunk = fold.combine(chunk, fold.element(value(chain[c], term)));
          }
          sum = fold.combine(sum, chunk);
        }
      }
      total = c == 0 ? sum : fold.combine(total, sum);
    }
    return total;
  }

  double Exact(ReduceFn fn, const std::vector<int>& chain,
               const std::vector<std::vector<bool>>& present,
               const std::vector<int64_t>& index) const {
    const auto element = [&](const StepOperand& input, int core, int64_t offset) {
      const StepOperand::Place& place = input.place[core];
      const uint8_t* data = memory_.image(place.image).data() + place.start + offset;
      return static_cast<float>(DeviceValue(input.format, LoadBits(data, input.bytes)));
    };
    const StepOperand& input = step_.inputs.front();
    const int64_t base = OffsetAt(input, index);
    const int64_t factor_base = FactorOffset(index);
    const auto value = [&](int core, int64_t term) {
      const float one = element(input, core, base + terms_[term]);
      if (!op_.reduction.of_products) return one;
      const float product = one * element(step_.inputs[1], core, factor_base + factor_terms_[term]);
      return static_cast<float>(
          DeviceValue(input.format, DeviceBits(input.format, double{product})));
    };
    const auto total = Total<float>(fn, chain, present, value);
    if (op_.reduction.scale < 0) return double{total};
    const float scaled = total * static_cast<float>(constants_[op_.reduction.scale]);
    return double{scaled};
  }

  double Ideal(ReduceFn fn, const std::vector<int>& chain,
               const std::vector<std::vector<bool>>& present,
               const std::vector<int64_t>& index) const {
    const auto element = [&](const StepOperand& input, int core, int64_t offset) {
      const StepOperand::Place& place = input.place[core];
      return memory_.Ideal(place.image, place.start + offset, input.format, input.bytes);
    };
    const int64_t base = OffsetAt(step_.inputs.front(), index);
    const int64_t factor_base = FactorOffset(index);
    const auto value = [&](int core, int64_t term) {
      const double one = element(step_.inputs.front(), core, base + terms_[term]);
      if (!op_.reduction.of_products) return one;
      return one * element(step_.inputs[1], core, factor_base + factor_terms_[term]);
    };
    const auto total = Total<double>(fn, chain, present, value);
    return op_.reduction.scale < 0 ? total : total * constants_[op_.reduction.scale];
  }

  int64_t FactorOffset(const std::vector<int64_t>& index) const {
    return op_.reduction.of_products ? OffsetAt(step_.inputs[1], index) : 0;
  }

  // The last core of a chain has the total.
  void Commit(const std::vector<int>& chain, const Line& results) {
    const StepOperand& out = step_.output;
    const StepOperand::Place& place = out.place[chain.back()];
    size_t next = 0;
    ForEachIndex(*step_.dsc, kept_, [&](const std::vector<int64_t>& index) {
      for (int lane = 0; lane < lanes_; ++lane, ++next) {
        const int64_t at = place.start + OffsetAt(out, index) + lane * out.bytes;
        StoreBits(results.bits[next], memory_.image(place.image).data() + at, out.bytes);
        if (memory_.has_ideal())
          memory_.StoreIdeal(place.image, at, out.format, out.bytes, results.ideal[next]);
      }
    });
  }

  const BoundStep& step_;
  const OpFunc& op_;
  BundleMemory& memory_;
  std::vector<double> constants_;
  std::vector<int> kept_, reduced_;  // dimensions
  int64_t chunk_ = kReductionChunk;
  int64_t run_ = 1;  // terms along the innermost dimension; chunks end with them
  int lanes_ = 1;
  std::vector<std::vector<int>> chains_;
  std::vector<int64_t> terms_;         // byte offset of each reduced element
  std::vector<int64_t> factor_terms_;  // of what it is multiplied with
  std::vector<int64_t> term_index_;    // and its index in each reduced dimension
};

}  // namespace

void RunReduction(const BoundStep& step, const OpFunc& op, BundleMemory& memory) {
  ReductionRunner(step, op, memory).Run();
}

}  // namespace spyre::cosim
