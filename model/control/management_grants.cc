// SPDX-License-Identifier: Apache-2.0
// The management controller: what the PF gives to functions, and waits for.
#include <fmt/format.h>

#include "model/control/management.h"

namespace spyre::model {

void ManagementController::WireProtection() {
  bus_.mc_region_set.OnWrite([this](uint32_t) {
    const PhysicalRange range{bus_.mc_region_base.value(), bus_.mc_region_length.value(),
                              kPermissionRead | kPermissionWrite | kPermissionExecute};
    scrubber_.Then([this, range, function = bus_.mc_region_function.value(),
                    region = bus_.mc_region_index.value()] {
      mmu_.SetRegion(function, region, range);
      scrubber_.Give(range.base, range.length);
    });
  });
  bus_.mc_core_mask_set.OnWrite([this](uint32_t) {
    mmu_.SetCores(bus_.mc_region_function.value(), bus_.mc_core_mask.value());
    shares_.CoresChanged(bus_.mc_region_function.value());
  });
  bus_.mc_scrub.OnWrite([this](uint32_t) {
    scrubber_.Clear(bus_.mc_scrub_base.value(), bus_.mc_scrub_length.value());
  });
  bus_.mc_share_set.OnWrite([this](uint32_t) {
    shares_.Set(bus_.mc_region_function.value(),
                {bus_.mc_time_limit.value(), bus_.mc_weight.value(), bus_.mc_stopped.value() != 0});
  });
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
