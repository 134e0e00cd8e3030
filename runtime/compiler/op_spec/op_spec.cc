// SPDX-License-Identifier: Apache-2.0
// OpSpec source: the tree of constructor calls (python_source.h) as the front end's objects.
// All in one file because it is one grammar.
#include "runtime/compiler/op_spec/op_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "runtime/compiler/op_spec/op_spec_values.h"
#include "runtime/compiler/op_spec/spec_era.h"
#include "runtime/compiler/op_spec/tiled_symbols.h"
#include "runtime/compiler/op_spec/wrapper_module.h"

namespace spyre::compiler {
namespace {

class SpecReader : private SpecValues {
 public:
  using SpecValues::SpecValues;

  std::vector<SpecNode> Nodes(const PyValue& value) {
    std::vector<SpecNode> nodes;
    for (const PyValue& item : List(value, "OpSpec, LoopSpec and UnimplementedOp")) {
      nodes.push_back(Node(item));
    }
    return nodes;
  }

  SpecNode Node(const PyValue& value) {
    const std::string name = Constructor(value);
    if (name == "OpSpec") return Op(value);
    if (name == "LoopSpec") return Loop(value);
    if (name == "UnimplementedOp") {
      UnimplementedOp op;
      Keywords(value, {{"op", [&](const PyValue& v) { op.op = String(v, "op"); }}}, {"op"});
      return op;
    }
    source().Fail(
        value.offset,
        fmt::format("{} where an OpSpec, LoopSpec or UnimplementedOp should be{}", Describe(value),
                    DidYouMean(name, {"OpSpec", "LoopSpec", "UnimplementedOp"})));
  }

 private:
  LoopSpec Loop(const PyValue& call) {
    if (loops_.size() >= kMaxLoops) {
      source().Fail(call.offset, fmt::format("more than {} loops within each other", kMaxLoops));
    }
    LoopSpec loop;
    const PyValue* body = nullptr;
    std::vector<std::string> tiled;
    Keywords(call,
             {{"count", [&](const PyValue& v) { loop.count = Count(v); }},
              {"body", [&](const PyValue& v) { body = &v; }},
              {"tiled_symbols", [&](const PyValue& v) { tiled = Symbols(v, "tiled_symbols"); }}},
             {"count", "body"});
    if (loops_.empty()) ops_say_ = SomeOpHasTiledSymbols(call);
    loops_.push_back(std::move(tiled));
    loop.body = Nodes(*body);
    loops_.pop_back();
    return loop;
  }

  std::variant<int64_t, std::string> Count(const PyValue& value) {
    const Expression expression = AsExpression(value, "count");
    if (!FreeSymbols(expression).empty()) return ToString(expression);
    return Integer(value, "count", 1);
  }

  OpSpec Op(const PyValue& call) {
    OpSpec op;
    const PyValue* args = nullptr;
    const PyValue* tiled = nullptr;
    const PyValue* slices = nullptr;
    const Handler ignored = [](const PyValue&) {};
    Keywords(
        call,
        {{"op", [&](const PyValue& v) { op.op = String(v, "op"); }},
         {"is_reduction", [&](const PyValue& v) { op.is_reduction = Bool(v, "is_reduction"); }},
         {"iteration_space", [&](const PyValue& v) { IterationSpace(v, op); }},
         {"op_info", [&](const PyValue& v) { Info(v, op); }},
         {"args", [&](const PyValue& v) { args = &v; }},
         {"tiled_symbols", [&](const PyValue& v) { tiled = &v; }},
         {"core_id_to_work_slice", [&](const PyValue& v) { slices = &v; }},
         {"symbolic_dim_bounds", [&](const PyValue& v) { Dict(v, "symbolic_dim_bounds"); }},
         // Known from the loops around the operation, or for tools only.
         {"tiled_symbol_trip_counts", ignored},
         {"node_output_ranges", ignored},
         {"debug_handle", ignored}},
        {"op", "is_reduction", "iteration_space", "args"});
    if (slices != nullptr) op.core_slices = CoreSlices(*slices, op);
    if (tiled != nullptr) {
      Tiled(*tiled, op);
    } else if (!ops_say_) {
      TiledByLoops(op);
    }
    for (const PyValue& item : List(*args, "args")) {
      if (Constructor(item) != "TensorArg") Wrong(item, "args", "a TensorArg");
      op.args.push_back(Arg(item, op));
      const bool early_output = op.args.size() > 1 && !op.args[op.args.size() - 2].is_input;
      if (early_output && op.args.back().is_input) {
        source().Fail(item.offset, "an input behind an output; inputs come first");
      }
    }
    if (op.args.empty() || op.args.back().is_input) {
      source().Fail(args->offset, "args: there is no output (is_input=False)");
    }
    return op;
  }

