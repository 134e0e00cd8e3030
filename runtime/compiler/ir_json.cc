#include "runtime/compiler/ir_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace spyre::compiler {
namespace {

using Json = nlohmann::json;

const Json& At(const Json& value, const char* key) {
  const auto it = value.is_object() ? value.find(key) : value.end();
  if (!value.is_object() || it == value.end()) {
    throw BadInput("key '{}' is missing in {}", key, value.dump().substr(0, 80));
  }
  return *it;
}

template <typename T>
T As(const Json& value, const char* key) {
  try {
    return value.get<T>();
  } catch (const Json::exception& error) {
    throw BadInput("key '{}': {} is not of the right type ({})", key, value.dump().substr(0, 80),
                   error.what());
  }
}

template <typename T>
T Get(const Json& value, const char* key) {
  return As<T>(At(value, key), key);
}

TensorAccess TensorFromJson(const Json& value, const std::vector<LoopVariable>& loops) {
  TensorAccess tensor;
  tensor.name = Get<std::string>(value, "name");
  tensor.host_format = FormatFromName(Get<std::string>(value, "dtype"));
  tensor.layout = LayoutFromJson(value);
  const auto offset = value.contains("offset") ? Get<int64_t>(value, "offset") : int64_t{0};
  tensor.index = IndexFromJson(At(value, "index"), offset, loops);
  return tensor;
}

}  // namespace

std::vector<LoopVariable> LoopsFromJson(const Json& value) {
  std::vector<LoopVariable> loops;
  for (const auto& [name, range] :
       As<std::vector<std::pair<std::string, int64_t>>>(value, "loops")) {
    const auto same = [name = name](const LoopVariable& loop) { return loop.name == name; };
    if (std::any_of(loops.begin(), loops.end(), same)) throw BadInput("loop {} given twice", name);
    loops.push_back({name, range});
  }
  return loops;
}

IndexExpression IndexFromJson(const Json& coefficients, int64_t constant,
                              const std::vector<LoopVariable>& loops) {
  IndexExpression index{constant, std::vector<int64_t>(loops.size(), 0)};
  for (const auto& [name, coefficient] :
       As<std::map<std::string, int64_t>>(coefficients, "index")) {
    const auto same = [name = name](const LoopVariable& loop) { return loop.name == name; };
    const auto it = std::find_if(loops.begin(), loops.end(), same);
    if (it == loops.end()) throw BadInput("index uses '{}', which is not a loop variable", name);
    index.coefficient[static_cast<size_t>(it - loops.begin())] = coefficient;
  }
  return index;
}

StickLayout LayoutFromJson(const Json& value) {
  const DataFormat format = DeviceFormatOf(FormatFromName(Get<std::string>(value, "dtype")));
  const auto size = Get<std::vector<int64_t>>(value, "host_size");
  const auto stride = value.contains("host_stride")
                          ? Get<std::vector<int64_t>>(value, "host_stride")
                          : ContiguousStrides(size);
  std::vector<int> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  if (value.contains("dim_order")) order = Get<std::vector<int>>(value, "dim_order");
  if (!value.contains("device_size")) return MakeLayout(size, stride, format, order);
  StickLayout layout;
  layout.host_size = size;
  layout.host_stride = stride;
  layout.format = format;
  layout.device_size = Get<std::vector<int64_t>>(value, "device_size");
  layout.stride_map = Get<std::vector<int64_t>>(value, "stride_map");
  if (value.contains("dim_order")) {
    StickLayout built = MakeLayout(size, stride, format, order);
    if (built.device_size == layout.device_size) layout.host_dim = std::move(built.host_dim);
  }
  return layout;
}

OpIr OpFromJson(const Json& value) {
  OpIr op;
  if (value.is_object() && value.contains("id")) op.name = Get<std::string>(value, "id");
  const auto kind = Get<std::string>(value, "kind");
  if (kind != "pointwise" && kind != "reduction") {
    throw BadInput("kind '{}' must be pointwise or reduction", kind);
  }
  op.kind = kind == "pointwise" ? OpIr::Kind::kPointwise : OpIr::Kind::kReduction;
  if (value.contains("reduction_type")) {
    op.reduction_type = Get<std::string>(value, "reduction_type");
  }
  op.loops = LoopsFromJson(At(value, "loop_vars"));
  int outputs = 0;
  for (const Json& item : As<std::vector<Json>>(At(value, "tensors"), "tensors")) {
    const auto role = Get<std::string>(item, "role");
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
