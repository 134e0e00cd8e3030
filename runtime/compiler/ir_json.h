// Operations as JSON, in the form that `opt work-division` reads. Pure
// function, any thread. Throws BadInput naming the key.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/compiler/ir.h"

namespace spyre::compiler {

// {"kind": "pointwise" | "reduction", "reduction_type"?, "loop_vars": [[name, range], ...],
//  "tensors": [{"name", "role": "input" | "output", "dtype", "host_size", "host_stride"?,
//               "dim_order"? | "device_size" and "stride_map", "index": {name: coefficient},
//               "offset"?}, ...]}
OpIr OpFromJson(const nlohmann::json& value);

// A layout by the same keys: given device_size and stride_map, else built from dim_order.
StickLayout LayoutFromJson(const nlohmann::json& value);

// {"d0": 4096, "d2": 1}; a name that is no loop is an error.
IndexExpression IndexFromJson(const nlohmann::json& coefficients, int64_t constant,
                              const std::vector<LoopVariable>& loops);

std::vector<LoopVariable> LoopsFromJson(const nlohmann::json& value);

}  // namespace spyre::compiler
