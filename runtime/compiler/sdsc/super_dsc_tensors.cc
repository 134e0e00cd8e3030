// SPDX-License-Identifier: Apache-2.0
// Tensors of a SuperDSC: labels, layouts and start addresses.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/sdsc/super_dsc_reader.h"

namespace spyre::compiler {
namespace {

constexpr size_t kMaxTensors = 8;
constexpr int64_t kMaxTensorBytes = 1ll << 46;
constexpr int64_t kMaxSymbol = 1ll << 31;
constexpr int64_t kAddressEnd = static_cast<int64_t>(kSegments) << kSegmentBits;

class TensorReader {
 public:
  explicit TensorReader(SuperDsc& dsc) : dsc_(dsc) {}

  std::vector<int64_t> Read(const JsonReader& body) {
    std::vector<int64_t> indices;
    shuffles_ = body.At("computeOp_").Size() == 1 &&
                body.At("computeOp_").At(size_t{0}).At("opFuncName").String() == "shuffle";
    if (body.At("N_").Has("paddingSizes_")) windows_ = body.At("N_").At("paddingSizes_");
    const JsonReader labels = body.At("labeledDs_");
    if (labels.Size() < 1 || labels.Size() > kMaxTensors) {
      labels.Fail(fmt::format("1 to {} tensors are expected", kMaxTensors));
    }
    for (size_t i = 0; i < labels.Size(); ++i) {
      const JsonReader label = labels.At(i);
      const int64_t index = label.At("ldsIdx_").Integer(0, std::numeric_limits<int>::max());
      if (std::count(indices.begin(), indices.end(), index) > 0) {
        label.At("ldsIdx_").Fail("another number than the other tensors' is expected");
      }
      indices.push_back(index);
      dsc_.tensors.push_back(Tensor(label, Node(body, index), body.At("primaryDsInfo_")));
    }
    return indices;
  }

 private:
  // The one allocate node of a tensor.
  static JsonReader Node(const JsonReader& body, int64_t index) {
    const JsonReader tree = body.At("scheduleTree_");
    std::vector<JsonReader> found;
    for (size_t i = 0; i < tree.Size(); ++i) {
      const JsonReader node = tree.At(i);
      if (node.At("nodeType_").String() != "allocate") {
        node.At("nodeType_").Fail("'allocate' is expected");
      }
      if (node.At("ldsIdx_").Integer(INT64_MIN, INT64_MAX) == index) found.push_back(node);
    }
    if (found.size() != 1) {
      tree.Fail(
          fmt::format("one node with ldsIdx_ {} is expected, there are {}", index, found.size()));
    }
    return found.front();
  }

  SdscTensor Tensor(const JsonReader& label, const JsonReader& node, const JsonReader& infos) {
    SdscTensor tensor;
    tensor.name = label.At("dsName_").String();
    tensor.type = label.At("dsType_").String();
    tensor.format = FormatOf(label.At("dataFormat_"));
    const JsonReader info = infos.At(tensor.type.c_str());
    tensor.stick_dims = DimsOf(dsc_, info.At("stickDimOrder_"));
    tensor.stick_sizes = info.At("stickSize_").Integers(1, kStickBytes * 8);
    if (tensor.stick_dims.empty() || tensor.stick_sizes.size() != tensor.stick_dims.size()) {
      info.At("stickSize_").Fail("one size for each stick dimension is expected");
    }
    if (tensor.stick_dims.size() > 2)
      info.At("stickDimOrder_").Fail("1 or 2 dimensions are expected");
    tensor.word_bytes = static_cast<int>(label.At("wordLength").Integer(1, 8));
    const std::string component = node.At("component_").String();
    if (component != "hbm" && component != "lx") {
      node.At("component_").Fail("'hbm' or 'lx' is expected");
    }
    tensor.in_lx = component == "lx";
    tensor.dim_order = DimsOf(dsc_, node.At("layoutDimOrder_"));
    Scale(label.At("scale_"), info.At("layoutDimOrder_"), tensor);
    Indirection(node, tensor);
    Gaps(node, tensor);
    Windows(node, tensor);
    Slices(node, tensor);
    CheckSize(node, tensor);
    Start(node, tensor);
    return tensor;
  }

