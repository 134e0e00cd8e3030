// SPDX-License-Identifier: Apache-2.0
// The passes of the front end over graphs in JSON, for `spyre-cosim opt` and tests
// (graph_form/graph_form.h has the form). Pure functions, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spyre::compiler {

// Name and summary of each, in the order in which they run.
std::vector<std::pair<std::string, std::string>> GraphPasses();
// "decompose,stick": every name is one of them.
bool AreGraphPasses(const std::string& list);

struct GraphAnswer {
  std::string text;   // JSON
  std::string error;  // ""; else what was refused, with type and kind
};

// The graph behind the passes. Where one refuses it, the graph as it was before that pass, and the
// key `error`: {pass, type, kind, message}; where it is not a graph, `error` alone, of type
// InvalidInput or VerifierError. readable: lines for people; else one line. Throws BadInput for a
// name that is not a pass.
GraphAnswer RunGraphPasses(const std::string& list, std::string_view text, const std::string& name,
                           bool readable);

}  // namespace spyre::compiler
