// SPDX-License-Identifier: Apache-2.0
// What the launches of a kernel are told whose sums outlive the launch. Used by code generation
// only. docs/tiled-launches.md "Tiling a reduction" has the whole picture.
#pragma once

#include <cstdint>

#include "runtime/compiler/kernels/kernel.h"
#include "runtime/compiler/kernels/section_builder.h"

namespace spyre::compiler {

// Address-table entries of a launch, from CarriedSums::entry on. They come from one correction
// record: its location, then its strides.
enum class AccumulationEntry : uint8_t {
  kWorkspace = 0,  // device virtual address; not used where nothing is carried in or kept
  kCarried = 1,    // 1: the launch goes on where the one before has stopped; 0: it starts at zero
  kFinal = 2,      // 1: the launch rounds and stores the results; 0: it keeps the sums
  kSpacing = 3,    // units from slice to slice of the divided dimension
};

struct CarriedSums {
  Accumulator home = Accumulator::kNone;
  int entry = -1;
  int64_t m_tile = 0, n_tile = 0;  // elements, 0: chosen

  bool any() const { return home != Accumulator::kNone; }
  bool in_device() const { return home == Accumulator::kDevice; }
  bool in_lx() const { return home == Accumulator::kLx; }
  int Entry(AccumulationEntry which) const { return entry + static_cast<int>(which); }
  // The entry's value. Not: 1 for 0 and 0 for 1.
  Reg Get(SectionBuilder& b, AccumulationEntry which) const { return b.Table(Entry(which)); }
  Reg Not(SectionBuilder& b, AccumulationEntry which) const {
    return b.Add(b.Const(1), Get(b, which), -1);
  }
};

}  // namespace spyre::compiler
