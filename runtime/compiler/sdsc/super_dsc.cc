// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/sdsc/super_dsc.h"

#include <algorithm>

#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::compiler {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Elements of `dim` in one stick: 1 for a dimension that is not in it.
int64_t StickElements(const SdscTensor& tensor, int dim) {
  for (size_t i = 0; i < tensor.stick_dims.size(); ++i) {
    if (tensor.stick_dims[i] == dim) return tensor.stick_sizes[i];
  }
  return 1;
}

const SdscWindow* WindowOf(const SdscTensor& tensor, int dim) {
  for (const SdscWindow& window : tensor.windows) {
    if (window.dim == dim) return &window;
  }
  return nullptr;
}

// Elements of the tensor that one core's windows reach, or all where the dimension is not divided.
int64_t WindowedExtent(const SuperDsc& dsc, const SdscTensor& tensor, const SdscWindow& window) {
  const SdscDim& dim = dsc.dims[static_cast<size_t>(window.dim)];
  if (!tensor.in_lx || dim.slices == 1) return window.extent;
  const int64_t positions = dsc.dims[static_cast<size_t>(window.window_dim)].size;
  return (dim.per_core - 1) * window.stride + (positions - 1) * window.dilation + 1;
}

// Innermost first: the dimension, its stride in bytes, and how many steps of it hold elements; of
// one that is read in windows also those of the window.
template <typename Visit>
void WalkDims(const SuperDsc& dsc, const SdscTensor& tensor, Visit visit) {
  auto stride = static_cast<int64_t>(kStickBytes);
  for (size_t i = 0; i < tensor.dim_order.size(); ++i) {
    const int d = tensor.dim_order[i];
    const SdscDim& dim = dsc.dims[static_cast<size_t>(d)];
    const bool walked = tensor.scale[i] > 0;
    const int64_t size = !walked        ? 1
                         : tensor.in_lx ? dsc.PerCore(tensor, static_cast<size_t>(d))
                                        : dim.size;
    const auto gap = tensor.back_gap.find(d);
    const int64_t behind = gap == tensor.back_gap.end() ? 0 : gap->second;
    const int64_t elements = StickElements(tensor, d);
    if (const SdscWindow* window = WindowOf(tensor, d)) {
      const auto within = static_cast<size_t>(window->window_dim);
      visit(static_cast<size_t>(d), stride * window->stride, size);
      visit(within, stride * window->dilation, dsc.dims[within].size);
      stride *= WindowedExtent(dsc, tensor, *window) + behind;
      continue;
    }
    visit(static_cast<size_t>(d), walked ? stride : 0, CeilDivide(size, elements));
    stride *= CeilDivide(size + behind, elements);
  }
}

}  // namespace