  // {sympify('c0'): (sympify('32'), 4)}
  void IterationSpace(const PyValue& value, OpSpec& op) {
    const auto& items = Dict(value, "iteration_space");
    for (size_t i = 0; i < items.size(); i += 2) {
      IterationSymbol symbol;
      symbol.name = Symbol(items[i], "iteration_space");
      const PyValue& pair = items[i + 1];
      if (pair.kind != PyKind::kTuple || pair.items.size() != 2) {
        Wrong(pair, "iteration_space", "(range, split)");
      }
      symbol.range = Integer(pair.items[0], "range", 1);
      symbol.split =
          static_cast<int>(Integer(pair.items[1], "split", 1, std::numeric_limits<int>::max()));
      if (Find(op, symbol.name) != nullptr) {
        source().Fail(items[i].offset, fmt::format("symbol '{}' is given twice", symbol.name));
      }
      op.iteration_space.push_back(std::move(symbol));
    }
  }
  static const IterationSymbol* Find(const OpSpec& op, const std::string& name) {
    const auto it =
        FindIf(op.iteration_space, [&](const IterationSymbol& s) { return s.name == name; });
    return it == op.iteration_space.end() ? nullptr : &*it;
  }

  // {'constants': {'eps': 1e-05}}, or the numbers themselves.
  void Info(const PyValue& value, OpSpec& op) {
    const auto& items = Dict(value, "op_info");
    for (size_t i = 0; i < items.size(); i += 2) {
      const std::string key = String(items[i], "op_info");
      const PyValue& item = items[i + 1];
      if (key == "constants" && item.kind == PyKind::kDict) {
        Info(item, op);
      } else {
        op.constants.push_back({key, Float(item, fmt::format("op_info '{}'", key))});
      }
    }
  }
  std::vector<Expression> CoreSlices(const PyValue& value, const OpSpec& op) {
    std::vector<Expression> slices(op.iteration_space.size());
    std::vector<bool> given(slices.size(), false);
    const auto& items = Dict(value, "core_id_to_work_slice");
    for (size_t i = 0; i < items.size(); i += 2) {
      const std::string name = Symbol(items[i], "core_id_to_work_slice");
      const IterationSymbol* symbol = Find(op, name);
      if (symbol == nullptr) NotInSpace(items[i], name);
      const auto which = static_cast<size_t>(symbol - op.iteration_space.data());
      slices[which] = AsExpression(items[i + 1], "core_id_to_work_slice");
      given[which] = true;
      for (const std::string& used : FreeSymbols(slices[which])) {
        if (used != "core_id") Wrong(items[i + 1], "slice", "an expression of core_id");
      }
    }
    if (items.empty()) return {};
    const auto missing = std::find(given.begin(), given.end(), false);
    if (missing == given.end()) return slices;
    source().Fail(
        value.offset,
        fmt::format("core_id_to_work_slice has no '{}'",
                    op.iteration_space[static_cast<size_t>(missing - given.begin())].name));
  }
  [[noreturn]] void NotInSpace(const PyValue& value, const std::string& name) {
    source().Fail(value.offset, fmt::format("'{}' is not in iteration_space", name));
  }

  // [[t1], [t0]]: one list per loop, innermost first. [c0, c1]: all loops, outermost first.
  void Tiled(const PyValue& value, OpSpec& op) {
    const auto& items = List(value, "tiled_symbols");
    if (items.empty()) return;
    if (IsListForEachLoop(value)) {
      if (items.size() > loops_.size()) {
        source().Fail(value.offset, fmt::format("tiled_symbols has {} levels in {} loops",
                                                items.size(), loops_.size()));
      }
      op.tiled_symbols.resize(loops_.size());
      for (size_t i = 0; i < items.size(); ++i) {
        op.tiled_symbols[loops_.size() - 1 - i] = Symbols(items[i], "tiled_symbols");
      }
      return;
    }
    Distribute(value, Symbols(value, "tiled_symbols"), op);
    for (const auto& level : op.tiled_symbols) {
      for (const std::string& name : level) {
        if (Find(op, name) == nullptr) NotInSpace(value, name);
      }
    }
  }

