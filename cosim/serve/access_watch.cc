// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/access_watch.h"

#include <contract/registers.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spyre::cosim {
namespace {

const regs::RegisterInfo* FindRegister(uint64_t offset) {
  const auto* found =
      std::find_if(std::begin(regs::kRegisters), std::end(regs::kRegisters),
                   [&](const regs::RegisterInfo& info) { return info.offset == offset; });
  return found == std::end(regs::kRegisters) ? nullptr : found;
}

}  // namespace

AccessWatch::Touched* AccessWatch::Unknown(uint64_t offset, bool physical) {
  const regs::RegisterInfo* info = FindRegister(offset);
  if (info != nullptr && (physical || !info->pf_only)) return nullptr;
  const auto found = unknown_.find(offset);
  if (found != unknown_.end()) return &found->second;
  if (unknown_.size() < kMaxUnknown) return &unknown_[offset];
  ++further_;
  return nullptr;
}

bool AccessWatch::Read(uint64_t offset, uint32_t value, uint64_t now_ps, bool physical) {
  if (spins_ == 0 || offset != offset_ || value != value_) {
    // Only a new place can be one that the specification does not have.
    if (Touched* touched = Unknown(offset, physical)) ++touched->reads;
    offset_ = offset;
    value_ = value;
    since_ps_ = now_ps;
    spins_ = said_ = 0;
  } else if (const auto found = unknown_.find(offset); found != unknown_.end()) {
    ++found->second.reads;
  }
  ++spins_;
  if (spins_ < std::max(kSpins, said_ * 10)) return false;
  said_ = spins_;
  return true;
}

void AccessWatch::Write(uint64_t offset, bool physical) {
  Else();
  if (Touched* touched = Unknown(offset, physical)) ++touched->writes;
}

std::string AccessWatch::SpinText(uint64_t now_ps) const {
  const regs::RegisterInfo* info = FindRegister(offset_);
  std::string text = fmt::format("{} (BAR0 0x{:04x}) {} times in {:.3g} us, always 0x{:08x}",
                                 info == nullptr ? "no register" : info->name, offset_, spins_,
                                 static_cast<double>(now_ps - since_ps_) * 1e-6, value_);
  const char* separator = ": ";
  for (const regs::FieldInfo& field : regs::kRegisterFields) {
    if (field.offset != offset_ || info == nullptr) continue;
    text += fmt::format("{}{} is {}", separator, field.name, (value_ & field.mask) >> field.shift);
    separator = ", ";
  }
  return text;
}

std::string AccessWatch::TakeUnknown() {
  std::string text;
  for (const auto& [offset, touched] : unknown_) {
    const regs::RegisterInfo* info = FindRegister(offset);
    text += fmt::format(
        "\n  BAR0 0x{:04x}: {} reads, {} writes{}", offset, touched.reads, touched.writes,
        info == nullptr ? "" : fmt::format(" ({} of the physical function)", info->name));
  }
  if (further_ != 0) text += fmt::format("\n  and {} accesses to further addresses", further_);
  unknown_.clear();
  further_ = 0;
  spins_ = 0;
  return text;
}

}  // namespace spyre::cosim
