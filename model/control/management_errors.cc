// SPDX-License-Identifier: Apache-2.0
// Second part of ManagementController: errors of the hardware for the firmware's log, and what
// declared faults do to the firmware itself, and a controller without any.
#include <fmt/format.h>

#include "model/control/management.h"

namespace spyre::model {
namespace {

constexpr size_t kWaitingErrors = 64;  // as many as the log has records

}  // namespace

void ManagementController::Report(const HardwareError& error) {
  if (errors_.size() == kWaitingErrors) {
    ++lost_errors_;
    return;
  }
  errors_.push_back(error);
  errors_.back().time_ps = NowPs();
  UpdatePending();
}

uint32_t ManagementController::ErrorRegister(uint32_t address) const {
  if (address == regs::MC_ERROR_LOST) return lost_errors_;
  if (errors_.empty()) return 0;
  const HardwareError& error = errors_.front();
  switch (address) {
    case regs::MC_ERROR_WHAT:
      return static_cast<uint32_t>(error.code) << 16 | static_cast<uint32_t>(error.severity) << 8 |
             static_cast<uint32_t>(RasAction::NONE);
    case regs::MC_ERROR_FUNCTION:
      return error.function;
    case regs::MC_ERROR_DETAIL0:
      return error.detail[0];
    case regs::MC_ERROR_TIME_LO:
      return static_cast<uint32_t>(error.time_ps);
    case regs::MC_ERROR_TIME_HI:
      return static_cast<uint32_t>(error.time_ps >> 32);
    default:
      return error.detail[1];
  }
}

void ManagementController::Hang(Injection* injection) {
  if (stopped_) return;
  constexpr uint32_t kWatchdogUs = 20000;  // as the firmware sets it for a request
  hung_ = injection;
  runner_->Halt();
  ArmWatchdog(kWatchdogUs);
}

void ManagementController::Trap(Injection* injection) {
  if (stopped_) return;
  trapped_ = injection;
  runner_->Break();
}

void ManagementController::FlipBit(uint64_t seed) {
  if (runner_->rtl() != nullptr) runner_->rtl()->FlipBit(seed);
}

void ManagementController::NoFirmware(const std::string& why) {
  fault_ =
      fmt::format("the management controller has nothing to run: {} (FW_FAILURE {}, detail {})",
                  why, boot_->failure(), boot_->failure_detail());
  registers_.front() = static_cast<uint32_t>(FirmwareState::FAILED);  // MC_STATE
  lost->Lost();
}

}  // namespace spyre::model
