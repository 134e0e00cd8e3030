// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/resolve_problem.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/codegen/work_split.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kMaxProblemExtent = int64_t{1}
                                      << 40;  // of one dimension: beyond any device memory

std::vector<std::string> GivenDims(const KernelSpec& spec, const Operation& op) {
  std::vector<std::string> dims;
  for (std::string_view name : op.optional_dims) {
    if (spec.dims.count(std::string(name)) != 0) dims.emplace_back(name);
  }
  for (std::string_view name : op.dims) {
    if (spec.dims.count(std::string(name)) == 0) {
      throw BadInput("{}: dimension '{}' is missing; needed are {}", spec.op, name,
                     Joined(op.dims, ", "));
    }
    dims.emplace_back(name);
  }
  for (const auto& [name, size] : spec.dims) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) {
      throw BadInput("{}: there is no dimension '{}'; it has {}{}{}", spec.op, name,
                     Joined(op.optional_dims, ", "), op.optional_dims.empty() ? "" : ", ",
                     Joined(op.dims, ", "));
    }
    if (size < 1 || size > kMaxProblemExtent) {
      throw BadInput("{}: dimension '{}' is {}; it must be 1 to {}", spec.op, name, size,
                     kMaxProblemExtent);
    }
  }
  return dims;
}

using Dims = std::vector<std::string>;

// Dimensions of each argument, inputs first.
std::vector<Dims> ArgumentDims(const KernelSpec& spec, const Operation& op, const Dims& dims) {
  if (op.kind == OperationKind::kMatmul) {
    if (dims.front() == "batch")
      return {{"batch", "m", "k"}, {"batch", "k", "n"}, {"batch", "m", "n"}};
    return {{"m", "k"}, {"k", "n"}, {"m", "n"}};
  }
  std::vector<Dims> result(op.inputs() + 1, dims);
  if (op.kind == OperationKind::kReduction) {
    Dims& out = result.back();
    auto it = std::find(out.begin(), out.end(), spec.axis);
    if (it == out.end()) {
      throw BadInput("{}: axis '{}' is not one of its dimensions {}", spec.op, spec.axis,
                     Joined(dims, ", "));
    }
    out.erase(it);
  }
  return result;
}

StickLayout OutputOfReduction(const std::vector<int64_t>& shape, const Dims& dims,
                              const std::string& stick) {
  const auto it = std::find(dims.begin(), dims.end(), stick);
  if (it == dims.end()) return SparseLayout(shape, DataFormat::kSen169Fp16);
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  // The stick dimension stays; it is last in the order.
  std::rotate(order.begin() + (it - dims.begin()), order.begin() + (it - dims.begin()) + 1,
              order.end());
  return MakeLayout(shape, ContiguousStrides(shape), DataFormat::kSen169Fp16, order);
}

std::string StickName(const KernelArgument& argument) {
  const int dim = argument.layout.stick_dim();
  return dim < 0 ? std::string() : argument.dims[dim];
}

void CheckLayout(const KernelSpec& spec, const KernelArgument& argument) {
  const StickLayout& layout = argument.layout;
  if (layout.format != DataFormat::kSen169Fp16) {
    throw BadInput("{}: argument '{}' is {}; kernels compute on {}", spec.op, argument.name,
                   FormatName(layout.format), FormatName(DataFormat::kSen169Fp16));
  }
  if (layout.host_size != argument.shape) {
    throw BadInput("{}: argument '{}' has a layout for [{}], but its shape is [{}]", spec.op,
                   argument.name, Joined(layout.host_size, ", "), Joined(argument.shape, ", "));
  }
}

void CheckSticks(const KernelSpec& spec, const KernelProblem& problem) {
  const auto require = [&](const KernelArgument& argument, const std::string& wanted) {
    const std::string stick = StickName(argument);
    if (stick == wanted) return;
    throw BadInput("{}: argument '{}' has dimension '{}' inside its sticks; '{}' is needed",
                   spec.op, argument.name, stick.empty() ? "none" : stick,
                   wanted.empty() ? "none" : wanted);
  };
  const auto& arguments = problem.arguments;
  if (problem.operation->kind == OperationKind::kMatmul) {
    require(arguments[0], "k");
    require(arguments[1], "n");
    require(arguments[2], "n");
    return;
  }
  const std::string stick = StickName(arguments[0]);
  if (problem.operation->kind == OperationKind::kSoftmax) require(arguments[0], "cols");
  const bool dropped = problem.operation->kind == OperationKind::kReduction && stick == spec.axis;
  for (size_t i = 1; i < arguments.size(); ++i) require(arguments[i], dropped ? "" : stick);
}

