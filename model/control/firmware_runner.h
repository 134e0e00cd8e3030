// SPDX-License-Identifier: Apache-2.0
// Where the firmware runs: on the host, as code that takes no time of its own (HostFirmware), or on
// the RTL of its processor (RtlFirmware). Kernel thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <systemc>

#include "model/common/card_config.h"
#include "model/contract/firmware_package.h"
#include "model/control/debug_target.h"
#include "model/rtl/controller.h"

namespace spyre::model {

class FirmwareRunner {
 public:
  virtual ~FirmwareRunner() = default;
  // Can it run this program at all?
  virtual bool Runs(const FirmwareProgram& program) const = 0;
  // Body of the controller's SC_THREAD: after each Restart boots, then serves requests.
  virtual void Run() = 0;
  // MC_PENDING has become `pending`.
  virtual void SetPending(uint32_t pending) = 0;
  // What a bus write does to the rest of the card happens when simulated time has come to it: now,
  // or after the instructions that the processor has run ahead.
  virtual void AtItsTime(std::function<void()> effect) = 0;
  // For messages about a firmware that fails: ", pc 0x80000124 (fw_service+0x10)", or nothing.
  virtual std::string Where() const = 0;
  // An address of its program by name, "stumble+0x4"; "" if names are not known.
  virtual std::string NameOf(uint32_t /*address*/) const { return ""; }
  virtual void Halt() = 0;  // the firmware has failed: stops until Restart, for a debugger to see
  virtual void Hold() = 0;  // in reset until Restart
  // The next instruction that it executes is illegal.
  virtual void Break() = 0;
  // Starts `program`, which it can run, as after power-on: what it had is forgotten.
  virtual void Restart(const FirmwareProgram& program) = 0;
  // The RTL, if that is what it is.
  virtual RtlController* rtl() { return nullptr; }
  virtual void SetDebugger(Debugger* /*debugger*/) {}
};

// The firmware of firmware/, built for the host. Takes management.message_ns for each request. Runs
// no other program than what those files are for the controller: of an image that is, nothing but
// its code is executed by other means.
std::unique_ptr<FirmwareRunner> MakeHostFirmware(const CardConfig& config, ControllerBus& bus);

// Programs on the Verilated controller at management.clock_mhz. Throws Error(kBadInput) for a
// management.firmware that is none.
std::unique_ptr<FirmwareRunner> MakeRtlFirmware(const CardConfig& config, ControllerBus& bus);

}  // namespace spyre::model
