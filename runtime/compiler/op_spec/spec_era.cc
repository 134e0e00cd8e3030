// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/spec_era.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <variant>

#include "base/ranges.h"
#include "runtime/compiler/op_spec/tiled_symbols.h"
#include "runtime/compiler/op_spec/unroll.h"

namespace spyre::compiler {
namespace {

constexpr int kBitsInByte = 8;

bool Has(const OpSpec& op, const std::string& symbol) {
  return AnyFits(op.iteration_space,
                 [&](const IterationSymbol& own) { return own.name == symbol; });
}

bool SaysNothing(const OpSpec& op) {
  return AllFit(op.tiled_symbols, [](const auto& level) { return level.empty(); });
}

bool NeedsNewest(const OpSpec& op, size_t loops) {
  const bool advances =
      AnyFits(op.args, [](const TensorArg& arg) { return arg.tile_advance.has_value(); });
  if (advances || !op.core_slices.empty()) return true;
  for (const auto& level : op.tiled_symbols)
    if (!AllFit(level, [&](const auto& name) { return Has(op, name); })) return true;
  if (SaysNothing(op)) return false;
  // One loop may advance any symbols, several only one each: else the flat list is ambiguous.
  return loops > 1 &&
         AnyFits(op.tiled_symbols, [](const auto& level) { return level.size() != 1; });
}

bool NeedsNewest(const std::vector<SpecNode>& nodes, size_t loops) {
  return AnyFits(nodes, [&](const SpecNode& node) {
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

// Of one thing that the eras say in different ways, the first place in either way.
class Form {
 public:
  void Add(const PySource& source, OpSpecEra era, const char* field, size_t offset) {
    std::optional<Place>& own = era == OpSpecEra::kRfc ? rfc_ : newest_;
    if (!own) own = {field, offset};
    if (!rfc_ || !newest_) return;
    source.Fail(offset, fmt::format("{} (at {}) is of older sources and {} (at {}) of newer ones; "
                                    "a source has the fields of one version",
                                    rfc_->field, source.Where(rfc_->offset), newest_->field,
                                    source.Where(newest_->offset)));
  }

 private:
  struct Place {
    const char* field;
    size_t offset;
  };
  std::optional<Place> rfc_;
  std::optional<Place> newest_;
};

class EraCheck {
 public:
  explicit EraCheck(const PySource& source) : source_(source) {}

  void Nodes(const PyValue& value) {
    for (const PyValue& item : value.items) Nodes(item);
    for (const PyKeyword& keyword : value.keywords) {
      if (keyword.name == "body" || keyword.name == "args") Nodes(keyword.value);
      Field(keyword);
    }
  }

 private:
  void Field(const PyKeyword& keyword) {
    const PyValue& value = keyword.value;
    const size_t at = keyword.offset;
    if (keyword.name == "device_tile_advance_expr" && value.kind != PyValue::Kind::kNone) {
      steps_.Add(source_, OpSpecEra::kNewest, "device_tile_advance_expr", at);
    }
    if (value.items.empty()) return;
    if (keyword.name == "stride_map") steps_.Add(source_, OpSpecEra::kRfc, "stride_map", at);
    if (keyword.name == "tiled_symbols") {
      if (IsListForEachLoop(value)) {
        steps_.Add(source_, OpSpecEra::kNewest, "tiled_symbols with a list for each loop", at);
      } else {
        steps_.Add(source_, OpSpecEra::kRfc, "tiled_symbols as one flat list", at);
      }
    }
    if (keyword.name != "allocation") return;
    const std::string& key = value.items[0].text;
    if (key == "pool") pool_.Add(source_, OpSpecEra::kRfc, "'pool'", at);
    if (key == "hbm_pool") pool_.Add(source_, OpSpecEra::kNewest, "'hbm_pool'", at);
  }

  const PySource& source_;
  Form steps_;
  Form pool_;
};

}  // namespace

void CheckOneEra(const PySource& source, const PyValue& body) { EraCheck(source).Nodes(body); }

OpSpecEra EraOf(const KernelSource& source) {
  return NeedsNewest(source.body, 0) ? OpSpecEra::kNewest : OpSpecEra::kRfc;
}

KernelSource InNewestEra(const KernelSource& source) {
  KernelSource newest = source;
  ToNewest(newest.body, 0);
  return newest;
}

}  // namespace spyre::compiler
