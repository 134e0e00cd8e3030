// SPDX-License-Identifier: Apache-2.0
// Whose defaults the passes have: those of this project, or those of the public compiler at one of
// two times, so that a list comes out as it did there. Each default may still be set by itself.
//
// Callers: the workload (workload.compiler), the form of a graph (options.compiler). Any thread.
// Source: the coarse-tiling RFC, captured bundles, docs/compiler.md "Defaults".
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

// What co-optimization (co_optimize.h) minimizes: bytes that operations move from and to device
// memory, and what the rest is worth in such bytes. Off with every preset. docs/tiles-and-lx.md
// "Tiling and LX together" says where the figures are from.
struct CoOptimizeCost {
  static constexpr int64_t kBytesPerStep = 32768;
  static constexpr int64_t kBytesPerOperation = 2048;

  int64_t bytes_per_step =
      kBytesPerStep;  // an operation begun once more, in an iteration of a loop
  int64_t bytes_per_operation = kBytesPerOperation;  // in the program, written-out loops and all
};

const std::vector<std::string>& CompilerPresetNames();         // "own", "public", "public-rfc"
CompilerPreset CompilerPresetFromName(std::string_view name);  // BadInput with the nearest name

// The defaults. Cores, LX capacity, plan and card timing are left as FrontEndOptions has them.
FrontEndOptions OptionsOf(CompilerPreset preset);

}  // namespace spyre::compiler
