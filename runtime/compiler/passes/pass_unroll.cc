// SPDX-License-Identifier: Apache-2.0
// `unroll`: a nest of loops around operations -> the strides of its tensors and the operations
// written out.
#include <nlohmann/json.hpp>

#include "runtime/compiler/op_spec/unroll.h"
#include "runtime/compiler/passes/pass_table.h"
#include "runtime/compiler/tiling/graph_json.h"
#include "runtime/compiler/tiling/loop_groups.h"

namespace spyre::compiler {
namespace {

using nlohmann::ordered_json;

// In the order in which a place is looked for: an argument with several is at the first.
constexpr std::pair<const char*, Memory> kMemories[] = {
    {"pool", Memory::kPool}, {"hbm", Memory::kHbm}, {"lx", Memory::kLx}};

const char* MemoryName(Memory memory) {
  for (const auto& [name, candidate] : kMemories) {
    if (candidate == memory) return name;
  }
  return "";
}

TensorArg ArgFromJson(const JsonReader& value) {
  TensorArg arg;
  arg.device_format = DeviceFormatOf(FormatFromName(value.At("dtype").String()));
  arg.device_size = value.At("device_size").Integers(1, kLargest);
  for (const std::string& text : value.At("device_coordinates").Strings()) {
    arg.device_coordinates.push_back(ParseExpression(text));
  }
  if (arg.device_size.empty() || arg.device_coordinates.size() != arg.device_size.size()) {
    value.At("device_coordinates").Fail("one coordinate for each of device_size is expected");
  }
  arg.per_tile_fixed = Flag(value, "per_tile_fixed", false);
  const JsonReader allocation = value.At("allocation");
  for (const auto& [name, memory] : kMemories) {
    if (!allocation.Has(name)) continue;
    arg.memory = memory;
    arg.address = allocation.At(name).Integer(0, kLargest);
    return arg;
  }
  allocation.Fail("an address in pool, hbm or lx is expected");
}

OpSpec OpSpecFromJson(const JsonReader& value) {
  OpSpec op;
  op.op = value.At("op").String();
  const JsonReader space = value.At("iteration_space");
  for (size_t i = 0; i < space.Size(); ++i) {
    const JsonReader item = space.At(i);
    op.iteration_space.push_back({item.At(size_t{0}).String(), item.At(1).Integer(0, kLargest), 1});
  }
  const JsonReader args = value.At("args");
  for (size_t i = 0; i < args.Size(); ++i) op.args.push_back(ArgFromJson(args.At(i)));
  return op;
}

// One symbol, a list of them, or none.
std::vector<std::string> SymbolsFromJson(const JsonReader& value) {
  if (value.value().is_null()) return {};
  if (value.value().is_string()) return {value.String()};
  return value.Strings();
}

struct Nest {
  std::vector<std::variant<int64_t, std::string>> counts;  // outermost first
  std::vector<std::vector<std::string>> symbols;
  std::vector<OpSpec> ops;
};

Nest NestFromJson(const JsonReader& value) {
  Nest nest;
  const JsonReader counts = value.At("loop_counts");
  const JsonReader symbols = value.At("loop_tiled_symbols");
  if (counts.Size() != symbols.Size()) symbols.Fail("as many as loop_counts are expected");
  for (size_t i = 0; i < counts.Size(); ++i) {
    const Extent count = ExtentFromJson(counts.At(i));
    if (count.is_number()) {
      nest.counts.emplace_back(count.number());
    } else {
      nest.counts.emplace_back(count.ToString());
    }
    nest.symbols.push_back(SymbolsFromJson(symbols.At(i)));
  }
  const JsonReader ops = value.At("ops");
  for (size_t i = 0; i < ops.Size(); ++i) {
    nest.ops.push_back(OpSpecFromJson(ops.At(i)));
    nest.ops.back().tiled_symbols = nest.symbols;  // a nest of the pass has one set of names
  }
  return nest;
}

KernelSource SourceOf(const Nest& nest) {
  KernelSource source;
  source.body.assign(nest.ops.begin(), nest.ops.end());
  for (size_t level = nest.counts.size(); level-- > 0;) {
    LoopSpec loop{nest.counts[level], std::move(source.body)};
    source.body.clear();
    source.body.emplace_back(std::move(loop));
  }
  return source;
}

ordered_json StridesJson(const Nest& nest) {
  ordered_json ops = ordered_json::array();
  for (const OpSpec& op : nest.ops) {
    ordered_json args = ordered_json::array();
    for (const TensorArg& arg : op.args) {
      ordered_json strides = ordered_json::object();
      for (const std::vector<std::string>& level : nest.symbols) {
        for (const std::string& symbol : level) {
          for (const IterationSymbol& loop : op.iteration_space) {
            if (loop.name == symbol) strides[symbol] = TileStrideBytes(arg, symbol, loop.range);
          }
        }
      }
      args.push_back(std::move(strides));
    }
    ops.push_back(std::move(args));
  }
  return ops;
}

// Places that an argument has besides the one it is at stay as they were given.
ordered_json FlatOpJson(const OpSpec& op, const JsonReader& given) {
  ordered_json args = ordered_json::array();
  for (size_t a = 0; a < op.args.size(); ++a) {
    const JsonReader places = given.At("args").At(a).At("allocation");
    ordered_json allocation = ordered_json::object();
    for (const auto& [name, memory] : kMemories) {
      if (places.Has(name)) allocation[name] = places.At(name).value();
    }
    allocation[MemoryName(op.args[a].memory)] = op.args[a].address;
    args.push_back(
        {{"allocation", std::move(allocation)}, {"device_size", op.args[a].device_size}});
  }
  return {{"op", op.op}, {"args", std::move(args)}};
}

}  // namespace

ordered_json PassUnroll(const nlohmann::json& input) {
  const JsonReader reader(input, "line");
  const Nest nest = NestFromJson(reader);
  if (nest.counts.size() > kDeepestNest) {
    reader.At("loop_counts").Fail(fmt::format("at most {} loops are expected", kDeepestNest));
  }
  const KernelSource flat = UnrollLoops(SourceOf(nest));
  ordered_json ops = ordered_json::array();
  for (size_t i = 0; i < flat.body.size(); ++i) {
    // Every iteration has all operations, in order.
    ops.push_back(
        FlatOpJson(std::get<OpSpec>(flat.body[i]), reader.At("ops").At(i % nest.ops.size())));
  }
  return {{"byte_stride_per_iteration", StridesJson(nest)}, {"flat_ops", std::move(ops)}};
}

}  // namespace spyre::compiler
