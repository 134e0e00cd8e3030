// SPDX-License-Identifier: Apache-2.0
// The management controller: what the PF gives to functions, and waits for.
#include <fmt/format.h>

#include "model/control/management.h"

namespace spyre::model {

uint64_t ManagementController::Pair(uint32_t low) const {
  return Register(low) | static_cast<uint64_t>(Register(low + 4)) << 32;
}

void ManagementController::SetRegion() {
  const PhysicalRange range{Pair(regs::MC_REGION_BASE_LO), Pair(regs::MC_REGION_LENGTH_LO),
                            kPermissionRead | kPermissionWrite | kPermissionExecute};
  scrubber_.Then([this, range, function = Register(regs::MC_REGION_FUNCTION),
                  region = Register(regs::MC_REGION_INDEX)] {
    mmu_.SetRegion(function, region, range);
    scrubber_.Give(range.base, range.length);
  });
}

void ManagementController::SetShare() {
  shares_.Set(
      Register(regs::MC_REGION_FUNCTION),
      {Register(regs::MC_TIME_LIMIT), Register(regs::MC_WEIGHT), Register(regs::MC_STOPPED) != 0});
}

void ManagementController::AnswerRequest(uint32_t status) {
  answering_ = false;
  if (admin_status_ != kAdminBusy) return;
  admin_status_ = status;
  interrupt->Interrupt(0, regs::INT_STATUS_ADMIN_MASK);
  UpdatePending();
}

void ManagementController::DescribeWaits(std::vector<std::string>& lines) const {
  const std::string update = boot_->DescribeWait();
  if (!update.empty()) lines.push_back("management: " + update);
  if (answering_) lines.emplace_back("management: memory is being cleared for a request of the PF");
  if (pending_ == 0) return;
  lines.push_back(fmt::format("management: firmware has not answered{}{}{}{}{}",
                              message_.waits ? " a message" : "",
                              admin_status_ == kAdminBusy ? " a request of the PF" : "",
                              mailbox_status_ == kAdminBusy ? " a mailbox command" : "",
                              resets_.empty() ? "" : " a function-level reset", runner_->Where()));
}

}  // namespace spyre::model
