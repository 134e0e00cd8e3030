// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/spec_era.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "runtime/compiler/op_spec/unroll.h"

namespace spyre::compiler {
namespace {

constexpr int kBitsInByte = 8;

bool Has(const OpSpec& op, const std::string& symbol) {
  return std::any_of(op.iteration_space.begin(), op.iteration_space.end(),
                     [&](const IterationSymbol& own) { return own.name == symbol; });
}

bool SaysNothing(const OpSpec& op) {
  return std::all_of(op.tiled_symbols.begin(), op.tiled_symbols.end(),
                     [](const auto& level) { return level.empty(); });
}

bool NeedsNewest(const OpSpec& op, size_t loops) {
  const bool advances = std::any_of(op.args.begin(), op.args.end(), [](const TensorArg& arg) {
    return arg.tile_advance.has_value();
  });
  if (advances || !op.core_slices.empty()) return true;
  for (const auto& level : op.tiled_symbols)
    if (!std::all_of(level.begin(), level.end(), [&](const auto& name) { return Has(op, name); }))
      return true;
  if (SaysNothing(op)) return false;
  // One loop may advance any symbols, several only one each: else the flat list is ambiguous.
  return loops > 1 && std::any_of(op.tiled_symbols.begin(), op.tiled_symbols.end(),
                                  [](const auto& level) { return level.size() != 1; });
}

bool NeedsNewest(const std::vector<SpecNode>& nodes, size_t loops) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const SpecNode& node) {
    if (const auto* op = std::get_if<OpSpec>(&node)) return NeedsNewest(*op, loops);
    const auto* loop = std::get_if<LoopSpec>(&node);
    return loop != nullptr && NeedsNewest(loop->body, loops + 1);
  });
}

void Advance(const OpSpec& op, size_t loops, TensorArg& arg) {
  arg.stride_map.clear();
  const std::vector<int64_t> bytes = LoopStrideBytes(op, arg, loops);
  std::string text;
  for (size_t level = 0; level < bytes.size(); ++level) {
    const int64_t elements = bytes[level] / (BitsPerElement(arg.device_format) / kBitsInByte);
    if (elements == 0) continue;
    text += fmt::format("{}{}*t{}", text.empty() ? "" : " + ", elements, level);
  }
  arg.per_tile_fixed = false;
  arg.tile_advance.reset();
  if (!text.empty()) arg.tile_advance = ParseExpression(text);
}

void ToNewest(std::vector<SpecNode>& nodes, size_t loops) {
  for (SpecNode& node : nodes) {
    if (auto* loop = std::get_if<LoopSpec>(&node)) ToNewest(loop->body, loops + 1);
    auto* op = std::get_if<OpSpec>(&node);
    if (op == nullptr) continue;
    const OpSpec before = *op;
    for (TensorArg& arg : op->args) Advance(before, loops, arg);
    for (size_t level = 0; level < op->tiled_symbols.size(); ++level) {
      if (!op->tiled_symbols[level].empty()) op->tiled_symbols[level] = {fmt::format("t{}", level)};
    }
  }
}

}  // namespace

OpSpecEra EraOf(const KernelSource& source) {
  return NeedsNewest(source.body, 0) ? OpSpecEra::kNewest : OpSpecEra::kRfc;
}

KernelSource InNewestEra(const KernelSource& source) {
  KernelSource newest = source;
  ToNewest(newest.body, 0);
  return newest;
}

}  // namespace spyre::compiler