int SuperDsc::FindDim(const std::string& dim_name) const {
  const auto it = FindIf(dims, [&](const SdscDim& dim) { return dim.name == dim_name; });
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

bool Walks(const SdscTensor& tensor, int dim) {
  for (size_t i = 0; i < tensor.dim_order.size(); ++i) {
    if (tensor.dim_order[i] == dim) return tensor.scale[i] > 0;
  }
  return AnyFits(tensor.windows,
                 [&](const SdscWindow& window) { return window.window_dim == dim; });
}

int64_t ExtentOf(const SuperDsc& dsc, const SdscTensor& tensor, int dim) {
  const SdscWindow* window = WindowOf(tensor, dim);
  return window != nullptr ? window->extent : dsc.dims[static_cast<size_t>(dim)].size;
}

std::vector<int64_t> DimStrides(const SuperDsc& dsc, const SdscTensor& tensor) {
  std::vector<int64_t> strides(dsc.dims.size(), 0);
  WalkDims(dsc, tensor, [&](size_t dim, int64_t stride, int64_t) { strides[dim] = stride; });
  return strides;
}

bool IsIndexed(const SdscTensor& tensor) {
  return std::find(tensor.scale.begin(), tensor.scale.end(), 0) != tensor.scale.end();
}

int64_t IndexCount(const SuperDsc& dsc) {
  int64_t count = 1;
  for (const SdscTensor& tensor : dsc.tensors) {
    if (!IsIndexed(tensor)) continue;
    for (size_t i = 0; i < tensor.dim_order.size(); ++i)
      if (tensor.scale[i] == 0) count *= dsc.dims[static_cast<size_t>(tensor.dim_order[i])].size;
  }
  return count;
}

int64_t IndexedBlockBytes(const SuperDsc& dsc, const SdscTensor& tensor) {
  auto bytes = static_cast<int64_t>(kStickBytes);
  WalkDims(dsc, tensor, [&](size_t dim, int64_t stride, int64_t) {
    const auto gap = tensor.back_gap.find(static_cast<int>(dim));
    const int64_t extent =
        (stride == 0 ? 1 : dsc.dims[dim].size) + (gap == tensor.back_gap.end() ? 0 : gap->second);
    bytes *= CeilDivide(extent, StickElements(tensor, static_cast<int>(dim)));
  });
  return bytes;
}

bool ChangesWidth(const SuperDsc& dsc) {
  if (dsc.inputs.size() != 1 || dsc.outputs.size() != 1) return false;
  const OpFunc* op = FindOpFunc(dsc.op);
  if (op == nullptr || op->op_class != OpFuncClass::kConversion) return false;
  const SdscTensor& in = dsc.tensors[static_cast<size_t>(dsc.inputs.front())];
  const SdscTensor& out = dsc.tensors[static_cast<size_t>(dsc.outputs.front())];
  return in.stick_dims.size() == 1 && in.stick_dims == out.stick_dims &&
         in.stick_sizes != out.stick_sizes;
}

int64_t StepsPerCore(const SuperDsc& dsc, const SdscTensor& tensor, size_t dim) {
  const int64_t elements = StickElements(tensor, static_cast<int>(dim));
  const int64_t steps = CeilDivide(dsc.PerCore(tensor, dim), elements);
  if (!ChangesWidth(dsc) || tensor.stick_dims.front() != static_cast<int>(dim)) return steps;
  int64_t narrow = elements;
  for (const SdscTensor& other : dsc.tensors) narrow = std::max(narrow, other.stick_sizes.front());
  const auto gap = tensor.back_gap.find(static_cast<int>(dim));
  const bool divided = dsc.dims[dim].slices > 1;
  const int64_t behind = divided || gap == tensor.back_gap.end() ? 0 : gap->second;
  const int64_t room = CeilDivide(dsc.PerCore(tensor, dim) + behind, elements);
  return std::min(room, CeilDivide(dsc.PerCore(tensor, dim), narrow) * (narrow / elements));
}

int64_t FootprintBytes(const SuperDsc& dsc, const SdscTensor& tensor) {
  auto bytes = static_cast<int64_t>(kStickBytes);
  const bool whole = ChangesWidth(dsc);
  WalkDims(dsc, tensor, [&](size_t dim, int64_t stride, int64_t count) {
    const bool of_core = tensor.in_lx || dsc.dims[dim].slices == 1;
    const int64_t steps = whole && of_core ? StepsPerCore(dsc, tensor, dim) : count;
    bytes += stride * (steps - 1);
  });
  return bytes;
}

int64_t CoreSpanBytes(const SuperDsc& dsc, const SdscTensor& tensor) {
  auto span = static_cast<int64_t>(kStickBytes);
  WalkDims(dsc, tensor, [&](size_t dim, int64_t stride, int64_t) {
    const int64_t steps =
        CeilDivide(dsc.dims[dim].per_core, StickElements(tensor, static_cast<int>(dim)));
    if (stride > 0 && steps > 1) span = stride * steps;
  });
  return span;
}

}  // namespace spyre::compiler
