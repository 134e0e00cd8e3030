// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/kernel_works.h"

#include <algorithm>

#include "cosim/estimate/operand_runs.h"
#include "cosim/estimate/softmax_works.h"
#include "cosim/estimate/step_work.h"
#include "cosim/estimate/stream_tiles.h"
#include "cosim/estimate/work_choices.h"
#include "model/contract/vector_functions.h"
#include "runtime/compiler/bundle/for_each_execute.h"
#include "runtime/compiler/codegen/expected_time.h"
#include "runtime/compiler/codegen/resolve_problem.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {
namespace {

using model::MatmulWork;
using model::VectorLoop;
using model::VectorWork;

constexpr uint64_t kElementBytes = 2;  // of SEN169_FP16

uint64_t Get(const compiler::DimensionSizes& sizes, const char* name) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 1 : static_cast<uint64_t>(found->second);
}

// Of the groups that load an operand together.
uint64_t HopsOf(const compiler::KernelProblem& problem, size_t operand) {
  const int column = problem.operands[operand].group_column;
  std::vector<uint32_t> groups;
  for (int core = 0; column >= 0 && core < problem.cores(); ++core)
    groups.push_back(static_cast<uint32_t>(problem.columns->At(column, core)));
  return FarthestHops(groups);
}

MatmulWork MatmulOf(const compiler::KernelProblem& problem) {
  MatmulWork work;
  const auto divide = [&](const char* name, uint64_t& size, uint64_t& parts) {
    const int axis = problem.Find(name);
    if (axis < 0) return;
    size = static_cast<uint64_t>(problem.axes[static_cast<size_t>(axis)].size);
    parts = static_cast<uint64_t>(problem.axes[static_cast<size_t>(axis)].split);
  };
  divide("batch", work.batch, work.batch_parts);
  divide("m", work.m, work.m_parts);
  divide("k", work.k, work.k_parts);
  divide("n", work.n, work.n_parts);
  ChooseTile(work, problem.lx_bytes);
  const auto stride = [&](size_t operand, const char* name) {
    return problem.operands[operand].unit_stride[static_cast<size_t>(problem.Find(name))];
  };
  constexpr size_t kA = 0, kB = 1, kOut = 2;
  MatmulStrides strides;
  strides.a_m = stride(kA, "m");
  strides.a_k = stride(kA, "k");
  strides.b_k = stride(kB, "k") / compiler::kStickElements;  // k is counted in the sticks of a
  strides.b_n = stride(kB, "n");
  strides.out_m = stride(kOut, "m");
  strides.out_n = stride(kOut, "n");
  SetRuns(work, strides);
  work.a_hops = HopsOf(problem, kA);
  work.b_hops = HopsOf(problem, kB);
  return work;
}

VectorLoop LoopOfOperation(const compiler::Operation& op, bool along_sticks) {
  switch (op.kind) {
    case compiler::OperationKind::kUnary:
      return LoopOf(static_cast<UnaryFn>(op.fn));
    case compiler::OperationKind::kReduction:
      return along_sticks ? VectorLoop::kReduce : VectorLoop::kBinary;
    default:
      return VectorLoop::kBinary;
  }
}

