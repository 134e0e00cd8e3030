// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/bundle_mlir.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

using Strides = std::vector<int64_t>;

// A map has one dimension for each loop that advances; the loops that do not are left out.
Strides Advancing(const Strides& loop_stride) {
  Strides strides;
  std::copy_if(loop_stride.begin(), loop_stride.end(), std::back_inserter(strides),
               [](int64_t stride) { return stride != 0; });
  return strides;
}

class MlirWriter {
 public:
  explicit MlirWriter(const MlirModule& module) : module_(module) {}

  std::string Write() {
    Collect(module_.body);
    Maps();
    Line(0, "module {{");
    Parameters();
    LoopConstants();
    Symbols();
    std::vector<std::string> loops;
    Body(module_.body, loops);
    Line(2, "return");
    Line(1, "}}");
    Line(0, "}}");
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Line(size_t indent, fmt::format_string<Args...> format, Args&&... args) {
    text_.append(indent, '\t');
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_.push_back('\n');
  }

  void Collect(const std::vector<MlirNode>& nodes) {
    for (const MlirNode& node : nodes) {
      if (const auto* loop = std::get_if<MlirLoop>(&node)) {
        loops_.push_back(loop);
        Collect(loop->body);
        continue;
      }
      for (const MlirTensor& tensor : std::get<MlirExecute>(node).tensors) {
        const Strides strides = Advancing(tensor.loop_stride);
        if (!strides.empty()) map_number_.emplace(strides, map_number_.size());
      }
    }
  }

  void Maps() {
    std::vector<const Strides*> maps(map_number_.size());
    for (const auto& [strides, number] : map_number_) maps[number] = &strides;
    for (size_t number = 0; number < maps.size(); ++number) {
      std::vector<std::string> dims;
      std::string sum = "s0";
      for (const int64_t stride : *maps[number]) {
        sum += fmt::format(" + {}*d{}", stride, dims.size());
        dims.push_back(fmt::format("d{}", dims.size()));
      }
      Line(0, "#map_{} = affine_map<({})[s0] -> ({})>", number, Joined(dims, ", "), sum);
    }
  }

  static std::string ParameterName(const BundleArgument& argument) {
    return argument.kind == BundleArgument::Kind::kDimension ? argument.name + "_base"
                                                             : argument.name + "_base_addr";
  }

  static std::string ParameterType(const BundleArgument& argument) {
    if (argument.kind != BundleArgument::Kind::kDimension) return "!sdscbundle.input_arg<index>";
    return fmt::format("!sdscbundle.input_arg<index, granularity={}, max_value={}>",
                       argument.granularity, argument.max);
  }

  void Parameters() {
    std::vector<std::string> parameters;
    for (const BundleArgument& argument : module_.arguments) {
      parameters.push_back(
          fmt::format("%{}: {}", ParameterName(argument), ParameterType(argument)));
    }
    Line(1, "func.func @sdsc_bundle({}) {{", Joined(parameters, ", "));
    for (const BundleArgument& argument : module_.arguments) {
      Line(2, "%{} = sdscbundle.input_arg_extract value from %{} : {} -> index", argument.name,
           ParameterName(argument), ParameterType(argument));
    }
  }

  void LoopConstants() {
    if (loops_.empty()) return;
    Line(2, "%c0 = arith.constant 0 : index");
    Line(2, "%c1 = arith.constant 1 : index");
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i]->count_argument >= 0) continue;
      Line(2, "%loop_bound_{} = arith.constant {} : index", i, loops_[i]->count);
    }
  }

  void Symbols() {
    if (!module_.with_symbols) return;
    // Ids count down: -1 is the first.
    for (auto it = module_.symbols.rbegin(); it != module_.symbols.rend(); ++it) {
      const MlirSymbol& symbol = it->second;
      if (symbol.argument < 0) {
        Line(2, "{} = arith.constant {} : index", NameOf(it->first), symbol.value);
        continue;
      }
      const BundleArgument& base = Argument(symbol.argument);
      if (base.kind == BundleArgument::Kind::kPool) {
        Offset(base.name, "_offset_", "_addr_", symbol.value);
        continue;
      }
      std::string name = base.name;
      if (symbol.slice != 0) name = Offset(name, "_slice_offset_", "_slice_", symbol.slice);
      if (symbol.value != 0) Offset(name, "_core_offset_", "_core_", symbol.value);
    }
  }

  // Writes an address `bytes` behind another, once; returns its name.
  std::string Offset(const std::string& base, const char* constant, const char* sum,
                     int64_t bytes) {
    std::string name = fmt::format("{}{}{}", base, sum, bytes);
    if (!offsets_.insert(name).second) return name;
    Line(2, "%{}{}{} = arith.constant {} : index", base, constant, bytes, bytes);
    Line(2, "%{} = arith.addi %{}, %{}{}{} : index", name, base, base, constant, bytes);
    return name;
  }

  const BundleArgument& Argument(int number) const {
    if (static_cast<size_t>(number) >= module_.arguments.size()) {
      throw InternalError("bundle.mlir: no argument {}", number);
    }
    return module_.arguments[static_cast<size_t>(number)];
  }

  std::string NameOf(int64_t id) const {
    const auto it = module_.symbols.find(id);
    if (it == module_.symbols.end()) {
      throw InternalError("bundle.mlir: symbol {} has no value", id);
    }
    const MlirSymbol& symbol = it->second;
    if (symbol.argument < 0) return fmt::format("%sym_{}", -id);
    const BundleArgument& base = Argument(symbol.argument);
    std::string name = "%" + base.name;
    if (base.kind == BundleArgument::Kind::kPool) {
      return fmt::format("{}_addr_{}", name, symbol.value);
    }
    if (symbol.slice != 0) name += fmt::format("_slice_{}", symbol.slice);
    if (symbol.value != 0) name += fmt::format("_core_{}", symbol.value);
    return name;
  }

  void Body(const std::vector<MlirNode>& nodes, std::vector<std::string>& loops) {
    const size_t indent = 2 + loops.size();
    for (const MlirNode& node : nodes) {
      if (const auto* execute = std::get_if<MlirExecute>(&node)) {
        Execute(*execute, loops);
        continue;
      }
      const auto& loop = std::get<MlirLoop>(node);
      const size_t number = next_loop_++;
      const std::string bound = loop.count_argument >= 0 ? Argument(loop.count_argument).name
                                                         : fmt::format("loop_bound_{}", number);
      Line(indent, "scf.for %i_{} = %c0 to %{} step %c1 {{", number, bound);
      loops.push_back(fmt::format("%i_{}", number));
      Body(loop.body, loops);
      loops.pop_back();
      Line(indent, "}}");
    }
  }

  // One affine.apply for each symbol of the operation that advances; returns the operand of each.
  std::map<int64_t, std::string> Advance(const MlirExecute& execute,
                                         const std::vector<std::string>& loops) {
    std::map<int64_t, std::string> operands;
    for (const MlirTensor& tensor : execute.tensors) {
      const Strides strides = Advancing(tensor.loop_stride);
      if (strides.empty()) continue;
      std::vector<std::string> variables;
      for (size_t level = 0; level < tensor.loop_stride.size(); ++level) {
        if (tensor.loop_stride[level] != 0) variables.push_back(loops.at(level));
      }
      for (const int64_t id : tensor.symbols) {
        if (operands.count(id) != 0) continue;
        const std::string address = fmt::format("%addr_{}", next_address_++);
        Line(2 + loops.size(), "{} = affine.apply #map_{}({})[{}]", address,
             map_number_.at(strides), Joined(variables, ", "), NameOf(id));
        operands[id] = address;
      }
    }
    return operands;
  }

  void Execute(const MlirExecute& execute, const std::vector<std::string>& loops) {
    const size_t indent = 2 + loops.size();
    if (!module_.with_symbols) {
      Line(indent, "sdscbundle.sdsc_execute () {{sdsc_filename=\"{}\"}}", execute.file);
      return;
    }
    const std::map<int64_t, std::string> advanced = Advance(execute, loops);
    std::vector<int64_t> ids;
    std::vector<std::string> operands;
    std::set<int64_t> seen;
    for (const MlirTensor& tensor : execute.tensors) {
      for (const int64_t id : tensor.symbols) {
        if (!seen.insert(id).second) continue;
        const auto it = advanced.find(id);
        ids.push_back(id);
        operands.push_back(it == advanced.end() ? NameOf(id) : it->second);
      }
    }
    Line(indent, "sdscbundle.sdsc_execute ({}) {{sdsc_filename=\"{}\", \"symbol_ids\"=[{}]}}",
         Joined(operands, ", "), execute.file, Joined(ids, ", "));
  }

  const MlirModule& module_;
  std::string text_;
  std::vector<const MlirLoop*> loops_;  // depth first
  std::map<Strides, size_t> map_number_;
  std::set<std::string> offsets_;  // names of addresses that are written
  size_t next_loop_ = 0;
  size_t next_address_ = 0;
};

