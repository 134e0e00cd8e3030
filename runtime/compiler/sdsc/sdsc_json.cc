// SPDX-License-Identifier: Apache-2.0
// Writes a SuperDSC as the public emitter does. Of the keys, these have no counterpart in SuperDsc
// and are constant: folds over time and corelets (there is one of each), schedules, rows.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.h"
#include "base/ranges.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;
constexpr int kSpatialFolds = 3;  // core, corelet, row

Json Affine(int64_t alpha) { return {{"Affine", {{"alpha_", alpha}, {"beta_", 0}}}}; }
Json Fold(int64_t factor, std::string_view label) {
  return {{"factor_", factor}, {"label_", label}};
}

class SdscWriter {
 public:
  SdscWriter(const SuperDsc& dsc, BundleDialect dialect)
      : dsc_(dsc),
        newest_(dialect == BundleDialect::kSymbolicArguments),
        indirection_(dialect != BundleDialect::kSymbolicConstants) {}

  Json Top() const {
    Json top = Json::object();
    if (newest_) top["debug_handle_"] = nullptr;
    top["sdscFoldProps_"] = Json::array({Fold(1, "time")});
    top["sdscFolds_"] = {{"dim_prop_func", Json::array({Affine(1)})},
                         {"dim_prop_attr", Json::array({Fold(1, "time")})},
                         {"data_", {{"[0]", "0"}}}};
    top["coreFoldProp_"] = Fold(Cores(), "core");
    top["coreletFoldProp_"] = Fold(1, "corelet");
    top["numCoresUsed_"] = Cores();
    Json dsc_of_core = Json::object();
    Json slices = Json::object();
    for (const SdscDim& dim : dsc_.dims) slices[dim.name] = dim.slices;
    Json slice_of_core = Json::object();
    Json schedules = Json::object();
    for (size_t c = 0; c < dsc_.cores.size(); ++c) {
      const std::string core = std::to_string(dsc_.cores[c]);
      dsc_of_core[core] = 0;
      Json slice = Json::object();
      for (size_t d = 0; d < dsc_.dims.size(); ++d) slice[dsc_.dims[d].name] = dsc_.slice[c][d];
      slice_of_core[core] = std::move(slice);
      schedules[core] = Json::array({Json::array({-1, 0, 0, 0})});
    }
    top["coreIdToDsc_"] = std::move(dsc_of_core);
    top["numWkSlicesPerDim_"] = std::move(slices);
    top["coreIdToWkSlice_"] = std::move(slice_of_core);
    top["coreIdToDscSchedule"] = std::move(schedules);
    top["dscs_"] = Json::array({{{dsc_.op, Operation()}}});
    return top;
  }

 private:
  int64_t Cores() const { return static_cast<int64_t>(dsc_.cores.size()); }
  const SdscDim& Dim(int dim) const { return dsc_.dims[static_cast<size_t>(dim)]; }

  Json Names(const std::vector<int>& dims) const {
    Json names = Json::array();
    for (int dim : dims) names.push_back(Dim(dim).name);
    return names;
  }

  Json Operation() const {
    Json op = Json::object();
    op["numCoresUsed_"] = Cores();
    op["numCoreletsUsed_"] = 1;
    op["coreIdsUsed_"] = dsc_.cores;
    Json sizes = {{"name_", "n"}};
    for (const SdscDim& dim : dsc_.dims) sizes[dim.name + "_"] = dim.size;
    const Json windows = Windows();
    if (!windows.empty()) sizes["paddingSizes_"] = windows;
    op["N_"] = std::move(sizes);
    Json masks = Json::object();
    for (const SdscMask& mask : dsc_.masks) {
      masks[Dim(mask.dim).name].push_back(Json::array({mask.start, mask.count}));
    }
    op["coordinateMasking_"] = std::move(masks);
    op["maskingConstId_"] = dsc_.masks.empty() ? -1 : 0;
    op["dataStageParam_"] = {{"0", {{"ss_", PerCoreSizes()}, {"el_", PerCoreSizes()}}}};
    op["primaryDsInfo_"] = Layouts();
    Json tree = Json::array();
    Json labeled = Json::array();
    for (size_t i = 0; i < dsc_.tensors.size(); ++i) {
      tree.push_back(Allocation(i));
      labeled.push_back(LabeledTensor(i));
    }
    op["scheduleTree_"] = std::move(tree);
    op["labeledDs_"] = std::move(labeled);
    op["constantInfo_"] = Constants();
    op["computeOp_"] = Json::array({ComputeOp()});
    return op;
  }

  // Of all tensors: which of them has a window is said where it is allocated.
  Json Windows() const {
    Json windows = Json::object();
    for (const SdscTensor& tensor : dsc_.tensors) {
      for (const SdscWindow& window : tensor.windows) {
        windows[Dim(window.dim).name] = {{"padFront_", 0},
                                         {"padBack_", 0},
                                         {"totalSize_", window.extent},
                                         {"stride_", window.stride},
                                         {"dilation_", window.dilation},
                                         {"windowDim_", Dim(window.window_dim).name}};
      }
    }
    return windows;
  }

