// SPDX-License-Identifier: Apache-2.0
// Whose defaults the passes have: those of this project, or those of the public compiler at one of
// two times, so that a list comes out as it did there. Each default may still be set by itself.
//
// Callers: the workload (workload.compiler), the form of a graph (options.compiler). Any thread.
// Source: the coarse-tiling RFC, captured bundles, docs/compiler.md "Whose defaults".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::compiler {

struct FrontEndOptions;

enum class CompilerPreset : uint8_t {
  kOwn,
  kPublic,     // of June 2026, from which bundles were captured
  kPublicRfc,  // of the coarse-tiling RFC, May 2026
};

const std::vector<std::string>& CompilerPresetNames();         // "own", "public", "public-rfc"
CompilerPreset CompilerPresetFromName(std::string_view name);  // BadInput with the nearest name

// The defaults. Cores, LX capacity, plan and card timing are left as FrontEndOptions has them.
FrontEndOptions OptionsOf(CompilerPreset preset);

}  // namespace spyre::compiler
