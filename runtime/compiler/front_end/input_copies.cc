// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/input_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/plan_facts.h"
#include "runtime/compiler/list/graph_rewriter.h"

namespace spyre::compiler {
namespace {

bool ReadsCopies(const NamedOp& op) {
  const OpEntry::Kind kind = FindNamedOperation(op.op)->kind;
  return kind == OpEntry::Kind::kPointwise || kind == OpEntry::Kind::kReduction;
}

// Inputs that several operations read, none of them in a way that a copy does not serve.
std::vector<int> Candidates(const NamedGraph& list) {
  std::map<int, int> readers;
  for (const NamedOp& op : list.ops) {
    std::vector<int> inputs = op.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    constexpr int kBarred = 1 << 20;
    for (const int input : inputs) readers[input] += ReadsCopies(op) ? 1 : -kBarred;
  }
  std::vector<int> candidates;
  for (const auto& [input, count] : readers) {
    const NamedTensor& tensor = list.tensors[static_cast<size_t>(input)];
    if (count > 1 && tensor.origin == NamedTensor::Origin::kInput) candidates.push_back(input);
  }
  return candidates;
}

struct Copied {
  NamedGraph list;
  std::vector<std::string> names;  // of the copies, as `inputs`
};

Copied CopyBeforeFirstReader(const NamedGraph& list, const std::vector<int>& inputs) {
  GraphRewriter out(list);
  std::map<int, int> copies;
  Copied copied;
  copied.names.resize(inputs.size());
  for (size_t i = 0; i < list.ops.size(); ++i) {
    out.Begin(static_cast<int>(i));
    NamedOp op = list.ops[i];
    for (int& operand : op.inputs) {
      const auto candidate = std::find(inputs.begin(), inputs.end(), operand);
      if (candidate == inputs.end()) continue;
      const auto [copy, first] = copies.emplace(operand, -1);
      if (first) {
        // Groups of a plan name operations: what is named after one belongs to it.
        const std::string name =
            fmt::format("{}.{}", list.tensors[static_cast<size_t>(op.output)].name,
                        list.tensors[static_cast<size_t>(operand)].name);
        copy->second = out.AppendNew({"copy", {operand}, -1, {}, {}}, name);
        copied.names[static_cast<size_t>(candidate - inputs.begin())] = name;
      }
      operand = copy->second;
    }
    out.Append(std::move(op));
  }
  copied.list = out.Finish();
  return copied;
}

struct Trial {
  LxPlan lx;
  int64_t traffic = 0;  // bytes from and to device memory
};

// nullopt: a pass refuses it.
std::optional<Trial> Try(const FrontEndResult& graph, NamedGraph list,
                         const FrontEndOptions& options) {
  FrontEndResult trial = graph;
  trial.primitives = std::move(list);
  std::vector<std::string> names;
  bool behind = false;
  for (const FrontEndPass& pass : FrontEndPasses()) {
    if (behind) names.emplace_back(pass.name);
    if (pass.name == "copy_inputs") behind = true;
    if (pass.name == "lx") break;
  }
  try {
    RunPasses(names, options, trial);
  } catch (const Error&) {
    return std::nullopt;
  }
  const DeviceTraffic traffic = TrafficOf(trial.graph, trial.lx);
  return Trial{std::move(trial.lx), traffic.bytes_read + traffic.bytes_written};
}

}  // namespace

void CopyInputs(FrontEndResult& graph, const FrontEndOptions& options) {
  if (!options.lx_planning || !options.lx_input_copies) return;
  std::vector<int> inputs = Candidates(graph.primitives);
  if (inputs.empty()) return;
  const std::optional<Trial> without = Try(graph, graph.primitives, options);
  while (without && !inputs.empty()) {
    Copied copied = CopyBeforeFirstReader(graph.primitives, inputs);
    const std::optional<Trial> with = Try(graph, copied.list, options);
    if (!with) return;
    std::vector<int> kept;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const LxBufferPlan* const place = with->lx.Find(copied.names[i]);
      if (place != nullptr && place->lx_address) kept.push_back(inputs[i]);
    }
    if (kept.size() < inputs.size()) {
      inputs = std::move(kept);
      continue;
    }
    if (with->traffic >= without->traffic) return;
    graph.primitives = std::move(copied.list);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& input = graph.primitives.tensors[static_cast<size_t>(inputs[i])].name;
      graph.decisions.push_back(
          {"copy_inputs",
           copied.names[i],
           fmt::format("copy of {} in LX", input),
           fmt::format("several operations read '{}'; {} bytes are moved from and to device "
                       "memory instead of {}",
                       input, with->traffic, without->traffic),
           {}});
    }
    return;
  }
}

}  // namespace spyre::compiler