  Json PerCoreSizes() const {
    Json sizes = {{"name_", "core"}};
    for (const SdscDim& dim : dsc_.dims) sizes[dim.name + "_"] = dim.per_core;
    if (newest_) {
      for (const char* key : {"symbolicDimInfo_", "maxSymbolicVolume_", "coreletSplit_",
                              "rowSplit_", "peSfpSplit_", "paddingSizes_"}) {
        sizes[key] = Json::object();
      }
    }
    return sizes;
  }

  // The tensor whose dimensions a label lists: the first that has it.
  const SdscTensor& FirstOf(const std::string& label) const {
    return *FindIf(dsc_.tensors, [&](const SdscTensor& tensor) { return tensor.type == label; });
  }

  Json Layouts() const {
    Json layouts = Json::object();
    for (const SdscTensor& tensor : dsc_.tensors) {
      if (layouts.contains(tensor.type)) continue;
      layouts[tensor.type] = {{"layoutDimOrder_", Names(tensor.dim_order)},
                              {"stickDimOrder_", Names(tensor.stick_dims)},
                              {"stickSize_", tensor.stick_sizes}};
    }
    return layouts;
  }

  static int ScaleOf(const SdscTensor& tensor, int dim) {
    const auto place = std::find(tensor.dim_order.begin(), tensor.dim_order.end(), dim);
    return tensor.scale[static_cast<size_t>(place - tensor.dim_order.begin())];
  }

  Json Allocation(size_t index) const {
    const SdscTensor& tensor = dsc_.tensors[index];
    const char* component = tensor.in_lx ? "lx" : "hbm";
    Json node = {{"nodeType_", "allocate"},
                 {"name_", fmt::format("allocate-{}_{}", tensor.name, component)},
                 {"prev_", ""},
                 {"ldsIdx_", index},
                 {"component_", component}};
    if (tensor.symbolic) node["isStartAddrSymbolic_"] = 1;
    node["layoutDimOrder_"] = Names(tensor.dim_order);
    std::vector<int> sizes(tensor.dim_order.size(), -1);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (tensor.scale[i] == 0) sizes[i] = 1;
    node["maxDimSizes_"] = std::move(sizes);
    Indirection(index, node);
    for (const SdscWindow& window : tensor.windows)
      node["padding_"][Dim(window.dim).name] = "padded_fullspan_wunneeded";
    Json starts = Json::object();
    for (size_t c = 0; c < dsc_.cores.size(); ++c) {
      starts[fmt::format("[{}, 0, 0]", dsc_.cores[c])] = std::to_string(tensor.start[c]);
    }
    node["startAddressCoreCorelet_"] = {
        {"dim_prop_func", PropertyFunctions({"Map", "Const", "Const"})},
        {"dim_prop_attr",
         Json::array({Fold(Cores(), "core"), Fold(1, "corelet"), Fold(1, "time")})},
        {"data_", starts}};
    if (!tensor.back_gap.empty()) node["backGapCore_"] = BackGaps(tensor);
    Json coordinates = Json::object();
    for (int dim : FirstOf(tensor.type).dim_order) {
      coordinates[Dim(dim).name] = CoordinateInfo(tensor, dim);
    }
    node["coordinates_"] = {{"coordInfo", coordinates}, {"coreIdToWkSlice_", Json::object()}};
    return node;
  }

  // An index tensor and the tensor that it chooses from name each other.
  void Indirection(size_t index, Json& node) const {
    const bool is_index = static_cast<int>(index) == dsc_.index;
    if (!is_index && !IsIndexed(dsc_.tensors[index])) {
      if (indirection_) node["indirectAllocType_"] = "no_indirection";
      return;
    }
    const auto indexed = FindIf(dsc_.tensors, IsIndexed);
    const SdscTensor& related = is_index ? *indexed : dsc_.tensors[static_cast<size_t>(dsc_.index)];
    node["indirectAllocType_"] = is_index ? "index_tensor" : "value_tensor";
    node["relatedIndirectAccessAlloc_"] = fmt::format("allocate-{}_hbm", related.name);
    if (is_index) node["indexTensorType_"] = "index";
  }

  static Json PropertyFunctions(std::initializer_list<const char*> names) {
    Json functions = Json::array();
    for (const char* name : names) functions.push_back({{name, Json::object()}});
    return functions;
  }

  // Device memory: one entry, -1, for all cores.
  Json BackGaps(const SdscTensor& tensor) const {
    Json gaps = Json::object();
    for (const auto& [dim, gap] : tensor.back_gap) {
      Json of_dim = Json::object();
      if (!tensor.in_lx) of_dim["-1"] = std::to_string(gap);
      for (int core : tensor.in_lx ? dsc_.cores : std::vector<int>()) {
        of_dim[std::to_string(core)] = std::to_string(gap);
      }
      gaps[Dim(dim).name] = std::move(of_dim);
    }
    return gaps;
  }