  void Distribute(const PyValue& value, const std::vector<std::string>& names, OpSpec& op) {
    std::string unclear;
    op.tiled_symbols = DistributeTiledSymbols(names, loops_, &unclear);
    if (unclear.empty()) return;
    source().Fail(value.offset,
                  fmt::format("tiled_symbols: which of the {} loops around advances '{}'? (a list "
                              "for each loop, innermost first, says so: [['c1'], ['c0']]; then all "
                              "operations have such lists, and none has stride_map)",
                              loops_.size(), unclear));
  }
  // Where no operation of a nest says anything, its loops speak for all of them.
  void TiledByLoops(OpSpec& op) const {
    op.tiled_symbols.assign(loops_.size(), {});
    for (size_t level = 0; level < loops_.size(); ++level) {
      for (const std::string& name : loops_[level]) {
        if (Find(op, name) != nullptr) op.tiled_symbols[level].push_back(name);
      }
    }
  }

  TensorArg Arg(const PyValue& call, const OpSpec& op) {
    TensorArg arg;
    const PyValue* coordinates = nullptr;
    const PyValue* advance = nullptr;
    const PyValue* division = nullptr;
    bool is_index = false;
    const Handler ignored = [](const PyValue&) {};
    Keywords(call,
             {{"is_input", [&](const PyValue& v) { arg.is_input = Bool(v, "is_input"); }},
              {"arg_index",
               [&](const PyValue& v) {
                 arg.arg_index = static_cast<int>(Integer(v, "arg_index", -1, 1 << 20));
               }},
              {"device_dtype", [&](const PyValue& v) { arg.device_format = Format(v); }},
              {"device_size",
               [&](const PyValue& v) { arg.device_size = Integers(v, "device_size", 1); }},
              {"device_coordinates", [&](const PyValue& v) { coordinates = &v; }},
              {"allocation", [&](const PyValue& v) { Allocation(v, arg); }},
              {"stride_map",
               [&](const PyValue& v) {
                 arg.stride_map = Integers(v, "stride_map", std::numeric_limits<int64_t>::min());
               }},
              {"per_tile_fixed",
               [&](const PyValue& v) { arg.per_tile_fixed = Bool(v, "per_tile_fixed"); }},
              {"is_index_tensor", [&](const PyValue& v) { is_index = Bool(v, "is_index_tensor"); }},
              {"related_value_tensor_idx",
               [&](const PyValue& v) {
                 constexpr int64_t kMostArguments = 7;
                 arg.related_value_tensor_idx =
                     static_cast<int>(Integer(v, "related_value_tensor_idx", -1, kMostArguments));
               }},
              {"device_tile_advance_expr", [&](const PyValue& v) { advance = &v; }},
              {"work_division", [&](const PyValue& v) { division = &v; }},
              {"element_arrangement", ignored},
              {"name", ignored}},
             {"is_input", "arg_index", "device_dtype", "device_size", "device_coordinates",
              "allocation"});
    if (is_index != (arg.related_value_tensor_idx >= 0)) {
      source().Fail(call.offset,
                    "is_index_tensor and related_value_tensor_idx are given together, or neither");
    }
    Coordinates(*coordinates, op, arg);
    if (advance != nullptr && advance->kind != PyKind::kNone) Advance(*advance, op, arg);
    if (division != nullptr && division->kind != PyKind::kNone) CheckDivision(*division, op);
    return arg;
  }

  DataFormat Format(const PyValue& value) {
    static constexpr std::string_view kPrefix = "DataFormats.";
    const bool name = value.kind == PyKind::kName && value.text.rfind(kPrefix, 0) == 0;
    if (!name) Wrong(value, "device_dtype", "DataFormats.NAME");
    try {
      return FormatFromName(value.text.substr(kPrefix.size()));
    } catch (const Error& error) {
      source().Fail(value.offset, error.what());
    }
  }

  // {'hbm': 0}, {'pool': 0}, {'lx': 0}, {'hbm_pool': 0}, {'hbm_pool': {'offset': 0}}
  void Allocation(const PyValue& value, TensorArg& arg) {
    static const std::vector<std::string> kKeys = {"hbm", "pool", "lx", "hbm_pool"};
    const auto& items = Dict(value, "allocation");
    if (items.size() != 2)
      Wrong(value, "allocation", "one of hbm, pool, lx, hbm_pool with a number");
    const std::string key = String(items[0], "allocation");
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      source().Fail(items[0].offset, fmt::format("allocation '{}' is not known (known: {}){}", key,
                                                 Joined(kKeys, ", "), DidYouMean(key, kKeys)));
    }
    const PyValue* address = &items[1];
    const bool offset = address->kind == PyKind::kDict && address->items.size() == 2 &&
                        address->items[0].text == "offset";
    if (offset) address = &address->items[1];
    arg.address = Integer(*address, "allocation", 0);
    arg.memory = key == "lx" ? Memory::kLx : key == "hbm" ? Memory::kHbm : Memory::kPool;
  }