VectorWork VectorOf(const compiler::KernelProblem& problem, const compiler::KernelSpec& spec,
                    const compiler::DimensionSizes& split) {
  const compiler::Operation& op = *problem.operation;
  const bool reduces = op.kind == compiler::OperationKind::kReduction;
  const uint64_t rows = Get(spec.dims, "batch") * Get(spec.dims, "rows");
  const uint64_t cols = Get(spec.dims, "cols");
  const uint64_t row_parts = Get(split, "batch") * Get(split, "rows");
  const uint64_t col_parts = Get(split, "cols");
  VectorWork work;
  work.loop = LoopOfOperation(op, spec.axis == "cols");
  work.cores = row_parts * col_parts;
  const uint64_t padded = PartsOf(cols, compiler::kStickElements) * compiler::kStickElements;
  work.elements = rows * padded;
  const uint64_t bytes = work.elements * kElementBytes;
  work.loads = static_cast<uint64_t>(op.inputs());
  work.bytes_read = bytes * work.loads;
  work.bytes_written = bytes;
  if (reduces)
    work.bytes_written = spec.axis == "cols" ? rows * compiler::kStick : padded * kElementBytes;
  work.rows_per_core = std::max(1.0, static_cast<double>(rows) / static_cast<double>(row_parts));
  // The rows of a stick's columns follow each other.
  work.run_bytes = PartsOf(rows, row_parts) * compiler::kStick;
  std::vector<StreamAxis> axes;
  for (const compiler::Axis& axis : problem.axes) {
    StreamAxis& stream = axes.emplace_back();
    stream.slice = static_cast<uint64_t>(axis.slice);
    stream.reduced = axis.reduced;
    for (const compiler::Operand& operand : problem.operands)
      stream.stride.push_back(operand.unit_stride[axes.size() - 1]);
  }
  const size_t out = problem.operands.size() - 1;
  const StreamTile tile = reduces
                              ? ChooseReductionTile(axes, 0, /*in_lx=*/false, spec.axis == "cols")
                              : ChooseStreamTile(axes, out, false, StreamTileOf(work.loop, true));
  work.loop_sticks = tile.sticks();
  if (work.loop == VectorLoop::kReduce) work.round_rows = tile.row_tile;
  work.load_runs = LoadRuns(axes, tile, 0);
  if (!reduces) work.store_runs = StoreRuns(axes, tile, out);
  return work;
}

std::vector<StepWork> SoftmaxOf(const compiler::KernelSpec& spec,
                                const compiler::DimensionSizes& split) {
  SoftmaxSize size;
  size.rows = Get(spec.dims, "batch") * Get(spec.dims, "rows");
  size.row_sticks = PartsOf(Get(spec.dims, "cols"), compiler::kStickElements);
  size.row_parts = Get(split, "batch") * Get(split, "rows");
  size.lx_bytes = spec.lx_bytes;
  return SoftmaxWorks(size);
}

}  // namespace

std::vector<StepWork> WorkOf(const compiler::KernelSpec& spec, compiler::KernelPlan& plan) {
  const compiler::Operation& op = compiler::RequireOperation(spec.op);
  compiler::CoreColumns columns;
  const compiler::KernelProblem problem = compiler::ResolveProblem(spec, columns);
  compiler::DimensionSizes split;
  plan.cores_used = 1;
  for (const compiler::Axis& axis : problem.axes) {
    split[axis.name] = axis.split;
    plan.split[axis.name] = axis.split;
    plan.cores_used *= axis.split;
  }
  if (op.kind == compiler::OperationKind::kSoftmax) return SoftmaxOf(spec, split);
  StepWork step;
  step.name = std::string(op.name);
  if (op.kind == compiler::OperationKind::kMatmul) {
    const MatmulWork work = MatmulOf(problem);
    plan.tile = {{"m", static_cast<int64_t>(work.tile_m)},
                 {"n", static_cast<int64_t>(work.tile_n)}};
    step.work = work;
  } else {
    step.work = VectorOf(problem, spec, split);
  }
  return {std::move(step)};
}

std::vector<StepWork> WorkOf(const LaunchedBundle& launched, uint64_t lx_bytes) {
  const compiler::Bundle& bundle = launched.bundle;
  const compiler::TripCounts trips(bundle, launched.dimensions);
  std::vector<StepWork> steps;
  compiler::ForEachExecute(bundle, [&](const compiler::BundleExecute& execute,
                                       const std::vector<const compiler::BundleLoop*>& loops) {
    StepWork step;
    step.name = bundle.files[static_cast<size_t>(execute.dsc)];
    for (const compiler::BundleLoop* loop : loops)
      step.executions *= static_cast<uint64_t>(trips(*loop));
    step.work = WorkOfStep(bundle.dscs[static_cast<size_t>(execute.dsc)], lx_bytes);
    steps.push_back(std::move(step));
  });
  return steps;
}

}  // namespace spyre::cosim
