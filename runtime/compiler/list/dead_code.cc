// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/dead_code.h"

#include <algorithm>
#include <string>

#include "base/joined.h"
#include "runtime/compiler/list/graph_rewriter.h"

namespace spyre::compiler {

std::vector<bool> LiveOperations(const NamedGraph& graph) {
  std::vector<bool> needed(graph.tensors.size(), false);
  for (const int output : graph.outputs) needed[static_cast<size_t>(output)] = true;
  std::vector<bool> live(graph.ops.size(), false);
  for (size_t i = graph.ops.size(); i-- > 0;) {  // readers stand behind writers
    live[i] = needed[static_cast<size_t>(graph.ops[i].output)];
    if (!live[i]) continue;
    for (const int input : graph.ops[i].inputs) needed[static_cast<size_t>(input)] = true;
  }
  return live;
}

NamedGraph EliminateDeadCode(const NamedGraph& graph) {
  const std::vector<bool> live = LiveOperations(graph);
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!live[i]) continue;
    rewriter.Begin(static_cast<int>(i));
    rewriter.Append(graph.ops[i]);
  }
  NamedGraph result = rewriter.Finish();
  auto& hints = result.hints;
  hints.erase(std::remove_if(hints.begin(), hints.end(),
                             [](const NamedHint& hint) { return hint.ops.empty(); }),
              hints.end());
  return result;
}

std::vector<Decision> ExplainDeadCode(const NamedGraph& graph) {
  const std::vector<bool> live = LiveOperations(graph);
  const auto name = [&](int tensor) { return graph.tensors[static_cast<size_t>(tensor)].name; };
  std::vector<Decision> decisions;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (live[i]) continue;
    const int output = graph.ops[i].output;
    std::vector<std::string> readers;
    for (const NamedOp& reader : graph.ops)
      if (std::find(reader.inputs.begin(), reader.inputs.end(), output) != reader.inputs.end())
        readers.push_back(name(reader.output));
    decisions.push_back({"deadcode_elimination",
                         name(output),
                         "removed",
                         readers.empty()
                             ? "no operation reads it, and it is not an output"
                             : fmt::format("it is not an output, and only {} reads it, which is "
                                           "removed too",
                                           Joined(readers, ", ")),
                         {}});
  }
  return decisions;
}

}  // namespace spyre::compiler
