// SPDX-License-Identifier: Apache-2.0
// The expressions of figures in the documentation: numbers, names, + - * / ^ and parentheses.
// A name is a path of keys with dots between them. `card.ring.link_percent` is a parameter of
// configs/cards/spyre.toml; any other name starts with that of a run, which is a directory in out/
// with a report.json or a file NAME.json in out/, and goes on in that report:
// `softmax.kernels.0.device_ns`, or `softmax.kernels.device_ns` for that of all kernels. A list of
// numbers stands for its sum, any other list for its length.
#pragma once

#include <filesystem>
#include <string>

namespace spyre::docs {

// The text of "EXPRESSION[, DECIMALS]"; out/ is looked for in `directory`. A name that stands alone
// may also be a text. Throws std::runtime_error that says what is wrong with the expression.
std::string Figure(const std::string& request, const std::filesystem::path& directory);

// The JSON object that a name stands for, a field a line.
std::string JsonText(const std::string& name, const std::filesystem::path& directory);

}  // namespace spyre::docs
