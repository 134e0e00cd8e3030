// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/work_split.h"

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/division/work_division.h"

namespace spyre::compiler {
namespace {

OpIr AsIr(const KernelProblem& problem) {
  OpIr op;
  op.name = problem.operation->name;
  op.kind = problem.reduced_axis() < 0 ? OpIr::Kind::kPointwise : OpIr::Kind::kReduction;
  op.reduction_type = problem.operation->kind == OperationKind::kMatmul ? "batchmatmul" : op.name;
  for (const Axis& axis : problem.axes) op.loops.push_back({axis.name, axis.size});
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const KernelArgument& argument = problem.arguments[i];
    TensorAccess access;
    access.name = argument.name;
    access.layout = argument.layout;
    for (size_t axis = 0; axis < problem.axes.size(); ++axis) {
      const int dim = problem.HostDim(static_cast<int>(i), static_cast<int>(axis));
      access.index.coefficient.push_back(dim < 0 ? 0 : argument.layout.host_stride[dim]);
    }
    if (argument.is_output) {
      op.output = std::move(access);
    } else {
      op.inputs.push_back(std::move(access));
    }
  }
  return op;
}

void ForceSplit(const KernelSpec& spec, KernelProblem& problem) {
  int64_t product = 1;
  for (const auto& [name, count] : spec.split) {
    const int index = problem.Find(name);
    if (index < 0) {
      std::string known;
      for (const Axis& axis : problem.axes) known += (known.empty() ? "" : ", ") + axis.name;
      throw BadInput("{}: split names dimension '{}'; it has {}", spec.op, name, known);
    }
    Axis& axis = problem.axes[index];
    if (count < 1 || count > axis.size) {
      throw BadInput(
          "{}: dimension '{}' of {} elements cannot be split into {} slices; 1 to {} are "
          "possible",
          spec.op, name, axis.size, count, std::min<int64_t>(axis.size, spec.cores));
    }
    // A stick is not divided: with fewer of them than slices, the other cores have no work and are
    // left out.
    axis.split = static_cast<int>(std::min<int64_t>(count, axis.units));
    product *= count;
    if (product > spec.cores) {
      throw BadInput(
          "{}: the split needs {} cores with dimension '{}' in {} slices; {} may be used", spec.op,
          product, name, count, spec.cores);
    }
  }
}

// A softmax row is worked on by one core as a whole: the other dimensions share the cores, the
// larger first, as the distribution of any operation does.
void DivideRows(const KernelSpec& spec, KernelProblem& problem) {
  std::vector<int64_t> units;
  std::vector<int> order;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    units.push_back(problem.axes[i].units);
    if (problem.axes[i].name != "cols") order.push_back(static_cast<int>(i));
  }
  StableSort(order, [&](int a, int b) { return units[a] > units[b]; });
  const SpaceSplit division = SplitIterationSpace(units, spec.cores, order, {}, {});
  for (size_t i = 0; i < problem.axes.size(); ++i) problem.axes[i].split = division.splits[i];
}

void CheckSpans(const KernelSpec& spec, const KernelProblem& problem) {
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    uint64_t span = kStickBytes;
    for (size_t axis = 0; axis < problem.axes.size(); ++axis) {
      const int argument = static_cast<int>(i);
      const int64_t last = problem.axes[axis].slice - 1;
      const int64_t units = problem.UnitStride(argument, static_cast<int>(axis));
      span += static_cast<uint64_t>(last * units);
    }
    if (span <= kMaxCoreSpanBytes) continue;
    throw BadInput(
        "{}: each core would reach {} bytes of argument '{}'; the limit is {}. Compile for a "
        "smaller tile, or force a split of its outermost dimension",
        spec.op, span, problem.arguments[i].name, kMaxCoreSpanBytes);
  }
}

}  // namespace

void DivideAxes(const KernelSpec& spec, KernelProblem& problem) {
  const bool softmax = problem.operation->kind == OperationKind::kSoftmax;
  if (!spec.split.empty()) {
    ForceSplit(spec, problem);
    const auto cols = spec.split.find("cols");
    if (softmax && cols != spec.split.end() && cols->second > 1) {
      throw BadInput(
          "softmax: dimension 'cols' is split into {}; a row stays on one core, so it must be 1",
          cols->second);
    }
  } else if (softmax) {
    DivideRows(spec, problem);
  } else {
    const WorkDivision division =
        DivideWork(AsIr(problem), spec.cores, spec.k_fast, spec.split_rule, spec.matmul_timing);
    for (size_t i = 0; i < problem.axes.size(); ++i) {
      Axis& axis = problem.axes[i];
      // The rule counts a dimension in the sticks of its own tensors, as the axis does; where the
      // two differ (layouts that hide a dimension inside another), the slices would not be equal.
      if (axis.units % division.splits[i] == 0) axis.split = division.splits[i];
    }
  }
  int loops = 0;
  for (Axis& axis : problem.axes) {
    axis.slice = (axis.units + axis.split - 1) / axis.split;
    if (axis.size > 1) ++loops;
  }
  const int reduced = problem.reduced_axis();
  problem.reduced_fastest = spec.k_fast && problem.operation->kind == OperationKind::kMatmul &&
                            loops >= 3 && problem.axes[reduced].split > 1;
  CheckSpans(spec, problem);
}

}  // namespace spyre::compiler
