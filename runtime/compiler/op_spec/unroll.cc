// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/unroll.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/ir/checked.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

using Symbols = std::vector<std::string>;
using Values = std::map<std::string, int64_t>;

constexpr int64_t kLargestResult = 1 << 20;  // parts: operations, arguments, expression nodes
constexpr int kByteBits = 8;

int64_t Difference(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) throw BadInput("{} - {} is too large", a, b);
  return difference;
}

// All symbols of the coordinates at zero.
Values Origin(const TensorArg& arg) {
  Values values;
  for (const Expression& coordinate : arg.device_coordinates) {
    for (const std::string& symbol : FreeSymbols(coordinate)) values[symbol] = 0;
  }
  return values;
}

// How far each device coordinate moves when `symbol` goes from 0 to `tile`.
std::vector<int64_t> Moves(const TensorArg& arg, const std::string& symbol, int64_t tile) {
  const Values origin = Origin(arg);
  Values moved = origin;
  moved[symbol] = tile;
  std::vector<int64_t> moves;
  for (const Expression& coordinate : arg.device_coordinates) {
    moves.push_back(Difference(Evaluate(coordinate, moved), Evaluate(coordinate, origin)));
  }
  return moves;
}

const IterationSymbol* Find(const OpSpec& op, const std::string& symbol) {
  const auto it = FindIf(op.iteration_space, [&](const IterationSymbol& candidate) {
    return candidate.name == symbol;
  });
  return it == op.iteration_space.end() ? nullptr : &*it;
}

// Bytes per step of `symbol`: 0 for one that neither the operation nor the argument knows.
int64_t StrideOf(const OpSpec& op, const TensorArg& arg, const std::string& symbol) {
  const IterationSymbol* loop = Find(op, symbol);
  if (loop == nullptr && !arg.tile_advance) return 0;
  return TileStrideBytes(arg, symbol, loop == nullptr ? 1 : loop->range);
}

std::vector<int64_t> TileDeviceSize(const OpSpec& op, const TensorArg& arg,
                                    const Symbols& symbols) {
  const std::set<std::string> inside_stick = FreeSymbols(arg.device_coordinates.back());
  std::vector<int64_t> size = arg.device_size;
  for (const std::string& symbol : symbols) {
    const IterationSymbol* loop = Find(op, symbol);
    if (loop == nullptr || inside_stick.count(symbol) != 0) continue;
    const std::vector<int64_t> moves = Moves(arg, symbol, loop->range);
    for (size_t d = 0; d < moves.size(); ++d) {
      if (moves[d] > 0) size[d] = moves[d];
      if (arg.device_size[d] > 1) break;  // inside it, extents are strides
    }
  }
  return size;
}

int64_t NameParts(const std::string& name) { return 1 + static_cast<int64_t>(name.size()) / 32; }

int64_t PartsOf(const Expression& expression) {
  int64_t parts = NameParts(expression.symbol);
  for (const Expression& operand : expression.operands) parts += PartsOf(operand);
  return parts;
}

// How much memory the nodes take when they are written out, in units that do not matter.
int64_t PartsOf(const std::vector<SpecNode>& nodes);

int64_t CountOf(const LoopSpec& loop) {
  if (const auto* symbol = std::get_if<std::string>(&loop.count)) {
    throw CompileError(
        "ValueError", "symbolic_count",
        fmt::format("a loop with the symbolic trip count {} cannot be unrolled", *symbol));
  }
  const int64_t count = std::get<int64_t>(loop.count);
  if (count < 0) throw BadInput("a loop has a trip count of {}", count);
  return count;
}

int64_t PartsOf(const SpecNode& node) {
  if (const auto* loop = std::get_if<LoopSpec>(&node)) {
    return CheckedProduct(CountOf(*loop), PartsOf(loop->body));
  }
  const auto* op = std::get_if<OpSpec>(&node);
  if (op == nullptr) return 1;
  int64_t parts = NameParts(op->op);
  for (const IterationSymbol& symbol : op->iteration_space) parts += NameParts(symbol.name);
  for (const TensorArg& arg : op->args) {
    parts += 1;
    for (const Expression& coordinate : arg.device_coordinates) parts += PartsOf(coordinate);
  }
  return parts;
}

int64_t PartsOf(const std::vector<SpecNode>& nodes) {
  int64_t parts = 0;
  for (const SpecNode& node : nodes) parts = CheckedSum(parts, PartsOf(node));
  if (parts > kLargestResult) {
    throw BadInput("written out, the loops are too many operations: more than {} parts in all",
                   kLargestResult);
  }
  return parts;
}

class Unroller {
 public:
  std::vector<SpecNode> Unroll(const std::vector<SpecNode>& nodes) {
    PartsOf(nodes);  // before anything is made: the result may have only so many parts
    Nodes(nodes);
    return std::move(flat_);
  }

