// SPDX-License-Identifier: Apache-2.0
// The list of operations in the form of a graph: what a workload has, and in addition what the
// passes before `lower` made of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "runtime/compiler/graph_form/graph_form_values.h"

namespace spyre::compiler {
namespace {

using TensorOrigin = NamedTensor::Origin;

constexpr int64_t kMaxSize = 1ll << 31;

class ListWriter {
 public:
  explicit ListWriter(const NamedGraph& list) : list_(list) {}

  void Write(OrderedJson& json) const {
    OrderedJson dims = OrderedJson::object();
    for (const NamedDim& dim : list_.dims) dims[dim.name] = dim.size;
    json["dims"] = std::move(dims);
    json["tensors"] = OrderedJson::array();
    for (const NamedTensor& tensor : list_.tensors) json["tensors"].push_back(Tensor(tensor));
    json["ops"] = OrderedJson::array();
    for (const NamedOp& op : list_.ops) json["ops"].push_back(Op(op));
    json["hints"] = OrderedJson::array();
    for (const NamedHint& hint : list_.hints) json["hints"].push_back(Hint(hint));
    json["outputs"] = OrderedJson::array();
    for (const int output : list_.outputs) json["outputs"].push_back(TensorName(output));
  }

 private:
  const std::string& TensorName(int tensor) const {
    return list_.tensors[static_cast<size_t>(tensor)].name;
  }
  const std::string& DimName(int dim) const { return list_.dims[static_cast<size_t>(dim)].name; }

  OrderedJson DimNames(const std::vector<int>& dims) const {
    OrderedJson names = OrderedJson::array();
    for (const int dim : dims) names.push_back(DimName(dim));
    return names;
  }

  OrderedJson Tensor(const NamedTensor& tensor) const {
    OrderedJson json = {{"name", tensor.name}};
    if (tensor.origin == TensorOrigin::kConstant) json["value"] = tensor.value;
    if (!tensor.dims.empty() || tensor.origin != TensorOrigin::kConstant)
      json["dims"] = DimNames(tensor.dims);
    if (tensor.origin == TensorOrigin::kComputed) json["computed"] = true;
    if (tensor.stick >= 0) json["stick"] = DimName(tensor.stick);
    if (tensor.stick == NamedTensor::kSparse) json["sparse"] = true;
    if (tensor.format != DataFormat::kIeeeFp16) json["dtype"] = HostTypeName(tensor.format);
    if (!tensor.file.empty()) json["file"] = tensor.file;
    if (tensor.causal) json["fill"] = "causal";
    return json;
  }

  OrderedJson Op(const NamedOp& op) const {
    OrderedJson json = {{"op", op.op}, {"inputs", OrderedJson::array()}};
    for (const int input : op.inputs) json["inputs"].push_back(TensorName(input));
    json["output"] = TensorName(op.output);
    if (!op.reduced.empty()) json["dim"] = DimNames(op.reduced);
    if (op.into >= 0) json["into"] = DimName(op.into);
    if (!op.function.empty()) json["function"] = op.function;
    for (const auto& [name, value] : op.constants) json[name] = value;
    return json;
  }

  OrderedJson Hint(const NamedHint& hint) const {
    OrderedJson json = {{"ops", OrderedJson::array()}, {"slices", OrderedJson::object()}};
    for (const int op : hint.ops)
      json["ops"].push_back(TensorName(list_.ops[static_cast<size_t>(op)].output));
    for (const NamedHint::Slice& slice : hint.slices)
      json["slices"][DimName(slice.dim)] = slice.count;
    return json;
  }

  const NamedGraph& list_;
};

class ListReader {
 public:
  NamedGraph Read(const FormValue& form) {
    for (const auto& [name, size] : form.At("dims").Entries())
      list_.dims.push_back({name, size.Integer(1, kMaxSize)});
    for (const FormValue& tensor : form.At("tensors").Items())
      list_.tensors.push_back(Tensor(tensor));
    for (const FormValue& op : form.At("ops").Items()) list_.ops.push_back(Op(op));
    for (const FormValue& hint : form.At("hints").Items()) list_.hints.push_back(Hint(hint));
    for (const FormValue& output : form.At("outputs").Items())
      list_.outputs.push_back(FindTensor(output));
    return std::move(list_);
  }

