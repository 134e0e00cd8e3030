// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/bundle_reference.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/bundle_step.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle_indices.h"
#include "runtime/compiler/bundle/for_each_execute.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleExecute;
using compiler::OpFunc;
using compiler::OpFuncClass;

// A change of sticks moves whole blocks of 64 by 64: where the new stick dimension ends within a
// stick, the elements behind its end are zero.
void ZeroBehindTheEnd(const BoundStep& step, BundleMemory& memory) {
  const compiler::SuperDsc& dsc = *step.dsc;
  const StepOperand& output = step.output;
  if (output.stick_dim < 0) return;
  const auto stick = static_cast<size_t>(output.stick_dim);
  const auto stick_bytes = static_cast<int64_t>(kStickBytes);
  const int64_t rest =
      (stick_bytes - dsc.dims[stick].per_core * output.bytes % stick_bytes) % stick_bytes;
  if (rest == 0) return;
  std::vector<int> others;
  for (size_t d = 0; d < dsc.dims.size(); ++d)
    if (d != stick && output.walks[d]) others.push_back(static_cast<int>(d));
  for (const StepOperand::Place& place : output.place) {
    ForEachIndex(dsc, others, [&](const std::vector<int64_t>& index) {
      int64_t end = place.start + output.offset[stick].back() + output.bytes;
      for (const int d : others)
        end +=
            output
                .offset[static_cast<size_t>(d)][static_cast<size_t>(index[static_cast<size_t>(d)])];
      const auto first = memory.image(place.image).begin() + end;
      std::fill(first, first + rest, uint8_t{0});
    });
  }
}

class BundleRunner {
 public:
  BundleRunner(const Bundle& bundle, const std::vector<int64_t>& dimensions, BundleMemory& memory,
               const StepVisit& visit)
      : bundle_(bundle), trips_(bundle, dimensions), memory_(memory), visit_(visit) {}

  void Run() {
    compiler::ForEachRun(bundle_, trips_,
                         [&](const BundleExecute& execute, const auto& iterations) {
                           Execute(execute, iterations);
                         });
  }

 private:
  void Execute(const BundleExecute& execute, const std::vector<int64_t>& iterations) {
    auto at = steps_.find(&execute);
    if (at == steps_.end()) {
      at = steps_.emplace(&execute, MakeStep(bundle_, execute)).first;
      if (at->second.index) {
        at->second.rows = compiler::IndexedRows(bundle_, execute, [&](int argument) {
          return static_cast<int64_t>(memory_.image(argument).size());
        });
      }
    }
    BoundStep& step = at->second;
    PlaceStep(execute, iterations, memory_, step);
    if (visit_) visit_(step, false);
    Compute(step);
    if (visit_) visit_(step, true);
  }

  void Compute(BoundStep& step) {
    if (step.index) return RunIndirect(step, memory_);
    const OpFunc& op = compiler::RequireOpFunc(step.dsc->op);
    switch (op.op_class) {
      case OpFuncClass::kMatmul:
        return RunMatmul(step, memory_);
      case OpFuncClass::kStickReduction:
      case OpFuncClass::kNonstickReduction:
        return RunReduction(step, op, memory_);
      case OpFuncClass::kTopK:
        return RunTopK(step, op, memory_);
      case OpFuncClass::kShuffle:
        return RunShuffle(step, memory_);
      case OpFuncClass::kRestickify:
        RunElements(step, op, memory_);
        return ZeroBehindTheEnd(step, memory_);
      default:
        return RunElements(step, op, memory_);
    }
  }

  const Bundle& bundle_;
  const compiler::TripCounts trips_;
  BundleMemory& memory_;
  const StepVisit& visit_;
  std::map<const BundleExecute*, BoundStep> steps_;
};

}  // namespace

void RunBundleReference(const Bundle& bundle, const std::vector<int64_t>& dimensions,
                        BundleMemory& memory, const StepVisit& visit) {
  BundleRunner(bundle, dimensions, memory, visit).Run();
}

}  // namespace spyre::cosim