  Json CoordinateInfo(const SdscTensor& tensor, int dim) const {
    // What an index tensor chooses is walked as other dimensions are.
    const int scale = ScaleOf(tensor, dim) == 0 ? 1 : ScaleOf(tensor, dim);
    const int64_t size = scale == 1 ? Dim(dim).per_core : 1;
    const auto& sticks = tensor.stick_dims;
    const bool is_stick = std::find(sticks.begin(), sticks.end(), dim) != sticks.end();
    Json functions = Json::array();
    Json folds = Json::array({Fold(scale == 1 ? Dim(dim).slices : 1, "core_fold"),
                              Fold(1, "corelet_fold"), Fold(1, "row_fold")});
    if (is_stick) {
      const int64_t elements = ElementsPerStick(tensor.format);
      const bool reduced = scale == -2;
      functions = Json::array({Affine(reduced ? elements : size), Affine(0), Affine(0),
                               Affine(elements), Affine(reduced ? 0 : 1)});
      folds.push_back(Fold(reduced ? 1 : size / elements, "elem_arr_1"));
      folds.push_back(Fold(elements, "elem_arr_0"));
    } else {
      functions = Json::array({Affine(size), Affine(0), Affine(0), Affine(1)});
      folds.push_back(Fold(size, "elem_arr_0"));
    }
    return {{"spatial", kSpatialFolds},
            {"temporal", 0},
            {"elemArr", is_stick ? 2 : 1},
            {"padding", "nopad"},
            {"folds", {{"dim_prop_func", functions}, {"dim_prop_attr", folds}}}};
  }

  Json LabeledTensor(size_t index) const {
    const SdscTensor& tensor = dsc_.tensors[index];
    Json scale = Json::array();
    for (int dim : FirstOf(tensor.type).dim_order) {
      const int own = ScaleOf(tensor, dim);
      scale.push_back(own == 0 ? 1 : own);
    }
    Json memory = Json::object();
    if (!tensor.in_lx) memory["hbm"] = {{"isPresent", 1}};
    memory["lx"] = {{"isPresent", 1}};
    return {{"ldsIdx_", index},
            {"dsName_", tensor.name},
            {"dsType_", tensor.type},
            {"scale_", scale},
            {"wordLength", tensor.word_bytes},
            {"dataFormat_", FormatName(tensor.format)},
            {"memOrg_", memory}};
  }

  Json Constants() const {
    if (dsc_.constants.empty()) return "{}";  // a string, as the public emitter has it
    Json constants = Json::object();
    for (const SdscConstant& constant : dsc_.constants) {
      constants[std::to_string(constants.size())] = {
          {"dataFormat_", FormatName(constant.format)},
          {"name_", constant.name},
          {"data_",
           {{"dim_prop_func", PropertyFunctions({"Const", "Const", "Map"})},
            {"dim_prop_attr",
             Json::array({Fold(Cores(), "core"), Fold(1, "corelet"), Fold(1, "time")})},
            {"data_", {{"[0, 0, 0]", Json::array({constant.bits})}}}}}};
    }
    return constants;
  }

  Json References(const std::vector<int>& tensors) const {
    Json references = Json::array();
    for (int tensor : tensors) {
      references.push_back(
          fmt::format("{}-idx{}", dsc_.tensors[static_cast<size_t>(tensor)].name, tensor));
    }
    return references;
  }

  // Reductions on the vector unit accumulate in their output: it is listed among the inputs too.
  bool AccumulatesInOutput() const {
    if (dsc_.unit != "sfp" || dsc_.outputs.empty()) return false;
    const std::string_view suffix = "nonstick";
    const std::string& op = dsc_.op;
    if (op.size() > suffix.size() &&
        op.compare(op.size() - suffix.size(), suffix.size(), suffix) == 0) {
      return true;
    }
    const std::vector<int>& scale = dsc_.tensors[static_cast<size_t>(dsc_.outputs.front())].scale;
    return AnyFits(scale, [](int s) { return s < 0; });
  }

  Json ComputeOp() const {
    std::vector<int> inputs = dsc_.inputs;
    if (AccumulatesInOutput()) inputs.push_back(dsc_.outputs.front());
    Json op = {
        {"exUnit", dsc_.unit},
        {"opFuncName", dsc_.op},
        {"attributes_", {{"dataFormat_", FormatName(dsc_.format)}, {"fidelity_", "regular"}}},
        {"location", "Inner"},
        {"inputLabeledDs", References(inputs)},
        {"outputLabeledDs", References(dsc_.outputs)}};
    if (dsc_.index >= 0) op["indirectAccessIndexLabeledDs"] = References({dsc_.index});
    return op;
  }

  const SuperDsc& dsc_;
  bool newest_;
  bool indirection_;  // nodes say that they are not accessed indirectly
};

}  // namespace

std::string ToSdscJson(const SuperDsc& dsc, BundleDialect dialect) {
  const Json json = {{dsc.name, SdscWriter(dsc, dialect).Top()}};
  return DumpJson(json, kIndent);
}

}  // namespace spyre::compiler
