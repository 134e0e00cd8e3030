// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/generate_kernel.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/compiler/codegen/kernel_layout.h"
#include "runtime/compiler/codegen/resolve_problem.h"
#include "runtime/compiler/kernels/step_kernels.h"

namespace spyre::compiler {
namespace {

PointwiseBody OneStep(const VectorStep& step) {
  PointwiseBody body;
  body.steps.push_back(step);
  return body;
}

uint64_t BuildStep(KernelProblem& problem, StepCode& code, Kernel& kernel) {
  const Operation& op = *problem.operation;
  switch (op.kind) {
    case OperationKind::kMatmul: {
      const MatmulBuild built = BuildMatmul(problem, code);
      kernel.accumulation.workspace_bytes = built.workspace_bytes;
      return built.lx_end;
    }
    case OperationKind::kUnary:
      return BuildPointwise(problem, OneStep({Op::kVunary, op.fn, 1, 0, 0}), code);
    case OperationKind::kBinary:
      return BuildPointwise(problem, OneStep({Op::kVbinary, op.fn, 2, 0, 1}), code);
    case OperationKind::kReduction: {
      const int64_t size = problem.axes[problem.reduced_axis()].size;
      ReductionBody body;
      body.folds.push_back(static_cast<ReduceFn>(op.fn));
      body.divisor = op.is_mean() ? size : 0;
      return BuildReduction(problem, body, code);
    }
    case OperationKind::kSoftmax:
      return BuildSoftmax(problem, code);
  }
  throw InternalError("unknown kind of operation");
}

void DescribeAccumulation(const KernelProblem& problem, KernelAccumulation& accumulation) {
  if (!problem.carried.any()) return;
  const Axis& axis = problem.axes[problem.reduced_axis()];
  accumulation.home = problem.carried.home;
  accumulation.dim = axis.name;
  accumulation.slices = axis.split;
  accumulation.slice = axis.size / axis.split;
  accumulation.unit = axis.unit_elements();
}

}  // namespace

Kernel GenerateKernel(const KernelSpec& spec) {
  CoreColumns columns;
  KernelProblem problem = ResolveProblem(spec, columns);
  const Operation& op = *problem.operation;
  StepCode code(problem.core_mask);
  Kernel kernel;
  kernel.plan.lx_bytes_used = BuildStep(problem, code, kernel);
  kernel.lx = code.TakeLxUses(0, problem.core_mask);
  DescribeAccumulation(problem, kernel.accumulation);
  kernel.name = op.name;
  Program& program = kernel.compute;
  program.name = kernel.name;
  program.core_mask = problem.core_mask;
  program.timing_only = spec.timing_only;
  program.generated_loops = spec.schedule == Schedule::kPublic;
  const size_t records = problem.arguments.size() + (problem.carried.any() ? 1 : 0);
  program.address_table.assign(records * kTableEntriesPerTensor, 0);
  program.lx_bytes = static_cast<uint32_t>(kernel.plan.lx_bytes_used);
  program.sections = code.Finish();
  program.core_registers = columns.Rows();
  for (const Axis& axis : problem.axes) {
    kernel.plan.split[axis.name] = axis.split;
    kernel.plan.tile[axis.name] = std::min(axis.tile * axis.unit_elements(), axis.size);
    if (axis.reduced) kernel.reduction_dims.push_back(axis.name);
  }
  // Softmax cannot be cut along its rows any more than a sum can.
  if (op.kind == OperationKind::kSoftmax) kernel.reduction_dims.emplace_back("cols");
  kernel.plan.cores_used = problem.cores();
  kernel.arguments = std::move(problem.arguments);
  LayOutAllocation(kernel);
  return kernel;
}

}  // namespace spyre::compiler
