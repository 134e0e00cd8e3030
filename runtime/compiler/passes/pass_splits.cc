// SPDX-License-Identifier: Apache-2.0
// `core-split`, `multi-dim-split`, `split-encoding`, `core-to-slice`: the steps of work division.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/ir/ir_json.h"
#include "runtime/compiler/passes/pass_table.h"

namespace spyre::compiler {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The passes alone take core counts beyond a card's; counts that no search should walk through are
// refused.
constexpr int64_t kMostCores = 65'536;

int Split(const JsonReader& value) {
  return static_cast<int>(value.Integer(0, std::numeric_limits<int>::max()));
}

int Cores(const JsonReader& value) { return static_cast<int>(value.Integer(0, kMostCores)); }

std::vector<int> Positions(const JsonReader& names, const std::vector<LoopVariable>& loops) {
  std::vector<int> positions;
  for (const std::string& name : names.Strings()) positions.push_back(FindLoop(name, loops));
  return positions;
}

OrderedJson ByName(const std::vector<int>& splits, const std::vector<LoopVariable>& loops) {
  OrderedJson json = OrderedJson::object();
  for (size_t i = 0; i < loops.size(); ++i) json[loops[i].name] = splits[i];
  return json;
}

}  // namespace

OrderedJson PassCoreSplit(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  const int64_t size = reader.At("size").Integer(0, std::numeric_limits<int64_t>::max());
  return {{"split", CoreSplit(size, Cores(reader.At("max_cores")))}};
}

OrderedJson PassMultiDimSplit(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  const std::vector<LoopVariable> loops = LoopsFromJson(reader.At("iteration_space"));
  std::vector<int64_t> size;
  size.reserve(loops.size());
  for (const LoopVariable& loop : loops) size.push_back(loop.range);
  std::vector<std::pair<int, int>> min_splits;
  const JsonReader minima = reader.At("min_splits");
  for (size_t i = 0; i < minima.Size(); ++i) {
    const JsonReader item = minima.At(i);
    min_splits.emplace_back(FindLoop(item.At(size_t{0}).String(), loops), Split(item.At(1)));
  }
  const SpaceSplit result = SplitIterationSpace(
      size, Cores(reader.At("max_cores")), Positions(reader.At("output_dims"), loops),
      Positions(reader.At("reduction_dims"), loops), min_splits);
  int64_t cores = 1;
  for (int split : result.splits) cores *= split;
  return {{"splits", ByName(result.splits, loops)},
          {"cores_used", cores},
          {"critical_logged", result.log.size()}};
}

OrderedJson PassSplitEncoding(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  const std::vector<LoopVariable> loops = LoopsFromJson(reader.At("iteration_space"));
  const IndexExpression write = IndexWithConstantFromJson(reader.At("write_index"), loops);
  const IndexExpression read = IndexWithConstantFromJson(reader.At("read_index"), loops);
  std::vector<int> splits(loops.size(), 1);
  const JsonReader given = reader.At("splits");
  if (!given.value().is_object()) given.Fail("an object is expected");
  for (const auto& [name, unused] : given.value().items()) {
    splits[static_cast<size_t>(FindLoop(name, loops))] = Split(given.At(name.c_str()));
  }
  const EncodedSplits encoded = EncodeSplits(splits, write, read);
  const auto pairs = [](const std::map<int64_t, int>& map) {
    OrderedJson json = OrderedJson::array();
    for (const auto& [coefficient, split] : map) json.push_back({coefficient, split});
    return json;
  };
  return {{"encoded", {{"output", pairs(encoded.output)}, {"reduction", pairs(encoded.reduction)}}},
          {"decoded", ByName(DecodeSplits(encoded, write, read, loops), loops)}};
}

OrderedJson PassCoreToSlice(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  const std::vector<std::string> dims = reader.At("dims").Strings();
  if (dims.size() > kMaxLoops) {
    throw BadInput("dims: {} dimensions; at most {} are possible", dims.size(), kMaxLoops);
  }
  const JsonReader given = reader.At("splits");
  if (given.Size() != dims.size()) given.Fail("one split for each of dims is expected");
  std::vector<int> splits;
  for (size_t i = 0; i < dims.size(); ++i) splits.push_back(Split(given.At(i)));
  const auto columns = [&](bool last_fastest) {
    const std::vector<std::vector<int>> slices = CoreToSlice(splits, last_fastest);
    const auto cores = static_cast<size_t>(
        reader.At("cores").Integer(1, static_cast<int64_t>(kMostCores / kMaxLoops)));
    OrderedJson json = OrderedJson::object();
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t d = last_fastest ? (i + dims.size() - 1) % dims.size() : i;
      OrderedJson column = OrderedJson::array();
      for (size_t core = 0; core < cores; ++core) column.push_back(slices[core % slices.size()][d]);
      json[dims[d]] = std::move(column);
    }
    return json;
  };
  OrderedJson json = {{"default", columns(false)}};
  const JsonReader selected = reader.At("k_fast_selected_for_matmul");
  if (!selected.value().is_boolean()) selected.Fail("true or false is expected");
  if (selected.value().get<bool>()) json["k_fast"] = columns(true);
  return json;
}

}  // namespace spyre::compiler
