// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/read_rules.h"

#include <contract/registers.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spyre::cosim {

ReadRule RuleOf(int bar, uint64_t offset) {
  if (bar != 0) return ReadRule::kEqual;
  switch (offset) {
    case regs::TIME_LO:
    case regs::TIME_HI:
    case regs::INT_COUNT:
    case regs::MGMT_HEARTBEAT:
      return ReadRule::kAny;
    case regs::SQ_HEAD:
    case regs::RQ_TAIL:
      return ReadRule::kReaches;
    case regs::STATUS:
      return ReadRule::kStatus;
    case regs::INT_STATUS:
      return ReadRule::kCauses;
    case regs::ADMIN_STATUS:
    case regs::MBOX_STATUS:
      return ReadRule::kAnswer;
    case regs::MGMT_VERSION:
    case regs::MGMT_CAPABILITIES:
      return ReadRule::kBoots;
    case regs::MGMT_STATE:
      return ReadRule::kState;
    case regs::ERROR_CODE:
      return ReadRule::kEventually;
    default:
      return ReadRule::kEqual;
  }
}

bool Allows(ReadRule rule, uint32_t recorded, uint32_t replayed) {
  switch (rule) {
    case ReadRule::kEqual:
    case ReadRule::kEventually:
      return replayed == recorded;
    case ReadRule::kAny:
      return true;
    case ReadRule::kReaches:
      return static_cast<int32_t>(replayed - recorded) >= 0;
    case ReadRule::kStatus: {
      const uint32_t busy = regs::STATUS_BUSY_MASK;
      return (replayed | busy) == (recorded | busy) && (replayed & ~recorded & busy) == 0;
    }
    case ReadRule::kCauses:
      return (replayed & recorded) == recorded;
    case ReadRule::kAnswer:
      return recorded == kAdminBusy || replayed == recorded;
    case ReadRule::kBoots:
      return recorded == 0 || replayed == recorded;
    case ReadRule::kState:
      return recorded < static_cast<uint32_t>(FirmwareState::READY) || replayed == recorded;
  }
  return false;
}

bool MayChange(ReadRule rule) { return rule != ReadRule::kEqual && rule != ReadRule::kAny; }

std::string RegisterName(int bar, uint64_t offset) {
  const auto* found = std::find_if(
      std::begin(regs::kRegisters), std::end(regs::kRegisters),
      [&](const regs::RegisterInfo& info) { return bar == 0 && info.offset == offset; });
  const std::string place = fmt::format("BAR{} 0x{:04x}", bar, offset);
  return found == std::end(regs::kRegisters) ? place : fmt::format("{} ({})", found->name, place);
}

std::string RegisterValue(int bar, uint64_t offset, uint32_t value) {
  std::string fields;
  for (const regs::FieldInfo& field : regs::kRegisterFields) {
    if (bar != 0 || field.offset != offset) continue;
    fields += fmt::format("{}{} {}", fields.empty() ? "" : ", ", field.name,
                          (value & field.mask) >> field.shift);
  }
  const std::string number = fmt::format("0x{:08x}", value);
  return fields.empty() ? number : fmt::format("{} ({})", number, fields);
}

}  // namespace spyre::cosim