// Taken from the Bundle. Its SuperDSCs, where they are there, say which symbols are one tensor; any
// other symbol is a tensor of its own.
class FromBundle {
 public:
  FromBundle(const Bundle& bundle, BundleDialect dialect) : bundle_(bundle), dialect_(dialect) {}

  MlirModule Run() {
    module_.with_symbols = dialect_ != BundleDialect::kBakedAddresses;
    if (dialect_ == BundleDialect::kSymbolicArguments) module_.arguments = bundle_.arguments;
    module_.body = Nodes(bundle_.body);
    return std::move(module_);
  }

 private:
  std::vector<MlirNode> Nodes(const std::vector<BundleNode>& nodes) {
    std::vector<MlirNode> result;
    for (const BundleNode& node : nodes) {
      if (const auto* loop = std::get_if<BundleLoop>(&node)) {
        if (loop->count_argument >= 0 && dialect_ != BundleDialect::kSymbolicArguments) {
          throw CompileError(
              "NotImplementedError", "symbolic_loop_count",
              fmt::format("bundle {}: a loop has no constant trip count", bundle_.name));
        }
        result.emplace_back(MlirLoop{loop->count, loop->count_argument, Nodes(loop->body)});
      } else {
        result.emplace_back(Execute(std::get<BundleExecute>(node)));
      }
    }
    return result;
  }