  // The dimensions of a value tensor whose size is said to be 1 lie where an index tensor says.
  static void Indirection(const JsonReader& node, SdscTensor& tensor) {
    if (!node.Has("indirectAllocType_")) return;
    const JsonReader kind = node.At("indirectAllocType_");
    const std::string text = kind.String();
    if (text == "no_indirection" || text == "index_tensor") return;
    if (text != "value_tensor")
      kind.Fail("'no_indirection', 'index_tensor' or 'value_tensor' is expected");
    const std::vector<int64_t> sizes = node.At("maxDimSizes_").Integers(-1, kMaxSize);
    if (sizes.size() != tensor.dim_order.size() || tensor.in_lx)
      kind.Fail("a size for each dimension, and a tensor in device memory, are expected");
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1) tensor.scale[i] = 0;
    }
  }

  // "padding_" has the dimensions of the tensor that are read in windows; what windows these are is
  // said once for the operation.
  void Windows(const JsonReader& node, SdscTensor& tensor) const {
    constexpr int64_t kMaxStep = 1
                                 << 16;  // products with sizes and bytes of tensors stay in 64 bits
    for (const auto& [name, kind] : Members(node, "padding_")) {
      if (!windows_ || !windows_->Has(name.c_str()))
        kind.Fail(fmt::format("paddingSizes_ of N_ with '{}' is expected", name));
      const JsonReader sizes = windows_->At(name.c_str());
      // Dimensions of one element may be left out of N_; there is nothing to step over.
      if (dsc_.FindDim(name) < 0 && sizes.At("totalSize_").Integer(1, kMaxSize) == 1) continue;
      SdscWindow window;
      window.dim = DimOf(dsc_, name, kind);
      const JsonReader window_dim = sizes.At("windowDim_");
      window.window_dim = DimOf(dsc_, window_dim.String(), window_dim);
      for (const char* end : {"padFront_", "padBack_"}) {
        if (sizes.At(end).Integer(0, kMaxSize) != 0)
          sizes.At(end).Fail("0 is expected; add the padding by an operation before this one");
      }
      window.stride = sizes.At("stride_").Integer(1, kMaxStep);
      if (sizes.Has("dilation_")) window.dilation = sizes.At("dilation_").Integer(1, kMaxStep);
      window.extent = sizes.At("totalSize_").Integer(1, kMaxSize);
      const SdscDim& dim = dsc_.dims[static_cast<size_t>(window.dim)];
      const SdscDim& within = dsc_.dims[static_cast<size_t>(window.window_dim)];
      const int64_t reach =
          (dim.size - 1) * window.stride + (within.size - 1) * window.dilation + 1;
      if (window.extent < reach) {
        sizes.At("totalSize_")
            .Fail(fmt::format("at least {} elements are expected, which {} windows of {} reach",
                              reach, dim.size, within.size));
      }
      if (within.slices > 1) {
        window_dim.Fail(
            fmt::format("a dimension that is not divided over cores is expected; "
                        "'{}' has {} slices",
                        within.name, within.slices));
      }
      CheckWindow(kind, tensor, window);
      tensor.windows.push_back(window);
    }
  }

  void CheckWindow(const JsonReader& kind, const SdscTensor& tensor,
                   const SdscWindow& window) const {
    const auto has = [](const std::vector<int>& dims, int dim) {
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    };
    const bool whole = Walks(tensor, window.dim) && !has(tensor.stick_dims, window.dim) &&
                       !has(tensor.dim_order, window.window_dim) &&
                       !Walks(tensor, window.window_dim) && window.dim != window.window_dim;
    if (whole) return;
    kind.Fail(
        "a dimension of the tensor, outside its sticks, and a window dimension that the tensor "
        "does not have, are expected");
  }

