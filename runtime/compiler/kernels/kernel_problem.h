// SPDX-License-Identifier: Apache-2.0
// What one step of a program has to do: the iteration space, who of the cores does which slice of
// it, and where each operand is. Made from a KernelSpec (resolve_problem.h) or from a SuperDSC of a
// bundle (bundle_problem.h); the kernel builders take it. Used by code generation only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/kernels/accumulation.h"
#include "runtime/compiler/kernels/core_columns.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::compiler {

inline constexpr int64_t kStickElements = 64;   // of SEN169_FP16
inline constexpr int64_t kStick = kStickBytes;  // addresses are counted in signed numbers here
inline constexpr int64_t kAccumulatorStick = kStickElements * 4;  // a stick of fp32 sums

// One loop of the iteration space. It is counted in units: sticks if the dimension is inside the
// stick of any argument, elements otherwise. Every core has `slice` units, the later ones one less
// where the units do not divide evenly; `tile` of them are in LX at a time.
struct Axis {
  std::string name;
  int64_t size = 1;     // elements
  bool masked = false;  // fewer than the units have: the last tiles may hold none
  bool in_sticks = false;
  int64_t stick_elements = kStickElements;
  bool reduced = false;
  bool uniform = false;  // every core walks as many tiles, if slices differ also empty ones
  int64_t units = 1;
  int split = 1;
  int64_t slice = 1;
  int64_t slice_elements = 0;  // of a slice that ends within its last stick; 0: none does
  int64_t tile = 1;
  int slice_column = -1;   // core register: the core's slice
  int spacing_entry = -1;  // table entry: units from slice to slice, -1: `slice`

  int64_t unit_elements() const { return in_sticks ? stick_elements : 1; }
  int64_t elements_per_slice() const {
    return slice_elements != 0 ? slice_elements : slice * unit_elements();
  }
  // The tiles of the longest slice.
  int64_t tiles() const { return (slice + tile - 1) / tile; }
  bool uneven() const { return units % split != 0; }
  // Slices of full length, the first ones, where they are uneven.
  int64_t full_slices() const { return units % split; }
};

// Where an operand is. Its strides are constants, or, so that a kernel can work on a part of a
// larger tensor, come from the address table.
struct Operand {
  std::string name;
  bool in_lx = false;   // stays in the LX of each core; else it is in device memory
  bool lane0 = false;   // sparse sticks: only element 0 is meaningful
  int stick_axis = -1;  // axis inside its sticks, -1: none
  // Sticks in a unit of that axis: more than 1 where those of another operand hold more elements.
  int64_t sticks_per_unit = 1;
  int64_t sticks = 0;  // of a core along that axis; fewer than its units have if one is not whole
  // Of sticks with two dimensions: the axis whose neighbouring elements take turns in them, and how
  // many; stick_axis is the other one.
  int turns_axis = -1;
  int64_t turns = 1;
  std::vector<int64_t> unit_stride;  // by axis: bytes from unit to unit as compiled, 0: none
  std::vector<int> stride_entry;     // by axis: table entry of the byte stride (of the stick
                                     // dimension: of one stick), -1: unit_stride holds
  int address_entry = -1;            // table entry of its address; -1 if `base` is the address
  int64_t base = 0;
  // Of the core's part, from the address: slices times strides; or a core register, -1: 0.
  bool start_from_slices = false;
  int start_column = -1;
  std::vector<int64_t> loop_stride;  // bytes per iteration of each loop around the step
  // Core register: mask of the cores that load the same part at the same time; -1: no two do. With
  // Schedule::kPublic each core has one, if only of itself: its loads take turns with multicasts.
  int group_column = -1;
  int sharers = 1;  // cores of such a group

  bool Walks(int axis) const { return stride_entry[axis] >= 0 || unit_stride[axis] != 0; }
};

struct Problem {
  std::string name;               // of the operation, for messages
  std::vector<Operand> operands;  // inputs, then the output
  std::vector<Axis> axes;         // outputs' dimensions, then the reduced one
  uint64_t lx_base = 0;           // LX that the step may use: from here
  uint64_t lx_bytes = 0;          // to here
  uint32_t core_mask = 0;
  CoreColumns* columns = nullptr;
  CarriedSums carried;
  Schedule schedule = kDefaultSchedule;
  // Neighbours of each core along the reduced axes, where these are divided; -1: none.
  CoreColumns::Column previous{}, next{};
  // Where several reduced axes are divided: core register with the core's place among those that
  // share a part of the result, in order of their slices, and how many share one.
  int chain_column = -1;
  int chain_length = 1;
  // Where an index chooses: rows that it may choose from, and the position of the index tensor
  // among those of the kernel. The index tensor is the last operand then.
  int64_t index_rows = 0;
  int64_t index_tensor = 0;

  int Find(const std::string& axis_name) const;  // axis, -1: none
  int reduced_axis() const;                      // -1: none
  int AddUnitAxis();  // of one element, that no operand walks; its position
};

// A KernelSpec, resolved.
struct KernelProblem : Problem {
  const Operation* operation = nullptr;
  std::vector<KernelArgument> arguments;
  bool reduced_fastest = false;  // neighbouring cores are neighbours in the reduced axis

  int HostDim(int argument, int axis) const;  // that walks the axis, -1: none
  // Device bytes from one unit of the axis to the next in the argument's compiled layout.
  int64_t UnitStride(int argument, int axis) const;
  int cores() const;
};

// Largest tile not above `limit` that cuts `slice` into equal parts but for the last.
int64_t BalancedTile(int64_t slice, int64_t limit);

}  // namespace spyre::compiler
