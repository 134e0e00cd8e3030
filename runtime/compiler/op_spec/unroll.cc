#include "runtime/compiler/unroll.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "model/contract/error.h"
#include "runtime/compiler/checked.h"
#include "runtime/compiler/ir.h"

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
  const auto it =
      std::find_if(op.iteration_space.begin(), op.iteration_space.end(),
                   [&](const IterationSymbol& candidate) { return candidate.name == symbol; });
  return it == op.iteration_space.end() ? nullptr : &*it;
}

// Bytes that the argument advances per iteration, over all symbols of the loop that it knows.
struct Advance {
  bool moves = false;  // some symbol has a stride
  int64_t bytes = 0;
};

Advance AdvanceOf(const OpSpec& op, const TensorArg& arg, const Symbols& symbols) {
  Advance advance;
  if (arg.per_tile_fixed) return advance;
  for (const std::string& symbol : symbols) {
    const IterationSymbol* loop = Find(op, symbol);
    if (loop == nullptr && !arg.tile_advance) continue;
    const int64_t stride = TileStrideBytes(arg, symbol, loop == nullptr ? 1 : loop->range);
    advance.moves = advance.moves || stride != 0;
    advance.bytes = CheckedSum(advance.bytes, stride);
  }
  return advance;
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

// How much memory a node takes, in units that do not matter.
int64_t PartsOf(const SpecNode& node) {
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

class Unroller {
 public:
  // `depth` loops are around the nodes.
  std::vector<SpecNode> Nodes(const std::vector<SpecNode>& nodes, size_t depth) {
    std::vector<SpecNode> flat;
    for (const SpecNode& node : nodes) {
      if (const auto* loop = std::get_if<LoopSpec>(&node)) {
        for (SpecNode& copy : Loop(*loop, depth)) flat.push_back(std::move(copy));
      } else {
        Reserve(PartsOf(node));
        flat.push_back(node);
      }
    }
    return flat;
  }

 private:
  // Before anything is made: the result may have so many more parts.
  void Reserve(int64_t parts) {
    if (__builtin_add_overflow(parts_, parts, &parts_) || parts_ > kLargestResult) {
      throw BadInput("written out, the loops are too many operations: more than {} parts in all",
                     kLargestResult);
    }
  }

  static int64_t CountOf(const LoopSpec& loop) {
    if (const auto* symbol = std::get_if<std::string>(&loop.count)) {
      throw CompileError(
          "ValueError", "symbolic_count",
          fmt::format("a loop with the symbolic trip count {} cannot be unrolled", *symbol));
    }
    const int64_t count = std::get<int64_t>(loop.count);
    if (count < 0) throw BadInput("a loop has a trip count of {}", count);
    return count;
  }

  // What the loop advances in operations that do not say it themselves.
  static Symbols SymbolsOf(const LoopSpec& loop, const std::vector<SpecNode>& body) {
    if (!loop.tiled_symbols.empty()) return loop.tiled_symbols;
    Symbols symbols;
    for (const SpecNode& node : body) {
      const auto* op = std::get_if<OpSpec>(&node);
      if (op == nullptr) continue;
      for (const Symbols& level : op->tiled_symbols) {
        symbols.insert(symbols.end(), level.begin(), level.end());
      }
      break;
    }
    return symbols;
  }

  std::vector<SpecNode> Loop(const LoopSpec& loop, size_t depth) {
    std::vector<SpecNode> body = Nodes(loop.body, depth + 1);
    const int64_t count = CountOf(loop);
    const Symbols symbols = SymbolsOf(loop, body);
    if (body.empty() || count == 0) return {};
    const int64_t parts =
        std::accumulate(body.begin(), body.end(), int64_t{0},
                        [](int64_t sum, const SpecNode& node) { return sum + PartsOf(node); });
    Reserve(CheckedProduct(parts, count - 1));  // the body itself is there
    std::vector<std::vector<int64_t>> bytes(body.size());
    for (size_t i = 0; i < body.size(); ++i) {
      auto* op = std::get_if<OpSpec>(&body[i]);
      if (op == nullptr) continue;
      const bool own = loop.tiled_symbols.empty() && depth < op->tiled_symbols.size();
      bytes[i] = Shrink(*op, own ? Symbols(op->tiled_symbols[depth]) : symbols, depth);
    }
    std::vector<SpecNode> flat;
    flat.reserve(body.size() * static_cast<size_t>(count));
    for (int64_t iteration = 0; iteration < count; ++iteration) {
      for (size_t i = 0; i < body.size(); ++i) {
        flat.push_back(body[i]);
        auto* op = std::get_if<OpSpec>(&flat.back());
        if (op == nullptr) continue;
        for (size_t a = 0; a < op->args.size(); ++a) {
          op->args[a].address =
              CheckedSum(op->args[a].address, CheckedProduct(iteration, bytes[i][a]));
        }
      }
    }
    return flat;
  }

  // Makes `op` what the copies have in common; returns the bytes that each argument advances.
  static std::vector<int64_t> Shrink(OpSpec& op, const Symbols& symbols, size_t depth) {
    std::vector<int64_t> bytes;
    for (TensorArg& arg : op.args) {
      const Advance advance = AdvanceOf(op, arg, symbols);
      bytes.push_back(advance.bytes);
      if (advance.moves) arg.device_size = TileDeviceSize(op, arg, symbols);
    }
    // What is left belongs to the loops outside.
    op.tiled_symbols.resize(std::min(op.tiled_symbols.size(), depth));
    return bytes;
  }

  int64_t parts_ = 0;  // of the result so far
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

KernelSource UnrollLoops(const KernelSource& source) {
  return {source.name, Unroller().Nodes(source.body, 0)};
}

}  // namespace spyre::compiler
