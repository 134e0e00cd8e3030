// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/kernel_problem.h"

#include <algorithm>
#include <numeric>

#include "base/ranges.h"

namespace spyre::compiler {

int Problem::Find(const std::string& axis_name) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == axis_name) return static_cast<int>(i);
  }
  return -1;
}

int Problem::reduced_axis() const {
  const auto it = FindIf(axes, [](const Axis& a) { return a.reduced; });
  return it == axes.end() ? -1 : static_cast<int>(it - axes.begin());
}

int Problem::AddUnitAxis() {
  axes.emplace_back();
  for (Operand& operand : operands) {
    operand.unit_stride.push_back(0);
    operand.stride_entry.push_back(-1);
  }
  return static_cast<int>(axes.size()) - 1;
}

int KernelProblem::HostDim(int argument, int axis) const {
  const auto& dims = arguments[argument].dims;
  const auto it = std::find(dims.begin(), dims.end(), axes[axis].name);
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

int64_t KernelProblem::UnitStride(int argument, int axis) const {
  const int dim = HostDim(argument, axis);
  if (dim < 0) return 0;
  const StickLayout& layout = arguments[argument].layout;
  const int64_t units = layout.stick_dim() == dim ? 1 : axes[axis].unit_elements();
  return layout.DeviceByteStride(dim) * units;
}

int KernelProblem::cores() const {
  return std::accumulate(axes.begin(), axes.end(), 1,
                         [](int product, const Axis& axis) { return product * axis.split; });
}

int64_t BalancedTile(int64_t slice, int64_t limit) {
  limit = std::clamp<int64_t>(limit, 1, slice);
  const int64_t tiles = (slice + limit - 1) / limit;
  return (slice + tiles - 1) / tiles;
}

}  // namespace spyre::compiler