// Core numbers run over the slices mixed radix, the first axis fastest; with reduced_fastest the
// reduced axis comes before it.
void PlaceCores(KernelProblem& problem) {
  auto& axes = problem.axes;
  const int cores = problem.cores();
  problem.core_mask = cores == kMaxCores ? ~0u : (1u << cores) - 1;
  const int reduced = problem.reduced_axis();
  std::vector<int> fastest_first(axes.size());
  std::iota(fastest_first.begin(), fastest_first.end(), 0);
  if (problem.reduced_fastest) {
    std::rotate(fastest_first.begin(), fastest_first.end() - 1, fastest_first.end());
  }
  int step = 1;
  int chain_step = 1;  // core numbers from one slice of the reduced axis to the next
  for (int axis : fastest_first) {
    CoreColumns::Column slices{};
    for (int core = 0; core < cores; ++core) slices[core] = core / step % axes[axis].split;
    axes[axis].slice_column = axes[axis].split > 1 ? problem.columns->Add(slices) : -1;
    if (axis == reduced) chain_step = step;
    step *= axes[axis].split;
  }
  for (int core = 0; core < cores; ++core) {
    problem.previous[core] = core - chain_step;
    problem.next[core] = core + chain_step;
  }
}

// Cores share the loads of a matmul operand if they differ only in an axis that it does not walk.
void ShareLoads(const KernelProblem& problem, int argument, Operand& operand) {
  const int cores = problem.cores();
  std::array<int, kMaxCores> parts{};  // equal numbers: equal parts
  for (size_t axis = 0; axis < problem.axes.size(); ++axis) {
    const Axis& divided = problem.axes[axis];
    if (divided.split == 1 || problem.HostDim(argument, static_cast<int>(axis)) < 0) continue;
    for (int core = 0; core < cores; ++core) {
      const auto slice = static_cast<int>(problem.columns->At(divided.slice_column, core));
      parts[core] = parts[core] * divided.split + slice;
    }
  }
  CoreColumns::Column groups{};
  for (int core = 0; core < cores; ++core) {
    int64_t mask = 0;
    int members = 0;
    for (int other = 0; other < cores; ++other) {
      if (parts[core] != parts[other]) continue;
      mask |= int64_t{1} << other;
      ++members;
    }
    groups[core] = members > 1 || problem.schedule == Schedule::kPublic ? mask : 0;
    operand.sharers = members;
  }
  if (groups != CoreColumns::Column{}) operand.group_column = problem.columns->Add(groups);
}

Operand MakeOperand(const KernelProblem& problem, int argument) {
  const KernelArgument& given = problem.arguments[argument];
  Operand operand;
  operand.name = given.name;
  operand.address_entry = argument * kTableEntriesPerTensor;
  const int stick = given.layout.stick_dim();
  operand.lane0 = stick < 0;
  operand.start_from_slices = true;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    const int axis = static_cast<int>(i);
    const int dim = problem.HostDim(argument, axis);
    if (dim >= 0 && dim == stick) operand.stick_axis = axis;
    operand.unit_stride.push_back(problem.UnitStride(argument, axis));
    operand.stride_entry.push_back(dim < 0 ? -1 : operand.address_entry + 1 + dim);
  }
  if (problem.operation->kind == OperationKind::kMatmul && !given.is_output) {
    ShareLoads(problem, argument, operand);
  }
  return operand;
}

// Elements of an axis that `spec.tile` asks for, 0: none.
int64_t GivenTile(const KernelSpec& spec, const KernelProblem& problem, const std::string& name) {
  const auto given = spec.tile.find(name);
  if (given == spec.tile.end()) return 0;
  const Axis& axis = problem.axes[problem.Find(name)];
  if (given->second < 1 || given->second > axis.slice * axis.unit_elements()) {
    throw BadInput("{}: a tile of {} in dimension '{}'; it must be 1 to {}, what a core has of it",
                   spec.op, given->second, name, axis.slice * axis.unit_elements());
  }
  return given->second;
}

