// The "Metadata" object of spyrecode.json and the hcm object: what the compiler says about the
// launch arguments. Part of the SpyreCode reader; docs/spyrecode.md has the format.
#pragma once

#include <vector>

#include "runtime/spyre/json_reader.h"
#include "runtime/spyre/spyre_code.h"

namespace spyre::runtime {

// Fills name, arguments and reduction_dims.
void ReadMetadata(const JsonReader& metadata, SpyreCode& code);

// The records of an hcm object. `arguments`: number of launch arguments, or -1 if not known.
std::vector<int> ReadHcm(const JsonReader& hcm, int arguments);

}  // namespace spyre::runtime
