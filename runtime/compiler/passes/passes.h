// SPDX-License-Identifier: Apache-2.0
// Compiler passes as functions from one JSON object to another, for `spyre-cosim opt` and tests.
// Each pass has a file of its own, pass_<name>.cc, that reads the object, calls the library and
// writes the result; the table here is all that knows them together.
//
// Pure functions, any thread. The keys in and out of each pass are in docs/compiler-passes.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {

struct Pass {
  std::string_view name;     // "work-division"
  std::string_view summary;  // what it decides, in a few words
  // The keys of the result, without `id`. Throws CompileError where the pass refuses the input, as
  // the public compiler does, and BadInput where the object is not what the pass reads.
  nlohmann::ordered_json (*run)(const nlohmann::json& input);
};

const std::vector<Pass>& Passes();

// Throws BadInput with the nearest name and all names.
const Pass& RequirePass(std::string_view name);

// One JSON object, without a line break, for one line of input: the line's `id` if it has one, then
// the keys of the result. A refusal is `error: {type, kind, message}`; a line that is not JSON or
// not what the pass reads is `error: {type: "InvalidInput", message}`.
std::string RunPass(const Pass& pass, std::string_view line);

// What people read: the message, and behind it type and kind of what a compiler refused.
std::string ErrorText(const Error& error);
// {"error": {type, kind, message}}, or without kind, of type InvalidInput; a line.
std::string ErrorLine(const Error& error);
// {type, <kind_key>, message}
nlohmann::ordered_json ErrorJson(const CompileError& error, const char* kind_key = "kind");

}  // namespace spyre::compiler
