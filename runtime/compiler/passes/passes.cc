// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/passes/passes.h"

#include <nlohmann/json.hpp>

#include "base/joined.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "runtime/compiler/passes/graph_passes.h"
#include "runtime/compiler/passes/pass_table.h"

namespace spyre::compiler {
namespace {

nlohmann::ordered_json InvalidInput(const std::string& message) {
  return {{"type", "InvalidInput"}, {"message", message}};
}

}  // namespace

const std::vector<Pass>& Passes() {
  static const std::vector<Pass> passes = {
      {"work-division", "splits of an operation's loops over the cores", PassWorkDivision},
      {"core-split", "largest divisor of a size that fits the cores", PassCoreSplit},
      {"multi-dim-split", "cores dealt to the dimensions of an iteration space", PassMultiDimSplit},
      {"split-encoding", "splits stored by index coefficient and read back", PassSplitEncoding},
      {"device-layout", "stick layout of a host tensor", PassDeviceLayout},
      {"device-coordinates", "coordinates of an access in a stick layout", PassDeviceCoordinates},
      {"core-to-slice", "slice of every core in every dimension", PassCoreToSlice},
      {"lx-solve", "addresses of buffers with lifetimes, by three solvers", PassLxSolve},
      {"lx-plan", "which intermediates of a graph stay in LX, and where", PassLxPlan},
      {"coarse-tile", "groups of operations put into counted loops", PassCoarseTile},
      {"tiling-propagation", "whole buffers for results that leave their loop",
       PassTilingPropagation},
      {"group-loops", "stamped operations into a tree of counted loops", PassGroupLoops},
      {"unroll", "loops written out, one operation per iteration", PassUnroll},
      {"bundle", "bundle.mlir of a loop tree", PassBundle},
  };
  return passes;
}

const Pass& RequirePass(std::string_view name) {
  std::vector<std::string> names;
  for (const Pass& pass : Passes()) {
    if (pass.name == name) return pass;
    names.emplace_back(pass.name);
  }
  std::vector<std::string> known = names, of_graphs;
  for (const auto& [pass, summary] : GraphPasses()) of_graphs.push_back(pass);
  known.insert(known.end(), of_graphs.begin(), of_graphs.end());
  const std::string hint = DidYouMean(name, known);
  throw BadInput("'{}' is not a pass{} The passes are {}; over a graph, in order, {}", name,
                 hint.empty() ? "." : hint, Joined(names, ", "), Joined(of_graphs, ", "));
}

std::string ErrorText(const Error& error) {
  const auto* const refusal = dynamic_cast<const CompileError*>(&error);
  if (refusal == nullptr) return error.what();
  return fmt::format("{} [{}: {}]", error.what(), refusal->type(), refusal->message_kind());
}

std::string ErrorLine(const Error& error) {
  const auto* const refusal = dynamic_cast<const CompileError*>(&error);
  const nlohmann::ordered_json json = {
      {"error", refusal != nullptr ? ErrorJson(*refusal) : InvalidInput(error.what())}};
  return PrintableJson(json) + "\n";
}

nlohmann::ordered_json ErrorJson(const CompileError& error, const char* kind_key) {
  return {{"type", error.type()}, {kind_key, error.message_kind()}, {"message", error.what()}};
}

std::string RunPass(const Pass& pass, std::string_view line) {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  try {
    const nlohmann::json input = ParseJson(line, "line");
    if (!input.is_object()) throw BadInput("line: a JSON object is expected");
    if (const auto id = input.find("id"); id != input.end()) result["id"] = *id;
    result.update(pass.run(input));
  } catch (const CompileError& error) {
    result["error"] = ErrorJson(error);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    result["error"] = InvalidInput(error.what());
  }
  return PrintableJson(result);
}

}  // namespace spyre::compiler
