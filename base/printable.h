// SPDX-License-Identifier: Apache-2.0
// Text that is safe to show: names from program files and from trace files end up in terminals,
// JSON, Perfetto and HTML. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace spyre {

// Valid UTF-8 without control characters.
bool IsPrintable(std::string_view text);
// The text with every offending byte replaced by '?'.
std::string Printable(std::string_view text);

}  // namespace spyre
