// What a kernel has to do, resolved from its KernelSpec: the arguments with their layouts, the
// iteration space, and who of the cores does which slice of it. Used by code generation only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/kernel.h"
#include "runtime/compiler/op_list.h"

namespace spyre::compiler {

inline constexpr int64_t kStickElements = 64;  // of SEN169_FP16

// One loop of the iteration space. It is counted in units: sticks if the dimension is inside the
// stick of any argument, elements otherwise. Every core has `slice` units, the later ones one less
// where the units do not divide evenly; `tile` of them are in LX at a time.
struct Axis {
  std::string name;
  int64_t size = 1;  // elements
  bool in_sticks = false;
  bool reduced = false;
  bool uniform = false;  // every core walks as many tiles, if slices differ also empty ones
  int64_t units = 1;
  int split = 1;
  int64_t slice = 1;
  int64_t tile = 1;

  int64_t unit_elements() const { return in_sticks ? kStickElements : 1; }
  // Of the longest slice.
  int64_t tiles() const { return (slice + tile - 1) / tile; }
  bool uneven() const { return units % split != 0; }
  // Slices of full length, the first ones, where they are uneven.
  int64_t full_slices() const { return units % split; }
};

// Core registers of every kernel: the core's slice of each axis in order of the iteration space,
// the multicast groups of two operands, and its neighbours in the chain that combines partial
// results.
inline constexpr int kCoreSlice = 0;
inline constexpr int kCoreGroup = 4;
inline constexpr int kCorePrevious = 6;
inline constexpr int kCoreNext = 7;

struct Problem {
  const Operation* operation = nullptr;
  std::vector<KernelArgument> arguments;
  std::vector<Axis> axes;  // outputs' dimensions, then the reduced one
  uint64_t lx_bytes = 0;
  bool reduced_fastest = false;  // neighbouring cores are neighbours in the reduced axis

  int Find(const std::string& name) const;  // axis, -1: none
  int reduced_axis() const;                 // -1: none
  int stick_axis(int argument) const;       // axis inside the argument's stick, -1: none
  // Host dimension of the argument that walks the axis, -1: none.
  int HostDim(int argument, int axis) const;
  // Device bytes from one unit of the axis to the next in the argument's compiled layout.
  int64_t UnitStride(int argument, int axis) const;
  int cores() const;
  uint32_t core_mask() const;
};

// Checks the spec, fills arguments and axes, and divides the work. Tiles are left at 1.
Problem ResolveProblem(const KernelSpec& spec);

// Core numbers run over the slices mixed radix, the first axis fastest; with reduced_fastest the
// reduced axis comes before it. One row of core registers per core. shared[g]: axes whose slices
// share the loads of group g (cores that differ only in them).
std::vector<std::vector<int64_t>> CoreRegisters(const Problem& problem,
                                                const std::vector<std::vector<int>>& shared);

// Largest tile not above `limit` that cuts `slice` into equal parts but for the last.
int64_t BalancedTile(int64_t slice, int64_t limit);

}  // namespace spyre::compiler