void CarrySums(const KernelSpec& spec, KernelProblem& problem) {
  if (spec.accumulator == Accumulator::kNone) {
    if (!spec.tile.empty()) throw BadInput("{}: a tile is given, but no accumulator", spec.op);
    return;
  }
  if (problem.operation->kind != OperationKind::kMatmul) {
    throw BadInput("{}: only a matmul carries its accumulators from launch to launch", spec.op);
  }
  for (const auto& [name, size] : spec.tile) {
    if (name != "m" && name != "n") {
      throw BadInput("{}: a tile of {} in dimension '{}' is given; m and n can be", spec.op, size,
                     name);
    }
  }
  CarriedSums& carried = problem.carried;
  carried.home = spec.accumulator;
  carried.entry = static_cast<int>(problem.arguments.size()) * kTableEntriesPerTensor;
  carried.m_tile = GivenTile(spec, problem, "m");
  carried.n_tile = GivenTile(spec, problem, "n");
  Axis& k = problem.axes[problem.reduced_axis()];
  if (k.split == 1) return;
  // Every launch gives each slice as much of its own, consecutive part of the whole k.
  if (k.size % (k.split * k.unit_elements()) != 0) {
    throw BadInput(
        "{}: k = {} of one launch is divided over {} slices that keep accumulators of their own; "
        "that needs a multiple of {}, or split.k = 1",
        spec.op, k.size, k.split, k.split * k.unit_elements());
  }
  k.spacing_entry = carried.Entry(AccumulationEntry::kSpacing);
}

}  // namespace

KernelProblem ResolveProblem(const KernelSpec& spec, CoreColumns& columns) {
  KernelProblem problem;
  problem.columns = &columns;
  problem.operation = &RequireOperation(spec.op);
  const Operation& op = *problem.operation;
  problem.name = op.name;
  problem.lx_bytes = spec.lx_bytes;
  problem.schedule = spec.schedule;
  if (spec.cores < 1 || spec.cores > kMaxCores) {
    throw BadInput("{}: {} cores asked for; a card has 1 to {}", spec.op, spec.cores, kMaxCores);
  }
  if (spec.lx_bytes > kLxUsableBytes) {
    throw BadInput("{}: {} bytes of LX asked for; a core has {} for programs", spec.op,
                   spec.lx_bytes, kLxUsableBytes);
  }
  const Dims dims = GivenDims(spec, op);
  const std::vector<Dims> argument_dims = ArgumentDims(spec, op, dims);
  if (!spec.layouts.empty() && spec.layouts.size() != argument_dims.size()) {
    throw BadInput("{}: {} layouts are given for {} arguments", spec.op, spec.layouts.size(),
                   argument_dims.size());
  }
  for (size_t i = 0; i < argument_dims.size(); ++i) {
    KernelArgument argument;
    argument.is_output = i + 1 == argument_dims.size();
    argument.name = argument.is_output ? "out" : (i == 0 ? "a" : "b");
    argument.dims = argument_dims[i];
    for (const std::string& dim : argument.dims) argument.shape.push_back(spec.dims.at(dim));
    if (!spec.layouts.empty()) {
      argument.layout = spec.layouts[i];
    } else if (argument.is_output && op.kind == OperationKind::kReduction) {
      argument.layout =
          OutputOfReduction(argument.shape, argument.dims, StickName(problem.arguments[0]));
    } else {
      argument.layout = DefaultLayout(argument.shape, DataFormat::kSen169Fp16);
    }
    CheckLayout(spec, argument);
    problem.arguments.push_back(std::move(argument));
  }
  CheckSticks(spec, problem);

  Dims order = problem.arguments.back().dims;
  if (op.kind == OperationKind::kMatmul) order.emplace_back("k");
  if (op.kind == OperationKind::kReduction) order.push_back(spec.axis);
  for (const std::string& name : order) {
    Axis axis;
    axis.name = name;
    axis.size = spec.dims.at(name);
    axis.reduced = (op.kind == OperationKind::kMatmul && name == "k") ||
                   (op.kind == OperationKind::kReduction && name == spec.axis);
    // Members of a multicast differ in m or n: their loads must meet. Tiles of k have places and
    // tokens of their own in LX.
    axis.uniform = name == "m" || name == "n" || name == "k";
    axis.in_sticks =
        AnyFits(problem.arguments, [&](const KernelArgument& a) { return StickName(a) == name; });
    axis.units = (axis.size + axis.unit_elements() - 1) / axis.unit_elements();
    problem.axes.push_back(axis);
  }
  DivideAxes(spec, problem);
  CarrySums(spec, problem);
  PlaceCores(problem);
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    problem.operands.push_back(MakeOperand(problem, static_cast<int>(i)));
  }
  return problem;
}

}  // namespace spyre::compiler
