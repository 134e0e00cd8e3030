// SPDX-License-Identifier: Apache-2.0
// LaunchOptions: how LaunchTiled cuts a launch into tiles and what it does where they do not fit.
// Plain data, any thread. Names are those of the configuration keys workload.launch.*.
// Errors: Error(kBadInput) for an unknown name, with the known ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spyre::runtime {

// What becomes of a last tile that is smaller than the compiled one.
enum class Remainder {
  kFail,    // BadInput that says which sizes fit
  kPad,     // it goes through tensors of the tile's shape, filled with zeros
  kKernel,  // a kernel compiled for the rest runs on it
};

// Decides which launches LaunchKernel tiles.
enum class Routing {
  kAuto,    // those whose shapes are not exactly the compiled ones
  kStrict,  // none: shapes that are not exactly the compiled ones are BadInput
  kTiled,   // all, also for one tile
};

// What a launch does whose tiles divide a dimension that the kernel sums over.
enum class ReductionTiling {
  kFail,    // BadInput
  kDevice,  // partial sums are added up in device memory
  kLx,      // the accumulator stays in LX from tile to tile
  kPlan,    // the plan has an accumulate operation of its own
};

// What of one tile may run beside what of another.
enum class Overlap {
  kNone,          // one stream, one set of buffers: tiles follow each other
  kDoubleBuffer,  // `depth` sets of buffers
  kStreams,       // `depth` streams
};

struct LaunchOptions {
  // Names of dimensions, outermost loop first. Those not named follow in order of first appearance
  // in the arguments.
  std::vector<std::string> order;
  Remainder remainder = Remainder::kFail;
  Routing routing = Routing::kAuto;
  ReductionTiling reduction = ReductionTiling::kFail;
  Overlap overlap = Overlap::kNone;
  int depth = 2;  // of Overlap::kDoubleBuffer and kStreams: 1, as kNone, to kMaxOverlapDepth
};
inline constexpr int kMaxOverlapDepth = 32;

const char* Name(Remainder value);        // "fail", "pad", "remainder_kernel"
const char* Name(Routing value);          // "auto", "strict", "tiled"
const char* Name(ReductionTiling value);  // "fail", "device", "lx", "plan"
const char* Name(Overlap value);          // "none", "double_buffer", "streams"

Remainder RemainderFromName(std::string_view name);
Routing RoutingFromName(std::string_view name);
ReductionTiling ReductionTilingFromName(std::string_view name);
Overlap OverlapFromName(std::string_view name);

std::vector<std::string> RemainderNames();
std::vector<std::string> RoutingNames();
std::vector<std::string> ReductionTilingNames();
std::vector<std::string> OverlapNames();

}  // namespace spyre::runtime