  MlirExecute Execute(const BundleExecute& execute) {
    const auto number = static_cast<size_t>(execute.dsc);
    MlirExecute result{bundle_.files.at(number), {}};
    if (!module_.with_symbols) return result;
    std::set<int64_t> seen;
    if (number < bundle_.dscs.size()) {
      for (const SdscTensor& tensor : bundle_.dscs[number].tensors) {
        if (!tensor.symbolic || tensor.start.empty()) continue;
        Add(execute, tensor.start, SliceOf(execute, tensor.start), seen, result);
      }
    }
    for (auto it = execute.symbols.rbegin(); it != execute.symbols.rend(); ++it) {
      if (seen.count(it->first) == 0) Add(execute, {it->first}, 0, seen, result);
    }
    return result;
  }

  // The lowest address of a tensor's cores is where the slice of the argument begins that the
  // operation works on.
  static int64_t SliceOf(const BundleExecute& execute, const std::vector<int64_t>& ids) {
    int64_t slice = AddressOf(execute, ids.front()).constant;
    for (const int64_t id : ids) slice = std::min(slice, AddressOf(execute, id).constant);
    return slice;
  }

  void Add(const BundleExecute& execute, const std::vector<int64_t>& ids, int64_t slice,
           std::set<int64_t>& seen, MlirExecute& result) {
    MlirTensor tensor{ids, {}};
    for (const int64_t id : ids) {
      const AddressExpression& address = AddressOf(execute, id);
      if (tensor.loop_stride.empty()) tensor.loop_stride = address.loop_stride;
      if (seen.insert(id).second) module_.symbols.emplace(id, SymbolOf(address, slice));
    }
    result.tensors.push_back(std::move(tensor));
  }

  static const AddressExpression& AddressOf(const BundleExecute& execute, int64_t id) {
    const auto it = execute.symbols.find(id);
    if (it == execute.symbols.end()) {
      throw InternalError("bundle.mlir: symbol {} is not bound", id);
    }
    return it->second;
  }

  MlirSymbol SymbolOf(const AddressExpression& address, int64_t slice) const {
    if (address.argument < 0) return {-1, address.constant, 0};
    if (dialect_ != BundleDialect::kSymbolicArguments) {
      // Arguments in order have one segment each, from segment 0.
      return {-1, address.constant + address.argument * static_cast<int64_t>(kSegmentBytes), 0};
    }
    const auto& base = bundle_.arguments.at(static_cast<size_t>(address.argument));
    if (base.kind == BundleArgument::Kind::kPool) slice = 0;
    return {address.argument, address.constant - slice, slice};
  }

  const Bundle& bundle_;
  BundleDialect dialect_;
  MlirModule module_;
};

}  // namespace

std::string WriteMlir(const MlirModule& module) { return MlirWriter(module).Write(); }

std::string BundleMlir(const Bundle& bundle, BundleDialect dialect) {
  return WriteMlir(FromBundle(bundle, dialect).Run());
}

}  // namespace spyre::compiler
