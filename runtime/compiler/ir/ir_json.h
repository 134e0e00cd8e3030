// SPDX-License-Identifier: Apache-2.0
// Operations as JSON, in the form that the passes of `spyre-cosim opt` read. Pure functions, any
// thread. Throw BadInput naming the key, what was there and what would be right.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

// {"kind": "pointwise" | "reduction", "reduction_type"?, "loop_vars": [[name, range], ...],
//  "tensors": [{"name", "role": "input" | "output", "dtype", "host_size", "host_stride"?,
//               "dim_order"? | "device_size" and "stride_map", "index": {name: coefficient},
//               "offset"?}, ...]}
OpIr OpFromJson(const JsonReader& value);

// A layout by the same keys: given device_size and stride_map, else built from dim_order.
StickLayout LayoutFromJson(const JsonReader& value);
StickLayout LayoutFromJson(const JsonReader& value, DataFormat host_format);  // no dtype

// {"d0": 4096, "d2": 1}; a name that is not a loop is an error.
IndexExpression IndexFromJson(const JsonReader& coefficients, int64_t constant,
                              const std::vector<LoopVariable>& loops);
// {"const": 64, "coeff": {"d0": 4096, "d2": 1}}
IndexExpression IndexWithConstantFromJson(const JsonReader& value,
                                          const std::vector<LoopVariable>& loops);

// [[name, range], ...]; a name given twice is an error.
std::vector<LoopVariable> LoopsFromJson(const JsonReader& value);

// Any integer of 64 bits; `key` of an object, or `otherwise` if it is not there.
int64_t IntegerFromJson(const JsonReader& value);
int64_t IntegerOr(const JsonReader& object, const char* key, int64_t otherwise);

// Position of a loop variable by name; throws BadInput.
int FindLoop(const std::string& name, const std::vector<LoopVariable>& loops);

}  // namespace spyre::compiler
