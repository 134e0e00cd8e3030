// SPDX-License-Identifier: Apache-2.0
// The five sections of a program while its steps are written: each step adds its part to the
// section of every unit, inside the loops around the step. Used by code generation only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/compiler/kernels/lx_use.h"
#include "runtime/compiler/kernels/section_builder.h"

namespace spyre::compiler {

class StepCode {
 public:
  explicit StepCode(uint32_t core_mask);

  // Adds a step's code for a unit, in a scope of its own; nothing of it stays but the instructions.
  // Cores whose core register `participates` is 0 skip it; -1: all cores run it.
  void Emit(Unit unit, const std::function<void(SectionBuilder&)>& body);
  void set_participates(int column) { participates_ = column; }

  // A loop in every section. `count_entry`: address-table entry that holds the trips, -1: `count`.
  void Loop(int64_t count, int count_entry, const std::function<void()>& body);

  // The step keeps this in LX on the cores that run it; `uses` name places alone.
  void Keep(const std::vector<LxUse>& uses) { uses_.insert(uses_.end(), uses.begin(), uses.end()); }
  // What was kept since the last call, as that of step `step` on `cores`.
  std::vector<LxUse> TakeLxUses(int step, uint32_t cores);

  SectionBuilder& At(Unit unit) { return builders_[static_cast<int>(unit)]; }
  // Iteration of each loop around the step, outermost first.
  const std::vector<Reg>& loops(Unit unit) const { return loops_[static_cast<int>(unit)]; }

  int deepest() const;            // loops within each other, of any unit so far
  size_t instructions() const;    // of all units so far
  std::vector<Section> Finish();  // of the units that have code

 private:
  void OpenLoop(int unit, int64_t count, int count_entry, const std::function<void()>& body);

  std::vector<SectionBuilder> builders_;  // by unit
  std::array<std::vector<Reg>, kUnitCount> loops_;
  std::array<bool, kUnitCount> used_{};
  int participates_ = -1;
  std::vector<LxUse> uses_;
};

}  // namespace spyre::compiler
