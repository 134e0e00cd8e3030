// SPDX-License-Identifier: Apache-2.0
// The arguments of a bundle: from the segments of its addresses, and how each is used.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/bundle/bundle_accesses.h"
#include "runtime/compiler/bundle/for_each_execute.h"

namespace spyre::compiler {
namespace {

using ArgumentKind = BundleArgument::Kind;
using SegmentArguments = std::array<int, kSegments>;  // position in Bundle::arguments

// Addresses in the files become symbols that every execute of the file binds to them.
void MakeSymbolic(Bundle& bundle) {
  int64_t symbol = 0;
  ForEachExecute(bundle, [&](BundleExecute& execute) {
    if (!execute.symbols.empty()) symbol = std::min(symbol, execute.symbols.begin()->first);
  });
  std::vector<std::map<int64_t, AddressExpression>> added(bundle.dscs.size());
  for (size_t i = 0; i < bundle.dscs.size(); ++i) {
    for (SdscTensor& tensor : bundle.dscs[i].tensors) {
      if (tensor.in_lx || tensor.symbolic) continue;
      for (int64_t& start : tensor.start) {
        added[i][--symbol] = {-1, start, {}};
        start = symbol;
      }
      tensor.symbolic = true;
    }
  }
  ForEachExecute(bundle, [&](BundleExecute& execute) {
    const auto& symbols = added[static_cast<size_t>(execute.dsc)];
    execute.symbols.insert(symbols.begin(), symbols.end());
  });
}

void Rebase(Bundle& bundle, const SegmentArguments& argument) {
  ForEachExecute(bundle, [&](BundleExecute& execute) {
    for (auto& [id, address] : execute.symbols) {
      if (address.argument >= 0) continue;
      const int64_t segment = address.constant >> kSegmentBits;
      const bool tensor = segment >= 0 && segment < kProgramSegment;
      if (!tensor || argument[static_cast<size_t>(segment)] < 0) continue;  // nothing uses it
      address.argument = argument[static_cast<size_t>(segment)];
      address.constant -= segment << kSegmentBits;
    }
  });
}

ArgumentUse UseOf(const MemoryUse& use) {
  return {use.read,
          use.written,
          use.read_first,
          static_cast<uint64_t>(use.end),
          static_cast<uint64_t>(use.written_end),
          static_cast<uint64_t>(use.whole_end)};
}

}  // namespace

std::vector<ArgumentUse> BindSegments(Bundle& bundle, std::optional<bool> pool_in_segment_0) {
  const bool bound = AnyFits(
      bundle.arguments, [](const BundleArgument& a) { return a.kind != ArgumentKind::kDimension; });
  if (bound) return ArgumentUses(bundle);
  MakeSymbolic(bundle);
  const std::map<int, MemoryUse> uses = MemoryUses(bundle);
  const auto first = uses.find(0);
  const bool scratch = first != uses.end() && first->second.read && first->second.written &&
                       !first->second.read_first;
  const bool pool = first != uses.end() && pool_in_segment_0.value_or(scratch);
  SegmentArguments argument;
  argument.fill(-1);
  std::vector<ArgumentUse> argument_uses(bundle.arguments.size());  // nothing uses a dimension
  for (const auto& [segment, use] : uses) {
    argument[static_cast<size_t>(segment)] = static_cast<int>(bundle.arguments.size());
    BundleArgument added;
    const bool is_pool = segment == 0 && pool;
    added.kind = is_pool ? ArgumentKind::kPool : ArgumentKind::kTensor;
    added.name = is_pool ? "pool" : fmt::format("arg_{}", segment - (pool ? 1 : 0));
    bundle.arguments.push_back(std::move(added));
    argument_uses.push_back(UseOf(use));
  }
  Rebase(bundle, argument);
  return argument_uses;
}

std::vector<ArgumentUse> ArgumentUses(const Bundle& bundle) {
  std::vector<ArgumentUse> uses(bundle.arguments.size());
  for (const auto& [slot, use] : MemoryUses(bundle)) {
    const int argument = slot - kFirstArgumentSlot;
    if (argument < 0) {
      throw BadInput("{}: an address in segment {} belongs to no argument of the bundle",
                     bundle.name, slot);
    }
    uses[static_cast<size_t>(argument)] = UseOf(use);
  }
  return uses;
}

}  // namespace spyre::compiler