 private:
  template <typename Items>
  static int Find(const FormValue& name, const Items& items, const char* what) {
    const std::string text = name.Text();
    std::vector<std::string> known;
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].name == text) return static_cast<int>(i);
      known.push_back(items[i].name);
    }
    throw BadInput("{} = '{}' is not a {}{}", name.path(), text, what, DidYouMean(text, known));
  }

  int FindTensor(const FormValue& name) const { return Find(name, list_.tensors, "tensor"); }
  int FindDim(const FormValue& name) const { return Find(name, list_.dims, "dimension"); }

  std::vector<int> Dims(const FormValue& names, bool may_repeat = false) const {
    std::vector<int> dims;
    for (const FormValue& name : names.Items()) {
      dims.push_back(FindDim(name));
      if (!may_repeat && std::count(dims.begin(), dims.end(), dims.back()) > 1)
        throw BadInput("{} = '{}': the dimension is there twice", name.path(), name.Text());
    }
    return dims;
  }

  NamedTensor Tensor(const FormValue& value) const {
    value.RequireKeys(
        {"name", "dims", "stick", "sparse", "computed", "value", "dtype", "file", "fill"});
    NamedTensor tensor;
    tensor.name = value.At("name").Text();
    if (const auto number = value.Find("value")) {
      tensor.origin = TensorOrigin::kConstant;
      tensor.value = number->Number();
    } else if (const auto computed = value.Find("computed"); computed && computed->Flag()) {
      tensor.origin = TensorOrigin::kComputed;
    }
    if (tensor.origin != TensorOrigin::kConstant || value.Has("dims"))
      tensor.dims = Dims(value.At("dims"));
    CheckSize(tensor, value);
    if (const auto stick = value.Find("stick")) tensor.stick = FindDim(*stick);
    if (const auto sparse = value.Find("sparse"); sparse && sparse->Flag())
      tensor.stick = NamedTensor::kSparse;
    if (const auto file = value.Find("file")) tensor.file = file->Text();
    if (const auto fill = value.Find("fill")) {
      if (fill->Text() != "causal" || tensor.dims.size() < 2 ||
          tensor.origin != TensorOrigin::kInput)
        fill->Fail("\"causal\", of an input with rows and keys");
      tensor.causal = true;
    }
    if (const auto type = value.Find("dtype")) {
      for (const DataFormat format :
           {DataFormat::kIeeeFp32, DataFormat::kSen143Fp8, DataFormat::kIeeeInt32})
        if (type->Text() == HostTypeName(format)) tensor.format = format;
      if (type->Text() != HostTypeName(tensor.format))
        type->Fail("float16, float32, float8_e4m3fn or int32");
    }
    return tensor;
  }

  void CheckSize(const NamedTensor& tensor, const FormValue& value) const {
    int64_t elements = 1;
    for (const int64_t size : list_.Shape(tensor)) {
      if (tensor.dims.size() > kMaxListRank || elements > kMaxListElements / size)
        throw BadInput("{}: tensor '{}' {} is larger than any card, or has more than {} dimensions",
                       value.path(), tensor.name, list_.ShapeText(tensor), kMaxListRank);
      elements *= size;
    }
  }

  NamedOp Op(const FormValue& value) const {
    const FormValue name = value.At("op");
    const OpEntry* const operation = FindNamedOperation(name.Text());
    if (operation == nullptr) {
      std::vector<std::string> known;
      for (const OpEntry& other : OpEntries())
        if (other.listed) known.emplace_back(other.name);
      throw BadInput("{} = '{}' is not an operation{}", name.path(), name.Text(),
                     DidYouMean(name.Text(), known));
    }
    std::vector<std::string> keys = {"op", "inputs", "output"};
    const bool has_dim = operation->has_dim;
    if (has_dim) keys.emplace_back("dim");
    if (operation->HasInto()) keys.emplace_back("into");
    const bool is_extern = operation->kind == OpEntry::Kind::kExtern;
    if (is_extern) keys.emplace_back("function");
    keys.insert(keys.end(), operation->constants.begin(), operation->constants.end());
    value.RequireKeys(keys);
    NamedOp op;
    op.op = operation->name;
    for (const FormValue& input : value.At("inputs").Items())
      op.inputs.push_back(FindTensor(input));
    if (op.inputs.size() < static_cast<size_t>(operation->min_inputs) ||
        op.inputs.size() > static_cast<size_t>(operation->max_inputs))
      value.At("inputs").Fail(
          fmt::format("{} to {} inputs", operation->min_inputs, operation->max_inputs));
    op.output = FindTensor(value.At("output"));
    if (list_.tensors[static_cast<size_t>(op.output)].origin != TensorOrigin::kComputed)
      throw BadInput("{}.output = '{}' is an input or a number, not \"computed\"", value.path(),
                     value.At("output").Text());
    if (const auto dim = value.Find("dim"))
      op.reduced = Dims(*dim, operation->kind == OpEntry::Kind::kCat);
    if (const auto into = value.Find("into")) op.into = FindDim(*into);
    if (is_extern) op.function = value.At("function").Text();
    for (const std::string_view key : operation->constants) {
      const std::string constant(key);
      if (const auto number = value.Find(constant.c_str()))
        op.constants[constant] = number->Number();
    }
    return op;
  }

  NamedHint Hint(const FormValue& value) const {
    value.RequireKeys({"ops", "slices"});
    NamedHint hint;
    for (const FormValue& name : value.At("ops").Items()) {
      const int tensor = FindTensor(name);
      const auto op =
          FindIf(list_.ops, [&](const NamedOp& other) { return other.output == tensor; });
      if (op == list_.ops.end())
        throw BadInput("{} = '{}' is not the output of an operation", name.path(), name.Text());
      hint.ops.push_back(static_cast<int>(op - list_.ops.begin()));
    }
    for (const auto& [name, count] : value.At("slices").Entries()) {
      const OrderedJson dim = name;
      hint.slices.push_back({FindDim(FormValue(dim, count.path())), count.Integer(1, kMaxSize)});
    }
    return hint;
  }

  NamedGraph list_;
};

}  // namespace

void ListToJson(const NamedGraph& list, OrderedJson& json) { ListWriter(list).Write(json); }

NamedGraph ListFromJson(const FormValue& form) { return ListReader().Read(form); }

}  // namespace spyre::compiler
