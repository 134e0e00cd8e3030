#include "cosim/bundle_reference.h"

#include <map>
#include <utility>

#include "cosim/bundle_execution.h"
#include "cosim/bundle_step.h"
#include "model/contract/error.h"
#include "runtime/compiler/op_funcs.h"

namespace spyre::cosim {
namespace {

using compiler::Bundle;
using compiler::BundleArgument;
using compiler::BundleExecute;
using compiler::BundleLoop;
using compiler::BundleNode;
using compiler::OpFunc;
using compiler::OpFuncClass;

class BundleRunner {
 public:
  BundleRunner(const Bundle& bundle, const std::vector<int64_t>& dimensions, BundleMemory& memory)
      : bundle_(bundle), memory_(memory) {
    size_t next = 0;
    for (const BundleArgument& argument : bundle.arguments) {
      const bool is_dimension = argument.kind == BundleArgument::Kind::kDimension;
      if (is_dimension && next == dimensions.size()) {
        throw BadInput("{}: the value of dimension '{}' is missing", bundle.name, argument.name);
      }
      counts_.push_back(is_dimension ? dimensions[next++] : 0);
    }
  }

  void Run(const std::vector<BundleNode>& body) {
    for (const BundleNode& node : body) {
      if (const auto* execute = std::get_if<BundleExecute>(&node)) {
        Execute(*execute);
        continue;
      }
      const auto& loop = std::get<BundleLoop>(node);
      const int64_t count = loop.count_argument < 0 ? loop.count : counts_[loop.count_argument];
      iterations_.push_back(0);
      for (int64_t i = 0; i < count; ++i) {
        iterations_.back() = i;
        Run(loop.body);
      }
      iterations_.pop_back();
    }
  }

 private:
  void Execute(const BundleExecute& execute) {
    auto at = steps_.find(&execute);
    if (at == steps_.end()) at = steps_.emplace(&execute, MakeStep(bundle_, execute)).first;
    BoundStep& step = at->second;
    PlaceStep(execute, iterations_, memory_, step);
    const OpFunc& op = compiler::RequireOpFunc(step.dsc->op);
    switch (op.op_class) {
      case OpFuncClass::kMatmul:
        return RunMatmul(step, memory_);
      case OpFuncClass::kStickReduction:
      case OpFuncClass::kNonstickReduction:
        return RunReduction(step, op, memory_);
      default:
        return RunElements(step, op, memory_);
    }
  }

  const Bundle& bundle_;
  BundleMemory& memory_;
  std::vector<int64_t> counts_;      // per argument, the value of a dimension
  std::vector<int64_t> iterations_;  // of the loops around, outermost first
  std::map<const BundleExecute*, BoundStep> steps_;
};

}  // namespace

void RunBundleReference(const Bundle& bundle, const std::vector<int64_t>& dimensions,
                        BundleMemory& memory) {
  BundleRunner(bundle, dimensions, memory).Run(bundle.body);
}

}  // namespace spyre::cosim
