// SPDX-License-Identifier: Apache-2.0
// SuperDSC JSON, of any era: keys that code generation has no use for are left alone.
#include "runtime/compiler/sdsc/super_dsc_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"

namespace spyre::compiler {
namespace {

constexpr size_t kMaxNames = 16;

class Reader {
 public:
  Reader(const std::string& text, const std::string& file)
      : document_(ParseJson(text, file)), text_(text), file_(file) {}

  SuperDsc Read() {
    const JsonReader root(document_, file_);
    const JsonReader top = OnlyMember(root, "the name of the operation");
    dsc_.name = document_.begin().key();
    const JsonReader dscs = top.At("dscs_");
    if (dscs.Size() != 1) dscs.Fail("one element is expected (work divided evenly)");
    const JsonReader body = OnlyMember(dscs.At(size_t{0}), "the operation function");
    Cores(top, body);
    Dims(top, body);
    Slices(top);
    lds_ = ReadTensors(body, dsc_);
    Compute(body);
    Masks(body);
    Constants(body);
    return std::move(dsc_);
  }

 private:
  void Cores(const JsonReader& top, const JsonReader& body) {
    const JsonReader ids = body.At("coreIdsUsed_");
    for (const int64_t id : ids.Integers(0, kMaxCores - 1)) {
      dsc_.cores.push_back(static_cast<int>(id));
    }
    std::sort(dsc_.cores.begin(), dsc_.cores.end());
    const bool twice = std::adjacent_find(dsc_.cores.begin(), dsc_.cores.end()) != dsc_.cores.end();
    if (dsc_.cores.empty() || twice) ids.Fail("core numbers are expected, each once");
    const auto count = static_cast<int64_t>(dsc_.cores.size());
    for (const JsonReader& level : {top, body}) {
      if (level.Has("numCoresUsed_")) level.At("numCoresUsed_").Integer(count, count);
    }
    for (const auto& [core, index] : Members(top, "coreIdToDsc_")) index.Integer(0, 0);
  }

  void Dims(const JsonReader& top, const JsonReader& body) {
    const JsonReader sizes = body.At("N_");
    const JsonReader stage = body.At("dataStageParam_").At("0").At("ss_");
    for (const std::string& key : SizeKeys(sizes)) {
      SdscDim dim;
      dim.name = key.substr(0, key.size() - 1);
      dim.size = sizes.At(key.c_str()).Integer(1, kMaxSize);
      if (top.Has("numWkSlicesPerDim_") && top.At("numWkSlicesPerDim_").Has(dim.name.c_str())) {
        dim.slices = static_cast<int>(
            top.At("numWkSlicesPerDim_").At(dim.name.c_str()).Integer(1, kMaxCores));
      }
      if (dim.size % dim.slices != 0) {
        sizes.At(key.c_str()).Fail(fmt::format("a multiple of {} slices is expected", dim.slices));
      }
      dim.per_core = dim.size / dim.slices;
      stage.At(key.c_str()).Integer(dim.per_core, dim.per_core);
      dsc_.dims.push_back(std::move(dim));
    }
    if (dsc_.dims.empty() || dsc_.dims.size() > kMaxNames) {
      sizes.Fail(fmt::format("sizes of 1 to {} dimensions are expected", kMaxNames));
    }
    for (const auto& [name, slices] : Members(top, "numWkSlicesPerDim_")) DimOf(dsc_, name, slices);
    const bool symbolic = !Members(body, "dimToSymbolMapping_").empty() ||
                          !Members(stage, "symbolicDimInfo_").empty();
    if (symbolic) {
      stage.Fail("numbers for the sizes are expected; symbolic dimensions are not supported");
    }
  }

  // Keys of N_ with a number behind them, in the order of the file: it is the order of the loops.
  std::vector<std::string> SizeKeys(const JsonReader& sizes) const {
    if (!sizes.value().is_object()) sizes.Fail("an object is expected");
    const auto ordered = JsonOf(text_);
    const auto& body = *ordered.front().at("dscs_").front().begin();
    std::vector<std::string> keys;
    for (const auto& [key, value] : body.at("N_").items()) {
      if (key.size() > 1 && key.back() == '_' && value.is_number()) keys.push_back(key);
    }
    return keys;
  }

  void Slices(const JsonReader& top) {
    for (const int core : dsc_.cores) {
      dsc_.slice.emplace_back(dsc_.dims.size(), 0);
      const std::string key = std::to_string(core);
      const JsonReader map = top.At("coreIdToWkSlice_").At(key.c_str());
      for (size_t d = 0; d < dsc_.dims.size(); ++d) {
        const SdscDim& dim = dsc_.dims[d];
        if (dim.slices == 1 && !map.Has(dim.name.c_str())) continue;
        dsc_.slice.back()[d] =
            static_cast<int>(map.At(dim.name.c_str()).Integer(0, dim.slices - 1));
      }
    }
  }

