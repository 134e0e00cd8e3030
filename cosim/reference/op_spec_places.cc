// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/op_spec_places.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/op_spec_memory.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/checked.h"
#include "runtime/compiler/ir/expression.h"

namespace spyre::cosim {
namespace {

using compiler::CheckedProduct;
using compiler::CheckedSum;
using compiler::Expression;
using compiler::IterationSymbol;
using compiler::OpSpec;
using compiler::TensorArg;
using SymbolValues = std::map<std::string, int64_t>;

// Whether each of its terms has one symbol at most.
bool IsSumOfTerms(const Expression& expression) {
  if (compiler::FreeSymbols(expression).size() < 2) return true;
  const auto& operands = expression.operands;
  if (expression.kind == Expression::Kind::kAdd) return AllFit(operands, IsSumOfTerms);
  if (expression.kind != Expression::Kind::kMultiply) return false;
  const auto varies = [](const Expression& e) { return !compiler::FreeSymbols(e).empty(); };
  return std::count_if(operands.begin(), operands.end(), varies) == 1 &&
         AllFit(operands, IsSumOfTerms);
}

// The device coordinates of one argument as one number of bytes.
class Linear {
 public:
  explicit Linear(const TensorArg& arg) : arg_(arg), step_(arg.device_size.size()) {
    int64_t step = DeviceElementBytes(arg.device_format);
    for (size_t d = step_.size(); d-- > 0;) {
      step_[d] = step;
      step = CheckedProduct(step, arg.device_size[d]);
      symbols_.push_back(compiler::FreeSymbols(arg.device_coordinates[d]));
      if (IsSumOfTerms(arg.device_coordinates[d])) continue;
      throw BadInput("device coordinate '{}' is not a sum of terms of one symbol each",
                     compiler::ToString(arg.device_coordinates[d]));
    }
    std::reverse(symbols_.begin(), symbols_.end());
  }

  // The bytes that come from coordinates that use `symbol`, or from all coordinates if it is empty.
  int64_t Bytes(const SymbolValues& values, const std::string& symbol) const {
    int64_t bytes = 0;
    for (size_t d = 0; d < step_.size(); ++d) {
      if (!symbol.empty() && symbols_[d].count(symbol) == 0) continue;
      const int64_t coordinate = compiler::Evaluate(arg_.device_coordinates[d], values);
      bytes = CheckedSum(bytes, CheckedProduct(coordinate, step_[d]));
    }
    return bytes;
  }

 private:
  const TensorArg& arg_;
  std::vector<int64_t> step_;                   // bytes, by device dimension
  std::vector<std::set<std::string>> symbols_;  // of each coordinate
};

// What the loops around add to the iteration symbols: whole tiles.
SymbolValues Origin(const OpSpec& op, const TensorArg& arg,
                    const std::vector<int64_t>& iterations) {
  SymbolValues origin;
  for (const IterationSymbol& symbol : op.iteration_space) origin[symbol.name] = 0;
  if (arg.per_tile_fixed || arg.tile_advance || arg.memory == compiler::Memory::kLx) return origin;
  for (size_t level = 0; level < std::min(iterations.size(), op.tiled_symbols.size()); ++level) {
    for (const IterationSymbol& symbol : op.iteration_space) {
      const auto& tiled = op.tiled_symbols[level];
      if (std::find(tiled.begin(), tiled.end(), symbol.name) == tiled.end()) continue;
      origin[symbol.name] =
          CheckedSum(origin[symbol.name], CheckedProduct(iterations[level], symbol.range));
    }
  }
  return origin;
}

// What the newest form says instead: elements from the first tile.
int64_t AdvanceBytes(const OpSpec& op, const TensorArg& arg,
                     const std::vector<int64_t>& iterations) {
  if (!arg.tile_advance || arg.per_tile_fixed) return 0;
  SymbolValues first, values;
  for (const std::string& name : compiler::FreeSymbols(*arg.tile_advance))
    first[name] = values[name] = 0;
  for (size_t level = 0; level < std::min(iterations.size(), op.tiled_symbols.size()); ++level) {
    for (const std::string& name : op.tiled_symbols[level]) {
      if (values.count(name) != 0) values[name] = iterations[level];
    }
  }
  const int64_t elements =
      compiler::Evaluate(*arg.tile_advance, values) - compiler::Evaluate(*arg.tile_advance, first);
  return CheckedProduct(elements, DeviceElementBytes(arg.device_format));
}

OpSpecPlace Place(const OpSpec& op, const TensorArg& arg, const std::vector<int64_t>& iterations,
                  const std::function<int64_t(const IterationSymbol&, int64_t)>& position) {
  const Linear linear(arg);
  SymbolValues values = Origin(op, arg, iterations);
  OpSpecPlace place;
  place.start = CheckedSum(CheckedSum(OpSpecMemory::StartOf(arg), linear.Bytes(values, "")),
                           AdvanceBytes(op, arg, iterations));
  for (const IterationSymbol& symbol : op.iteration_space) {
    int64_t& value = values[symbol.name];
    const int64_t origin = value;
    const int64_t none = linear.Bytes(values, symbol.name);
    std::vector<int64_t>& offset = place.offset.emplace_back();
    offset.reserve(static_cast<size_t>(symbol.range));
    for (int64_t i = 0; i < symbol.range; ++i) {
      value = CheckedSum(origin, position(symbol, i));
      offset.push_back(linear.Bytes(values, symbol.name) - none);
    }
    value = origin;
  }
  return place;
}

}  // namespace

bool OpSpecPlace::Walks(size_t symbol) const {
  const std::vector<int64_t>& offsets = offset[symbol];
  return AnyFits(offsets, [](int64_t bytes) { return bytes != 0; });
}

OpSpecPlace PlaceOf(const OpSpec& op, const TensorArg& arg,
                    const std::vector<int64_t>& iterations) {
  return Place(op, arg, iterations, [](const IterationSymbol&, int64_t i) { return i; });
}

OpSpecPlace WidePlaceOf(const OpSpec& op, const TensorArg& arg, const TensorArg& narrow, int turn,
                        const std::vector<int64_t>& iterations) {
  const std::set<std::string> inside = compiler::FreeSymbols(narrow.device_coordinates.back());
  const int64_t in_stick =
      static_cast<int64_t>(kStickBytes) / DeviceElementBytes(narrow.device_format);
  return Place(op, arg, iterations, [&](const IterationSymbol& symbol, int64_t i) {
    if (inside.count(symbol.name) == 0) return i;
    const int64_t lane = i % in_stick;
    const int64_t second = lane / turn % 2;
    const int64_t in_half = lane / (2 * turn) * turn + lane % turn;
    return i - lane + second * (in_stick / 2) + in_half;
  });
}

std::vector<int64_t> Spread(const OpSpecPlace& place, const std::vector<size_t>& symbols) {
  std::vector<int64_t> offsets = {0};
  for (const size_t symbol : symbols) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * place.offset[symbol].size());
    for (const int64_t offset : offsets) {
      for (const int64_t step : place.offset[symbol]) next.push_back(offset + step);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace spyre::cosim
