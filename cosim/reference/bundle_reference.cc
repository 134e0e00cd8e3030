// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/bundle_reference.h"

#include <map>
#include <utility>

#include "cosim/reference/bundle_execution.h"
#include "cosim/reference/bundle_step.h"
#include "runtime/compiler/bundle/bundle_indices.h"
#include "runtime/compiler/bundle/for_each_execute.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleExecute;
using compiler::OpFunc;
using compiler::OpFuncClass;

class BundleRunner {
 public:
  BundleRunner(const Bundle& bundle, const std::vector<int64_t>& dimensions, BundleMemory& memory)
      : bundle_(bundle), trips_(bundle, dimensions), memory_(memory) {}

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
    if (step.index) return RunIndirect(step, memory_);
    const OpFunc& op = compiler::RequireOpFunc(step.dsc->op);
    switch (op.op_class) {
      case OpFuncClass::kMatmul:
        return RunMatmul(step, memory_);
      case OpFuncClass::kStickReduction:
      case OpFuncClass::kNonstickReduction:
        return RunReduction(step, op, memory_);
      case OpFuncClass::kShuffle:
        return RunShuffle(step, memory_);
      default:
        return RunElements(step, op, memory_);
    }
  }

  const Bundle& bundle_;
  const compiler::TripCounts trips_;
  BundleMemory& memory_;
  std::map<const BundleExecute*, BoundStep> steps_;
};

}  // namespace

void RunBundleReference(const Bundle& bundle, const std::vector<int64_t>& dimensions,
                        BundleMemory& memory) {
  BundleRunner(bundle, dimensions, memory).Run();
}

}  // namespace spyre::cosim