  void Coordinates(const PyValue& value, const OpSpec& op, TensorArg& arg) {
    for (const PyValue& item : List(value, "device_coordinates")) {
      arg.device_coordinates.push_back(AsExpression(item, "device_coordinates"));
      for (const std::string& name : FreeSymbols(arg.device_coordinates.back())) {
        if (Find(op, name) == nullptr) NotInSpace(item, name);
      }
    }
    if (arg.device_size.empty() || arg.device_coordinates.size() != arg.device_size.size()) {
      source().Fail(value.offset,
                    fmt::format("{} device_coordinates for a device_size of {}",
                                arg.device_coordinates.size(), arg.device_size.size()));
    }
  }

  void Advance(const PyValue& value, const OpSpec& op, TensorArg& arg) {
    arg.tile_advance = AsExpression(value, "device_tile_advance_expr");
    if (arg.per_tile_fixed && !FreeSymbols(*arg.tile_advance).empty()) {
      source().Fail(value.offset, "an advance of what is per_tile_fixed; leave one of them out");
    }
    for (const std::string& name : FreeSymbols(*arg.tile_advance)) {
      const auto has = [&](const auto& level) {
        return std::find(level.begin(), level.end(), name) != level.end();
      };
      if (NoneFits(op.tiled_symbols, has)) {
        source().Fail(value.offset, fmt::format("'{}' is not in tiled_symbols", name));
      }
    }
  }

  // Who owns which part of the tensor: it must be as the operation is divided.
  void CheckDivision(const PyValue& call, const OpSpec& op) {
    Keywords(call,
             {{"work_slices",
               [&](const PyValue& v) {
                 const auto& items = Dict(v, "work_slices");
                 for (size_t i = 0; i < items.size(); i += 2) {
                   const IterationSymbol* symbol = Find(op, Symbol(items[i], "work_slices"));
                   const int64_t split = Integer(items[i + 1], "work_slices", 1);
                   if (symbol == nullptr || symbol->split != split) {
                     source().Fail(items[i].offset,
                                   "a tensor divided in another way than its operation is not "
                                   "supported");
                   }
                 }
               }},
              {"core_id_to_work_slice", [&](const PyValue& v) { CheckSlices(v, op); }}},
             {});
  }
  void CheckSlices(const PyValue& value, const OpSpec& op) {
    const auto& items = Dict(value, "core_id_to_work_slice");
    for (size_t i = 0; i < items.size(); i += 2) {
      const std::string name = Symbol(items[i], "core_id_to_work_slice");
      const IterationSymbol* symbol = Find(op, name);
      if (symbol == nullptr) NotInSpace(items[i], name);
      if (op.core_slices.empty()) continue;
      const auto which = static_cast<size_t>(symbol - op.iteration_space.data());
      const Expression slice = AsExpression(items[i + 1], "core_id_to_work_slice");
      if (ToString(slice) != ToString(op.core_slices[which])) {
        source().Fail(items[i].offset,
                      "a tensor on other cores than its operation is not supported");
      }
    }
  }

  // tiled_symbols of the loops around, outermost first
  std::vector<std::vector<std::string>> loops_;
  bool ops_say_ = true;  // some operation of the nest around has tiled_symbols of its own
};

}  // namespace

bool OpSpec::HasConstant(std::string_view name) const {
  return AnyFits(constants, [&](const OpConstant& constant) { return constant.name == name; });
}

KernelSource ParseOpSpecSource(const std::string& text, const std::string& file,
                               const std::string& kernel_name) {
  const PySource source(text, file);
  KernelSource kernel;
  SpecReader reader(source);
  if (const std::optional<WrapperCall> wrapper = FindKernel(source, kernel_name)) {
    const PyValue call = source.Parse(wrapper->offset);
    if (call.items.size() != 2) {
      source.Fail(wrapper->offset, "sdsc() takes the kernel's name and the list of operations");
    }
    kernel.name = wrapper->kernel;
    kernel.body = reader.Nodes(call.items[1]);
    CheckOneEra(source, call.items[1]);
    return kernel;
  }
  size_t end = 0;
  const PyValue value = source.Parse(0, &end);
  end = source.SkipBlanks(end);
  if (end < text.size()) source.Fail(end, "something behind the list of operations");
  if (value.kind == PyKind::kList) {
    kernel.body = reader.Nodes(value);
  } else {
    kernel.body.push_back(reader.Node(value));
  }
  CheckOneEra(source, value);
  return kernel;
}

}  // namespace spyre::compiler
