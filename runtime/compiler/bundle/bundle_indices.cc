// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/bundle_indices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/bundle/bundle_accesses.h"

namespace spyre::compiler {
namespace {

// Of the core that begins first, in the first iteration.
AddressExpression FirstStart(const BundleAccess& access) {
  AddressExpression first = StartOf(access, 0);
  for (size_t core = 1; core < access.tensor->start.size(); ++core) {
    const AddressExpression start = StartOf(access, core);
    if (start.constant < first.constant) first = start;
  }
  return first;
}

// The largest tensor that an access without an index has at the address of `indexed`; 0: there is
// none.
int64_t KnownBytes(const std::vector<BundleAccess>& accesses, const BundleAccess& indexed) {
  const AddressExpression start = FirstStart(indexed);
  int64_t known = 0;
  for (const BundleAccess& access : accesses) {
    if (IsIndexed(*access.tensor)) continue;
    const AddressExpression other = FirstStart(access);
    if (other.argument == start.argument && other.constant == start.constant)
      known = std::max(known, FootprintBytes(*access.dsc, *access.tensor));
  }
  return known;
}

}  // namespace

int64_t IndexedRows(const Bundle& bundle, const BundleExecute& execute,
                    const std::function<int64_t(int argument)>& bytes) {
  const std::vector<BundleAccess> accesses = Accesses(bundle);
  const auto indexed = FindIf(accesses, [&](const BundleAccess& access) {
    return access.execute == &execute && IsIndexed(*access.tensor);
  });
  if (indexed == accesses.end()) {
    throw BadInput("{}: an operation has an index tensor, and none that it chooses from",
                   bundle.name);
  }
  const AddressExpression start = FirstStart(*indexed);
  int64_t known = KnownBytes(accesses, *indexed);
  if (known == 0) known = bytes(start.argument) - start.constant;
  return std::max<int64_t>(1, known / IndexedBlockBytes(*indexed->dsc, *indexed->tensor));
}

std::set<int> ChosenFrom(const Bundle& bundle) {
  std::set<int> arguments;
  const std::vector<BundleAccess> accesses = Accesses(bundle);
  for (const BundleAccess& access : accesses)
    if (IsIndexed(*access.tensor) && KnownBytes(accesses, access) == 0)
      arguments.insert(FirstStart(access).argument);
  return arguments;
}

std::string IndexName(const Bundle& bundle, const BundleExecute& execute) {
  for (const BundleAccess& access : Accesses(bundle)) {
    if (access.execute != &execute || access.tensor != &access.dsc->tensors[access.dsc->index])
      continue;
    const BundleArgument& argument = bundle.arguments[StartOf(access, 0).argument];
    const bool pool = argument.kind == BundleArgument::Kind::kPool;
    return fmt::format("{} ({} of {})", pool ? "the pool" : argument.name, access.tensor->name,
                       *access.file);
  }
  throw InternalError("{}: no tensor has indices", bundle.name);
}

}  // namespace spyre::compiler
