// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/ir_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

std::vector<int64_t> IntegersFromJson(const JsonReader& value) {
  return value.Integers(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
}

std::vector<int> DimOrderFromJson(const JsonReader& value) {
  constexpr int64_t kMostDims = 1000;  // far above any rank; the layout says what it takes
  std::vector<int> order;
  for (int64_t dim : value.Integers(-1, kMostDims)) order.push_back(static_cast<int>(dim));
  return order;
}

TensorAccess TensorFromJson(const JsonReader& value, const std::vector<LoopVariable>& loops) {
  TensorAccess tensor;
  tensor.name = value.At("name").String();
  tensor.host_format = FormatFromName(value.At("dtype").String());
  tensor.layout = LayoutFromJson(value);
  tensor.index = IndexFromJson(value.At("index"), IntegerOr(value, "offset", 0), loops);
  return tensor;
}

}  // namespace

int64_t IntegerFromJson(const JsonReader& value) {
  return value.Integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
}

int64_t IntegerOr(const JsonReader& object, const char* key, int64_t otherwise) {
  return object.Has(key) ? IntegerFromJson(object.At(key)) : otherwise;
}

std::vector<LoopVariable> LoopsFromJson(const JsonReader& value) {
  std::vector<LoopVariable> loops;
  for (size_t i = 0; i < value.Size(); ++i) {
    const JsonReader item = value.At(i);
    if (item.Size() != 2) item.Fail("a pair [name, range] is expected");
    const std::string name = item.At(size_t{0}).String();
    const auto same = [&](const LoopVariable& loop) { return loop.name == name; };
    if (AnyFits(loops, same)) throw BadInput("loop {} given twice", name);
    loops.push_back({name, IntegerFromJson(item.At(1))});
  }
  return loops;
}

int FindLoop(const std::string& name, const std::vector<LoopVariable>& loops) {
  const auto same = [&](const LoopVariable& loop) { return loop.name == name; };
  const auto it = FindIf(loops, same);
  if (it == loops.end()) throw BadInput("'{}' is not a loop variable", name);
  return static_cast<int>(it - loops.begin());
}

IndexExpression IndexFromJson(const JsonReader& coefficients, int64_t constant,
                              const std::vector<LoopVariable>& loops) {
  IndexExpression index{constant, std::vector<int64_t>(loops.size(), 0)};
  if (!coefficients.value().is_object()) coefficients.Fail("an object is expected");
  for (const auto& [name, unused] : coefficients.value().items()) {
    index.coefficient[static_cast<size_t>(FindLoop(name, loops))] =
        IntegerFromJson(coefficients.At(name.c_str()));
  }
  return index;
}

IndexExpression IndexWithConstantFromJson(const JsonReader& value,
                                          const std::vector<LoopVariable>& loops) {
  return IndexFromJson(value.At("coeff"), IntegerOr(value, "const", 0), loops);
}

StickLayout LayoutFromJson(const JsonReader& value) {
  return LayoutFromJson(value, FormatFromName(value.At("dtype").String()));
}

StickLayout LayoutFromJson(const JsonReader& value, DataFormat host_format) {
  const DataFormat format = DeviceFormatOf(host_format);
  const std::vector<int64_t> size = IntegersFromJson(value.At("host_size"));
  const std::vector<int64_t> stride = value.Has("host_stride")
                                          ? IntegersFromJson(value.At("host_stride"))
                                          : ContiguousStrides(size);
  std::vector<int> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  if (value.Has("dim_order")) order = DimOrderFromJson(value.At("dim_order"));
  if (!value.Has("device_size")) return MakeLayout(size, stride, format, order);
  StickLayout layout;
  layout.host_size = size;
  layout.host_stride = stride;
  layout.format = format;
  layout.device_size = IntegersFromJson(value.At("device_size"));
  layout.stride_map = IntegersFromJson(value.At("stride_map"));
  if (value.Has("dim_order")) {
    StickLayout built = MakeLayout(size, stride, format, order);
    if (built.device_size == layout.device_size) layout.host_dim = std::move(built.host_dim);
  }
  return layout;
}

OpIr OpFromJson(const JsonReader& value) {
  OpIr op;
  if (value.Has("id") && value.At("id").value().is_string()) op.name = value.At("id").String();
  const std::string kind = value.At("kind").String();
  if (kind != "pointwise" && kind != "reduction") {
    throw BadInput("kind '{}' must be pointwise or reduction", kind);
  }
  op.kind = kind == "pointwise" ? OpIr::Kind::kPointwise : OpIr::Kind::kReduction;
  if (value.Has("reduction_type")) op.reduction_type = value.At("reduction_type").String();
  op.loops = LoopsFromJson(value.At("loop_vars"));
  int outputs = 0;
  const JsonReader tensors = value.At("tensors");
  for (size_t i = 0; i < tensors.Size(); ++i) {
    const JsonReader item = tensors.At(i);
    const std::string role = item.At("role").String();
    if (role == "input") {
      op.inputs.push_back(TensorFromJson(item, op.loops));
    } else if (role == "output") {
      op.output = TensorFromJson(item, op.loops);
      ++outputs;
    } else {
      throw BadInput("role '{}' must be input or output", role);
    }
  }
  if (outputs != 1) throw BadInput("{} tensors have the role output; there must be one", outputs);
  CheckOp(op);
  return op;
}

}  // namespace spyre::compiler
