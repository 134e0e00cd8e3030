// SPDX-License-Identifier: Apache-2.0
// Where the commands of `trace` put their results: the file that -o names, one beside the trace, or
// standard output. Any thread.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace spyre::trace {

// wanted: what -o says, "-" for standard output; empty: `input` with the extension ".html".
std::string ResultPath(const std::string& wanted, const std::string& input, const char* extension);
// The whole file or none, and its path to `out`; for "-" the result itself.
void WriteResult(const std::string& path, std::ostream& out,
                 const std::function<void(std::ostream&)>& write);

}  // namespace spyre::trace