  // A shuffle takes a tensor from other slices than its own; for other operations they are the
  // same.
  void Slices(const JsonReader& node, SdscTensor& tensor) const {
    if (!node.Has("coordinates_")) return;
    const JsonReader coordinates = node.At("coordinates_");
    std::vector<std::vector<int>> slice = dsc_.slice;
    std::vector<int> slices;
    for (const SdscDim& dim : dsc_.dims) slices.push_back(dim.slices);
    bool other = false;
    for (const auto& [core_key, map] : Members(coordinates, "coreIdToWkSlice_")) {
      const std::string& core = core_key;
      const auto it = FindIf(dsc_.cores, [&](int id) { return std::to_string(id) == core; });
      if (it == dsc_.cores.end()) continue;
      const auto position = static_cast<size_t>(it - dsc_.cores.begin());
      for (const auto& [name, at] : Members(map)) {
        const auto dim = static_cast<size_t>(DimOf(dsc_, name, at));
        const auto own = static_cast<int>(at.Integer(0, kMaxCores - 1));
        if (own == dsc_.slice[position][dim]) continue;
        if (!shuffles_) at.Fail("the operation's own slice is expected; only 'shuffle' has others");
        if (!tensor.in_lx) at.Fail("the operation's own slice is expected of a tensor outside LX");
        slice[position][dim] = own;
        other = true;
      }
    }
    if (!other) return;
    for (size_t dim = 0; dim < slices.size(); ++dim) {
      const std::string& name = dsc_.dims[dim].name;
      if (!coordinates.Has("coordInfo") || !coordinates.At("coordInfo").Has(name.c_str())) continue;
      slices[dim] = CoreFold(coordinates.At("coordInfo").At(name.c_str()));
      const bool inside =
          AllFit(slice, [&](const auto& of_core) { return of_core[dim] < slices[dim]; });
      if (!inside || dsc_.dims[dim].size % slices[dim] != 0) {
        coordinates.Fail(
            fmt::format("slices below {}, and a multiple of it instead of {} elements "
                        "of dimension '{}', are expected",
                        slices[dim], dsc_.dims[dim].size, name));
      }
    }
    tensor.slices = std::move(slices);
    tensor.slice = std::move(slice);
  }

  // Over how many cores a dimension of the tensor is divided.
  static int CoreFold(const JsonReader& info) {
    const JsonReader folds = info.At("folds").At("dim_prop_attr");
    for (size_t i = 0; i < folds.Size(); ++i) {
      if (folds.At(i).At("label_").String() == "core_fold")
        return static_cast<int>(folds.At(i).At("factor_").Integer(1, kMaxCores));
    }
    folds.Fail("a fold 'core_fold' is expected");
  }

  // scale_ is in the order of the label's layout, which need not be the tensor's.
  void Scale(const JsonReader& scale, const JsonReader& order, SdscTensor& tensor) const {
    const std::vector<int> dims = DimsOf(dsc_, order);
    if (scale.Size() != dims.size()) {
      scale.Fail(fmt::format("{} entries, as layoutDimOrder_, are expected", dims.size()));
    }
    tensor.scale.assign(tensor.dim_order.size(), -1);
    for (size_t i = 0; i < dims.size(); ++i) {
      const JsonReader entry = scale.At(i);
      const double value = entry.value().is_number() ? entry.value().get<double>() : 0;
      if (value != 1 && value != -1 && value != -2) entry.Fail("1, -1 or -2 is expected");
      const auto it = std::find(tensor.dim_order.begin(), tensor.dim_order.end(), dims[i]);
      if (it != tensor.dim_order.end()) {
        tensor.scale[static_cast<size_t>(it - tensor.dim_order.begin())] = static_cast<int>(value);
      } else if (value > 0) {
        entry.Fail(
            fmt::format("dimension '{}' is not in the tensor's layoutDimOrder_; -1 is "
                        "expected",
                        dsc_.dims[static_cast<size_t>(dims[i])].name));
      }
    }
  }

  // {"out": {"-1": "64"}}, or one entry for each core; all must agree.
  void Gaps(const JsonReader& node, SdscTensor& tensor) const {
    for (const auto& [name, gaps] : Members(node, "backGapCore_")) {
      const int dim = DimOf(dsc_, name, gaps);
      for (const auto& [core, gap] : Members(gaps)) {
        const int64_t elements = Number(gap, 0, kMaxSize);
        if (!tensor.back_gap.emplace(dim, elements).second && tensor.back_gap[dim] != elements) {
          gap.Fail("the same gap on every core is expected");
        }
      }
    }
  }

