// SPDX-License-Identifier: Apache-2.0
// The valid numbers beside one that is not, for error messages. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::compiler {

// The divisors of `size` up to `most`, ascending. size at least 1.
std::vector<int64_t> DivisorsUpTo(int64_t size, int64_t most);

// "4 or 8": the valid ones next below and next above; "" if none is valid.
std::string NearestOf(int64_t value, const std::vector<int64_t>& valid);

}  // namespace spyre::compiler
