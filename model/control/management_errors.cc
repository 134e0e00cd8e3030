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

void ManagementController::WireErrors() {
  const auto oldest = [this](auto value) {
    return [this, value]() -> decltype(value(HardwareError())) {
      if (errors_.empty()) return 0;
      return value(errors_.front());
    };
  };
  bus_.mc_error_what.OnRead(oldest([](const HardwareError& error) {
    return static_cast<uint32_t>(error.code) << 16 | static_cast<uint32_t>(error.severity) << 8 |
           static_cast<uint32_t>(RasAction::NONE);
  }));
  bus_.mc_error_function.OnRead(oldest([](const HardwareError& error) { return error.function; }));
  bus_.mc_error_detail0.OnRead(oldest([](const HardwareError& error) { return error.detail[0]; }));
  bus_.mc_error_detail1.OnRead(oldest([](const HardwareError& error) { return error.detail[1]; }));
  bus_.mc_error_time.OnRead(oldest([](const HardwareError& error) { return error.time_ps; }));
  bus_.mc_error_lost.OnRead([this] { return lost_errors_; });
  bus_.mc_error_done.OnWrite([this](uint32_t) {
    if (!errors_.empty()) errors_.pop_front();
  });
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
  bus_.mc_state.Set(static_cast<uint32_t>(FirmwareState::FAILED));
  lost->Lost();
}

}  // namespace spyre::model