  void Compute(const JsonReader& body) {
    const JsonReader ops = body.At("computeOp_");
    if (ops.Size() != 1) ops.Fail("one operation is expected");
    const JsonReader op = ops.At(size_t{0});
    dsc_.op = op.At("opFuncName").String();
    dsc_.unit = op.At("exUnit").String();
    if (dsc_.unit != "pt" && dsc_.unit != "sfp") op.At("exUnit").Fail("'pt' or 'sfp' is expected");
    dsc_.format = FormatOf(op.At("attributes_").At("dataFormat_"));
    if (op.Has("indirectAccessIndexLabeledDs")) {
      const JsonReader list = op.At("indirectAccessIndexLabeledDs");
      const std::vector<int> indices = References(list);
      if (indices.size() > 1) list.Fail("one index tensor is expected");
      if (!indices.empty()) dsc_.index = indices.front();
    }
    dsc_.outputs = References(op.At("outputLabeledDs"));
    if (dsc_.outputs.empty()) op.At("outputLabeledDs").Fail("a tensor is expected");
    const bool indexed = AnyFits(dsc_.tensors, IsIndexed);
    if (indexed != (dsc_.index >= 0))
      op.Fail("a value tensor together with an index tensor, or neither, is expected");
    for (const int tensor : References(op.At("inputLabeledDs"))) {
      const bool output =
          std::find(dsc_.outputs.begin(), dsc_.outputs.end(), tensor) != dsc_.outputs.end();
      if (!output) dsc_.inputs.push_back(tensor);
    }
  }

  // ["Tensor0-idx0", ...]
  std::vector<int> References(const JsonReader& list) const {
    std::vector<int> tensors;
    for (size_t i = 0; i < list.Size(); ++i) {
      const JsonReader at = list.At(i);
      const std::string text = at.String();
      const size_t dash = text.rfind("-idx");
      int64_t index = -1;
      const char* end = text.data() + text.size();
      if (dash == std::string::npos ||
          std::from_chars(text.data() + dash + 4, end, index).ptr != end) {
        at.Fail("'TensorK-idxK' is expected");
      }
      const auto it = std::find(lds_.begin(), lds_.end(), index);
      if (it == lds_.end()) at.Fail("a tensor of labeledDs_ is expected");
      tensors.push_back(static_cast<int>(it - lds_.begin()));
    }
    return tensors;
  }

  // {"out": [[100, 28]]}
  void Masks(const JsonReader& body) {
    for (const auto& [name, ranges] : Members(body, "coordinateMasking_")) {
      const int dim = DimOf(dsc_, name, ranges);
      const int64_t size = dsc_.dims[static_cast<size_t>(dim)].size;
      for (size_t i = 0; i < ranges.Size(); ++i) {
        const std::vector<int64_t> range = ranges.At(i).Integers(0, kMaxSize);
        if (range.size() != 2 || range[0] + range[1] > size) {
          ranges.At(i).Fail(fmt::format("[start, count] within {} elements is expected", size));
        }
        if (range[1] > 0) dsc_.masks.push_back({dim, range[0], range[1]});
      }
    }
  }

  // The string "{}" where there are none; else {"0": {"name_": "eps", "data_": ...}, ...}.
  void Constants(const JsonReader& body) {
    if (!body.Has("constantInfo_")) return;
    const JsonReader info = body.At("constantInfo_");
    if (info.value().is_string()) {
      const nlohmann::json inner = ParseJson(info.String(), info.where());
      ConstantsOf(JsonReader(inner, info.where()));
    } else if (!info.value().is_null()) {
      ConstantsOf(info);
    }
  }
  void ConstantsOf(const JsonReader& info) {
    std::map<int64_t, SdscConstant> constants;
    for (const auto& [key, entry] : Members(info)) {
      int64_t index = 0;
      if (std::from_chars(key.data(), key.data() + key.size(), index).ptr !=
          key.data() + key.size()) {
        entry.Fail(fmt::format("a number instead of the key '{}' is expected", key));
      }
      SdscConstant constant;
      constant.name = entry.At("name_").String();
      constant.format = FormatOf(entry.At("dataFormat_"));
      std::set<uint32_t> values;
      for (const auto& [fold, data] : Members(entry.At("data_").At("data_"))) {
        const bool list = data.value().is_array();
        if (list && data.Size() != 1) data.Fail("one value is expected");
        values.insert(
            static_cast<uint32_t>(Number(list ? data.At(size_t{0}) : data, INT32_MIN, UINT32_MAX)));
      }
      if (values.size() != 1) entry.Fail("one value for all cores is expected");
      constant.bits = *values.begin();
      constants[index] = std::move(constant);
    }
    for (auto& [index, constant] : constants) dsc_.constants.push_back(std::move(constant));
  }

  const nlohmann::json document_;
  const std::string& text_;
  const std::string& file_;
  SuperDsc dsc_;
  std::vector<int64_t> lds_;  // ldsIdx_ of each tensor
};

}  // namespace

SuperDsc ParseSuperDsc(const std::string& text, const std::string& file) {
  return Reader(text, file).Read();
}

}  // namespace spyre::compiler