  void CheckSize(const JsonReader& node, const SdscTensor& tensor) const {
    int64_t bytes = kStickBytes;
    for (size_t i = 0; i < tensor.dim_order.size(); ++i) {
      const int d = tensor.dim_order[i];
      const auto gap = tensor.back_gap.find(d);
      const int64_t size =
          ExtentOf(dsc_, tensor, d) + (gap == tensor.back_gap.end() ? 0 : gap->second);
      if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > kMaxTensorBytes) {
        node.Fail("a tensor of less than 2^46 bytes is expected");
      }
    }
  }

  void Start(const JsonReader& node, SdscTensor& tensor) const {
    if (node.Has("isStartAddrSymbolic_")) {
      const JsonReader symbolic = node.At("isStartAddrSymbolic_");
      tensor.symbolic = symbolic.value().is_boolean() ? symbolic.value().get<bool>()
                                                      : symbolic.Integer(0, 1) != 0;
      if (tensor.symbolic && tensor.in_lx) symbolic.Fail("0 is expected for a tensor in LX");
    }
    const JsonReader folds = node.At("startAddressCoreCorelet_");
    const JsonReader data = folds.At("data_");
    const bool same_for_all = folds.Has("dim_prop_func") && folds.At("dim_prop_func").Size() > 0 &&
                              folds.At("dim_prop_func").At(size_t{0}).Has("Const");
    const int64_t end = tensor.in_lx ? static_cast<int64_t>(kLxBytes) : kAddressEnd;
    const int64_t low = tensor.symbolic ? -kMaxSymbol : 0;
    const int64_t high = tensor.symbolic ? -1 : end - 1;
    for (const int core : dsc_.cores) {
      const std::string key = fmt::format("[{}, 0, 0]", same_for_all ? 0 : core);
      tensor.start.push_back(Number(data.At(key.c_str()), low, high));
    }
  }

  SuperDsc& dsc_;
  bool shuffles_ = false;              // the operation
  std::optional<JsonReader> windows_;  // of the operation, by dimension
};

}  // namespace

// An integer, or a string that holds one in decimal.
int64_t Number(const JsonReader& at, int64_t low, int64_t high) {
  if (!at.value().is_string()) return at.Integer(low, high);
  const auto& text = at.value().get_ref<const std::string&>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < low || number > high) {
    at.Fail(fmt::format("an integer from {} to {} is expected", low, high));
  }
  return number;
}

// Members of an object; an absent key has none.
std::vector<std::pair<std::string, JsonReader>> Members(const JsonReader& at) {
  if (!at.value().is_object()) at.Fail("an object is expected");
  std::vector<std::pair<std::string, JsonReader>> members;
  for (const auto& [key, value] : at.value().items()) members.emplace_back(key, at.At(key.c_str()));
  return members;
}
std::vector<std::pair<std::string, JsonReader>> Members(const JsonReader& at, const char* key) {
  if (!at.Has(key)) return {};
  return Members(at.At(key));
}
JsonReader OnlyMember(const JsonReader& at, const char* what) {
  const auto members = Members(at);
  if (members.size() != 1) at.Fail(fmt::format("an object with one key, {}, is expected", what));
  return members.front().second;
}

DataFormat FormatOf(const JsonReader& at) {
  const std::string name = at.String();
  try {
    return FormatFromName(name);
  } catch (const Error& error) {
    at.Fail(error.what());
  }
}

int DimOf(const SuperDsc& dsc, const std::string& name, const JsonReader& at) {
  const int dim = dsc.FindDim(name);
  if (dim >= 0) return dim;
  std::string known;
  for (const SdscDim& d : dsc.dims) known += known.empty() ? d.name : ", " + d.name;
  at.Fail(fmt::format("dimension '{}' is not in N_ ({})", name, known));
}
std::vector<int> DimsOf(const SuperDsc& dsc, const JsonReader& at) {
  std::vector<int> dims;
  for (size_t i = 0; i < at.Size(); ++i) {
    const int dim = DimOf(dsc, at.At(i).String(), at.At(i));
    if (std::find(dims.begin(), dims.end(), dim) != dims.end()) {
      at.Fail("each dimension once is expected");
    }
    dims.push_back(dim);
  }
  return dims;
}

std::vector<int64_t> ReadTensors(const JsonReader& body, SuperDsc& dsc) {
  return TensorReader(dsc).Read(body);
}

}  // namespace spyre::compiler
