// SPDX-License-Identifier: Apache-2.0
// The graph of the front end as JSON, in every state from a plain list of operations to OpSpecs:
// what `opt` reads and writes and `compile --emit PASS --json` writes. Writing what was read gives
// the same text. The keys are in docs/compiler-decisions.md.
//
// Pure functions, any thread. Reading throws BadInput with the path of the key, what was there and
// what would be right; what the verifier finds is a CompileError (verify.h).
#pragma once

#include <string>
#include <string_view>

#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/list/graph_values.h"

namespace spyre::compiler {

struct GraphForm {
  FrontEndOptions options;  // of the passes that are still to run
  FrontEndResult graph;
};

OrderedJson ToJson(const FrontEndOptions& options, const FrontEndResult& graph);
// A list of operations as a workload has it (named_graph.h) is a graph for which no pass has run.
// next: the pass that is to run on it; what it and later ones left there, if they may run again, is
// dropped, and so need not fit options that have changed since.
GraphForm GraphFormFromJson(const OrderedJson& value, const std::string& next = "");

// JSON to be read by people: one line for each operation, tensor, buffer and line of the kernel.
std::string ReadableText(const OrderedJson& form);

}  // namespace spyre::compiler
