#include "runtime/compiler/kernel_problem.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "model/contract/error.h"
#include "runtime/compiler/work_split.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;  // of one dimension: beyond any device memory

std::vector<std::string> GivenDims(const KernelSpec& spec, const Operation& op) {
  std::vector<std::string> dims;
  for (std::string_view name : op.optional_dims) {
    if (spec.dims.count(std::string(name)) != 0) dims.emplace_back(name);
  }
  for (std::string_view name : op.dims) {
    if (spec.dims.count(std::string(name)) == 0) {
      throw BadInput("{}: dimension '{}' is missing; needed are {}", spec.op, name,
                     fmt::join(op.dims, ", "));
    }
    dims.emplace_back(name);
  }
  for (const auto& [name, size] : spec.dims) {
    if (std::find(dims.begin(), dims.end(), name) == dims.end()) {
      throw BadInput("{}: there is no dimension '{}'; it has {}{}{}", spec.op, name,
                     fmt::join(op.optional_dims, ", "), op.optional_dims.empty() ? "" : ", ",
                     fmt::join(op.dims, ", "));
    }
    if (size < 1 || size > kMaxExtent) {
      throw BadInput("{}: dimension '{}' is {}; it must be 1 to {}", spec.op, name, size,
                     kMaxExtent);
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
                     fmt::join(dims, ", "));
    }
    out.erase(it);
  }
  return result;
}

StickLayout OutputOfReduction(const std::vector<int64_t>& shape, const Dims& dims,
                              const std::string& stick) {
  const auto it = std::find(dims.begin(), dims.end(), stick);
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (it != dims.end()) {  // the stick dimension stays; it is last in the order
    std::rotate(order.begin() + (it - dims.begin()), order.begin() + (it - dims.begin()) + 1,
                order.end());
  } else if (!shape.empty()) {
    order.push_back(-1);
  }
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
                   argument.name, fmt::join(layout.host_size, ", "),
                   fmt::join(argument.shape, ", "));
  }
}

void CheckSticks(const KernelSpec& spec, const Problem& problem) {
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

}  // namespace

int Problem::Find(const std::string& name) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Problem::reduced_axis() const {
  const auto it = std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.reduced; });
  return it == axes.end() ? -1 : static_cast<int>(it - axes.begin());
}

int Problem::stick_axis(int argument) const {
  const int dim = arguments[argument].layout.stick_dim();
  return dim < 0 ? -1 : Find(arguments[argument].dims[dim]);
}

int Problem::HostDim(int argument, int axis) const {
  const auto& dims = arguments[argument].dims;
  const auto it = std::find(dims.begin(), dims.end(), axes[axis].name);
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

int64_t Problem::UnitStride(int argument, int axis) const {
  const int dim = HostDim(argument, axis);
  if (dim < 0) return 0;
  const StickLayout& layout = arguments[argument].layout;
  const int64_t units = layout.stick_dim() == dim ? 1 : axes[axis].unit_elements();
  return layout.DeviceByteStride(dim) * units;
}

int Problem::cores() const {
  return std::accumulate(axes.begin(), axes.end(), 1,
                         [](int product, const Axis& axis) { return product * axis.split; });
}

uint32_t Problem::core_mask() const {
  const int count = cores();
  return count == 32 ? ~0u : (1u << count) - 1;
}

Problem ResolveProblem(const KernelSpec& spec) {
  Problem problem;
  problem.operation = &RequireOperation(spec.op);
  const Operation& op = *problem.operation;
  problem.lx_bytes = spec.lx_bytes;
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
    axis.in_sticks = std::any_of(problem.arguments.begin(), problem.arguments.end(),
                                 [&](const KernelArgument& a) { return StickName(a) == name; });
    axis.units = (axis.size + axis.unit_elements() - 1) / axis.unit_elements();
    problem.axes.push_back(axis);
  }
  DivideAxes(spec, problem);
  return problem;
}

std::vector<std::vector<int64_t>> CoreRegisters(const Problem& problem,
                                                const std::vector<std::vector<int>>& shared) {
  const auto& axes = problem.axes;
  const int reduced = problem.reduced_axis();
  std::vector<int> fastest_first(axes.size());
  std::iota(fastest_first.begin(), fastest_first.end(), 0);
  if (problem.reduced_fastest) {
    std::rotate(fastest_first.begin(), fastest_first.end() - 1, fastest_first.end());
  }
  const int cores = problem.cores();
  std::vector<std::vector<int64_t>> rows(kMaxCores, std::vector<int64_t>(kCoreRegisters));
  int chain_step = 1;  // core numbers from one slice of the reduced axis to the next
  for (int core = 0; core < cores; ++core) {
    int rest = core;
    int step = 1;
    for (int axis : fastest_first) {
      rows[core][kCoreSlice + axis] = rest % axes[axis].split;
      rest /= axes[axis].split;
      if (axis == reduced) chain_step = step;
      step *= axes[axis].split;
    }
    rows[core][kCorePrevious] = core - chain_step;
    rows[core][kCoreNext] = core + chain_step;
  }
  for (size_t group = 0; group < shared.size(); ++group) {
    for (int core = 0; core < cores; ++core) {
      uint32_t mask = 0;
      for (int other = 0; other < cores; ++other) {
        bool same = true;
        for (size_t axis = 0; axis < axes.size(); ++axis) {
          const auto& free = shared[group];
          if (std::find(free.begin(), free.end(), static_cast<int>(axis)) != free.end()) continue;
          same = same && rows[core][kCoreSlice + axis] == rows[other][kCoreSlice + axis];
        }
        if (same) mask |= 1u << other;
      }
      rows[core][kCoreGroup + group] = (mask & (mask - 1)) == 0 ? 0 : mask;
    }
  }
  return rows;
}

int64_t BalancedTile(int64_t slice, int64_t limit) {
  limit = std::clamp<int64_t>(limit, 1, slice);
  const int64_t tiles = (slice + limit - 1) / limit;
  return (slice + tiles - 1) / tiles;
}

}  // namespace spyre::compiler