 private:
  // What the copies of an operation have in common, and how each of its arguments advances.
  struct Body {
    OpSpec op;
    std::vector<std::vector<int64_t>> strides;  // of each argument, of each loop around
  };

  void Nodes(const std::vector<SpecNode>& nodes) {
    for (const SpecNode& node : nodes) {
      if (const auto* loop = std::get_if<LoopSpec>(&node)) {
        Loop(*loop);
      } else if (const auto* op = std::get_if<OpSpec>(&node)) {
        Copy(BodyOf(*op));
      } else {
        flat_.push_back(node);
      }
    }
  }

  void Loop(const LoopSpec& loop) {
    if (PartsOf(loop.body) == 0) return;  // nothing, however often
    counts_.push_back(CountOf(loop));
    iterations_.push_back(0);
    for (; iterations_.back() < counts_.back(); ++iterations_.back()) Nodes(loop.body);
    iterations_.pop_back();
    counts_.pop_back();
  }

  const Body& BodyOf(const OpSpec& op) {
    const auto [entry, is_new] = bodies_.try_emplace(&op);
    Body& body = entry->second;
    if (!is_new) return body;
    body.op = op;
    body.op.tiled_symbols.clear();
    for (TensorArg& arg : body.op.args) {
      body.strides.push_back(LoopStrideBytes(op, arg, counts_.size()));
      Shrink(op, arg);
    }
    return body;
  }

  void Shrink(const OpSpec& op, TensorArg& arg) const {
    if (arg.per_tile_fixed) return;
    for (size_t level = std::min(counts_.size(), op.tiled_symbols.size()); level-- > 0;) {
      const Symbols& symbols = op.tiled_symbols[level];
      const bool moves =
          AnyFits(symbols, [&](const auto& symbol) { return StrideOf(op, arg, symbol) != 0; });
      if (moves) arg.device_size = TileDeviceSize(op, arg, symbols);
    }
  }

  void Copy(const Body& body) {
    OpSpec copy = body.op;
    for (size_t a = 0; a < copy.args.size(); ++a) {
      for (size_t level = 0; level < iterations_.size(); ++level) {
        copy.args[a].address = CheckedSum(
            copy.args[a].address, CheckedProduct(iterations_[level], body.strides[a][level]));
      }
    }
    flat_.emplace_back(std::move(copy));
  }

  std::vector<int64_t> counts_, iterations_;  // of the loops around, outermost first
  std::map<const OpSpec*, Body> bodies_;
  std::vector<SpecNode> flat_;
};

}  // namespace

int64_t TileStrideBytes(const TensorArg& arg, const std::string& symbol, int64_t tile) {
  if (arg.device_size.empty() || arg.device_size.size() != arg.device_coordinates.size()) {
    throw BadInput("a tensor has {} device sizes and {} device coordinates", arg.device_size.size(),
                   arg.device_coordinates.size());
  }
  int64_t elements = 0;
  if (arg.tile_advance) {
    Values values;
    for (const std::string& name : FreeSymbols(*arg.tile_advance)) values[name] = 0;
    const int64_t origin = Evaluate(*arg.tile_advance, values);
    if (values.count(symbol) == 0) return 0;
    values[symbol] = 1;
    elements = Difference(Evaluate(*arg.tile_advance, values), origin);
  } else {
    const std::vector<int64_t> moves = Moves(arg, symbol, tile);
    int64_t inner = 1;
    for (size_t d = moves.size(); d-- > 0;) {
      elements = CheckedSum(elements, CheckedProduct(moves[d], inner));
      inner = CheckedProduct(inner, arg.device_size[d]);
    }
  }
  const int bits = BitsPerElement(arg.device_format);
  if (bits % kByteBits != 0) {
    throw CompileError("RuntimeError", "sub_byte_format",
                       fmt::format("a tensor of {} has no whole bytes per element",
                                   FormatName(arg.device_format)));
  }
  return CheckedProduct(elements, bits / kByteBits);
}

std::vector<int64_t> LoopStrideBytes(const OpSpec& op, const TensorArg& arg, size_t loops) {
  std::vector<int64_t> strides(loops, 0);
  if (arg.per_tile_fixed) return strides;
  for (size_t level = 0; level < std::min(loops, op.tiled_symbols.size()); ++level) {
    for (const std::string& symbol : op.tiled_symbols[level])
      strides[level] = CheckedSum(strides[level], StrideOf(op, arg, symbol));
  }
  return strides;
}

KernelSource UnrollLoops(const KernelSource& source) {
  return {source.name, Unroller().Unroll(source.body)};
}

}  // namespace spyre::compiler
