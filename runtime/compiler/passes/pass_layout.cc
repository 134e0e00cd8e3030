// SPDX-License-Identifier: Apache-2.0
// `device-layout`, `device-coordinates`: how a tensor lies on the device, and where an access
// lands.
#include <nlohmann/json.hpp>

#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/ir/ir_json.h"
#include "runtime/compiler/passes/pass_table.h"

namespace spyre::compiler {
namespace {

using OrderedJson = nlohmann::ordered_json;

}  // namespace

OrderedJson PassDeviceLayout(const nlohmann::json& input) {
  const StickLayout layout = LayoutFromJson(JsonReader(input, "line"));
  return {{"device_size", layout.device_size},
          {"stride_map", layout.stride_map},
          {"elems_per_stick", ElementsPerStick(layout.format)},
          {"device_bytes", layout.DeviceBytes()}};
}

OrderedJson PassDeviceCoordinates(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  // An operation with this one access, so that sizes and index are checked as everywhere.
  OpIr op;
  op.loops = LoopsFromJson(reader.At("ranges"));
  op.output.name = "tensor";
  op.output.layout = LayoutFromJson(reader);
  op.output.index = IndexWithConstantFromJson(reader.At("index"), op.loops);
  CheckOp(op);
  const std::vector<Coordinate> coordinates =
      DeviceCoordinates(op.output.layout, op.output.index, op.loops);
  if (!IsStickExpression(coordinates.back(), ElementsPerStick(op.output.layout.format))) {
    throw CompileError(
        "Unsupported", "stick_expression",
        fmt::format(
            "the coordinate inside a stick is {}; it must be one variable, perhaps divided, "
            "reduced by a modulus or with a constant added, that walks the {} elements of a "
            "stick one by one",
            ToString(coordinates.back(), op.loops), ElementsPerStick(op.output.layout.format)));
  }
  OrderedJson texts = OrderedJson::array();
  for (const Coordinate& coordinate : coordinates) texts.push_back(ToString(coordinate, op.loops));
  return {{"device_coordinates", std::move(texts)}};
}

}  // namespace spyre::compiler
