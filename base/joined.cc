// SPDX-License-Identifier: Apache-2.0
#include "base/joined.h"

#include <fmt/format.h>

namespace spyre {

void AppendNumber(std::string& text, double value) { text += fmt::to_string(value); }

}  // namespace spyre
