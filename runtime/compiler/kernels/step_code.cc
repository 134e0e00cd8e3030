// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/step_code.h"

#include <algorithm>
#include <utility>

namespace spyre::compiler {

StepCode::StepCode(uint32_t core_mask) {
  for (int unit = 0; unit < kUnitCount; ++unit) {
    builders_.emplace_back(static_cast<Unit>(unit), core_mask);
  }
}

void StepCode::Emit(Unit unit, const std::function<void(SectionBuilder&)>& body) {
  SectionBuilder& b = At(unit);
  used_[static_cast<int>(unit)] = true;
  b.Scoped([&] {
    if (participates_ < 0) return body(b);
    b.If(b.Core(participates_), [&] { body(b); });
  });
}

void StepCode::Loop(int64_t count, int count_entry, const std::function<void()>& body) {
  OpenLoop(0, count, count_entry, body);
}

void StepCode::OpenLoop(int unit, int64_t count, int count_entry,
                        const std::function<void()>& body) {
  if (unit == kUnitCount) return body();
  SectionBuilder& b = builders_[unit];
  b.Scoped([&] {
    b.Loop(count_entry < 0 ? b.Const(count) : b.Table(count_entry), [&](Reg index) {
      loops_[unit].push_back(index);
      OpenLoop(unit + 1, count, count_entry, body);
      loops_[unit].pop_back();
    });
  });
}

std::vector<LxUse> StepCode::TakeLxUses(int step, uint32_t cores) {
  std::vector<LxUse> uses = std::move(uses_);
  uses_.clear();
  for (LxUse& use : uses) {
    use.first_step = use.last_step = step;
    use.cores = cores;
  }
  return uses;
}

int StepCode::deepest() const {
  int deepest = 0;
  for (const SectionBuilder& builder : builders_) deepest = std::max(deepest, builder.deepest());
  return deepest;
}

size_t StepCode::instructions() const {
  size_t count = 0;
  for (const SectionBuilder& builder : builders_) count += builder.size();
  return count;
}

std::vector<Section> StepCode::Finish() {
  std::vector<Section> sections;
  for (int unit = 0; unit < kUnitCount; ++unit) {
    if (used_[unit]) sections.push_back(builders_[unit].Finish());
  }
  return sections;
}

}  // namespace spyre::compiler
