// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/compiler_preset.h"

#include <algorithm>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

const std::vector<std::string>& CompilerPresetNames() {
  static const std::vector<std::string> names = {"own", "public", "public-rfc"};
  return names;
}

CompilerPreset CompilerPresetFromName(std::string_view name) {
  const std::vector<std::string>& names = CompilerPresetNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw BadInput("compiler '{}' must be {}{}", name, Joined(names, ", "),
                   DidYouMean(std::string(name), names));
  }
  return static_cast<CompilerPreset>(found - names.begin());
}

FrontEndOptions OptionsOf(CompilerPreset preset) {
  FrontEndOptions options;
  if (preset == CompilerPreset::kOwn) {
    // The public planner of August 2026 lets every pointwise operation do so; these are the common.
    for (const char* const op : {"add", "mul", "realdiv"}) options.lx.in_place.emplace_back(op);
    return options;
  }
  options.division.agree = false;
  options.lx.all_operations = false;
  options.lowering.host_order = true;
  options.lowering.arguments_by_use = true;
  if (preset == CompilerPreset::kPublicRfc) {
    options.dialect = BundleDialect::kSymbolicConstants;
    return options;
  }
  options.division.rule = SplitRule::kPublicCost;
  // The captured bundles keep sums in the place of an exponential, which the RFC's planner did not.
  options.lx.operations.emplace_back("add");
  options.lx.in_place.emplace_back("add");
  options.dialect = BundleDialect::kBakedAddresses;
  return options;
}

}  // namespace spyre::compiler
