// SPDX-License-Identifier: Apache-2.0
// What the kernel builders are asked for and what they make: one operation with fixed sizes as a
// compute program for the cores and the correction program that tells it where its tensors are.
//
// The programs take every address and every tensor stride from the address table. One kernel
// therefore walks whole tensors and tiles inside bigger tensors alike, whatever their stick layout,
// as long as the sizes are those it was compiled for.
//
// Plain data. runtime/compiler/codegen/generate_kernel.h makes a Kernel of a KernelSpec.
// Sources: docs/facts.md (LX size, span limit, work division); the tiling is this project's own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/contract/memory_map.h"
#include "model/contract/program.h"
#include "model/contract/stick_layout.h"
#include "runtime/compiler/division/matmul_cost.h"
#include "runtime/compiler/division/schedule.h"
#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/kernels/lx_use.h"

namespace spyre::compiler {

// Where the fp32 accumulators of a matmul stay between the launches of a k that is longer than the
// compiled one (docs/tiled-launches.md "Tiling a reduction").
enum class Accumulator : uint8_t {
  kNone,    // the kernel computes whole results
  kDevice,  // in device memory, in a workspace that the launch gives
  kLx,      // in the LX of the cores
};
const char* Name(Accumulator home);  // "none", "device", "lx"
// With accumulators in LX: each core fills a stick of LX with this number in the first launch, and
// stores it to its stick of the workspace in the last. Another number there: LX was not left alone.
inline constexpr uint16_t kAccumulatorMark = 0x4C58;

// What to compile. Dimensions by name, in elements:
//   matmul            m, k, n             a[m,k], b[k,n] -> out[m,n]
//   batchmatmul       batch, m, k, n      a[batch,m,k], b[batch,k,n] -> out[batch,m,n]
//   unary, binary     [batch,] [rows,] cols; every argument has the same shape
//   sum, max, ...     [batch,] [rows,] cols; `axis` is dropped from the output's shape
//   softmax           [batch,] [rows,] cols; along cols
struct KernelSpec {
  std::string op;                       // a name or an alias of op_list.h
  std::map<std::string, int64_t> dims;  // sizes, at least 1
  std::string axis = "cols";            // reductions: the dimension that disappears
  // One per argument, inputs first; empty: DefaultLayout of the argument's shape in SEN169_FP16,
  // and for a reduction of the stick dimension a sparse-stick output.
  std::vector<StickLayout> layouts;
  // Forced work division: slices per dimension (m, n, k, batch or rows, cols, batch), as equal as
  // can be, the longer ones first. Sticks of n, k, cols are not divided: with fewer sticks than
  // slices, cores are left out. Dimensions not named get 1. Empty: the work division rule decides.
  std::map<std::string, int> split;
  int cores = kMaxCores;               // 1..32, cores that may be used
  uint64_t lx_bytes = kLxUsableBytes;  // LX of one core that the program may use
  bool timing_only = false;            // cores price the work but move no data
  Accumulator accumulator = Accumulator::kNone;
  // With an accumulator: the tile of m and n that must be used. A kernel for a shorter last k finds
  // the accumulators only with the tile and split of the kernel before it. Empty: chosen.
  std::map<std::string, int64_t> tile;
  bool k_fast = true;  // work division may prefer slices of k (facts: k_fast_division)
  SplitRule split_rule = SplitRule::kPublic;  // of work division, where `split` is empty
  MatmulTiming matmul_timing;                 // that SplitRule::kCost decides by
  Schedule schedule = kDefaultSchedule;
};

struct KernelArgument {
  std::string name;  // "a", "b", "out"
  bool is_output = false;
  std::vector<int64_t> shape;
  std::vector<std::string> dims;  // name of each host dimension
  StickLayout layout;
  uint64_t written_bytes = 0;  // how far the kernel of a bundle writes it
};

// A number of loop trips that is given at launch.
struct KernelDimension {
  std::string name;
  int64_t max = 1;          // largest value
  int64_t granularity = 1;  // a value is a positive multiple
};

// What a launch of an accumulating kernel is told, beside its tensors, by one more correction
// record. `workspace_bytes` of device memory: the accumulators (kDevice), or the mark of each core
// (kLx).
struct KernelAccumulation {
  Accumulator home = Accumulator::kNone;
  std::string dim;    // that is summed over
  int slices = 1;     // of that dimension, each with accumulators of its own
  int64_t slice = 0;  // elements of a slice, in one launch
  int64_t unit = 1;   // elements that the launch counts from slice to slice in
  uint64_t workspace_bytes = 0;
};

// How the work was cut; for reports and tests. Sizes in elements.
struct KernelPlan {
  std::map<std::string, int> split;     // slices with work per dimension, all dimensions named
  std::map<std::string, int64_t> tile;  // largest tile a core works on at a time
  int cores_used = 0;
  uint64_t lx_bytes_used = 0;
};

// Address table: entry 8 * i is the device virtual address of argument i; 8 * i + 1 + d the byte
// stride of its host dimension d (for the stick dimension, of one whole stick). Entry
// 8 * (arguments.size() + j) is the value of dimension j. Of an accumulating kernel, the eight
// entries behind are those of its accumulation (accumulation.h).
struct Kernel {
  std::string name;
  Program compute;
  // Of a bundle whose steps a core cannot keep at once: the programs behind it, in order. They run
  // in the same launch, each on the cores of all, and find LX as the one before has left it.
  std::vector<Program> more;
  Program correction;
  std::vector<KernelArgument> arguments;
  std::vector<KernelDimension> dimensions;
  KernelAccumulation accumulation;
  std::vector<std::string> reduction_dims;
  std::vector<std::string> steps;  // of a bundle: the SDSC file of each MARK, else empty
  // Of the tensors that LDX reads, for messages; INDEX_RANGE gives a position here.
  std::vector<std::string> index_tensors;
  KernelPlan plan;
  std::vector<LxUse> lx;  // what the plan's bytes of LX hold, and when

  // Where things lie in the program allocation (segment 7), each 128-byte aligned. The compute
  // image is at offset 0, those of `more` behind it; compute_bytes is of all.
  uint64_t compute_bytes = 0;
  uint64_t correction_offset = 0;
  uint64_t correction_bytes = 0;
  // One CorrectionRecord per argument, one per dimension, one of an accumulation; padded to a
  // stick.
  uint64_t correction_input_offset = 0;
  uint64_t correction_input_bytes = 0;
  uint64_t pool_offset = 0;  // of a bundle: intermediates in device memory
  uint64_t pool_bytes = 0;
  uint64_t allocation_bytes = 0;
};

}  // namespace spyre::compiler
