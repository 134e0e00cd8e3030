// SPDX-License-Identifier: Apache-2.0
// The "Metadata" object of spyrecode.json and the hcm object: what the compiler says about the
// launch arguments. Part of the SpyreCode reader; docs/spyrecode.md has the format.
#pragma once

#include <optional>
#include <vector>

#include "base/json_reader.h"
#include "runtime/spyre/spyre_code.h"

namespace spyre::runtime {

// Fills name, arguments, dimensions, reduction_dims, accumulation and steps.
void ReadMetadata(const JsonReader& metadata, SpyreCode& code);

// The records of an hcm object. `arguments`: number of launch arguments, empty if not known.
// `accumulates`: a record may be of the accumulation.
std::vector<CorrectionSource> ReadHcm(const JsonReader& hcm, std::optional<int> arguments,
                                      int dimensions, bool accumulates);

}  // namespace spyre::runtime
