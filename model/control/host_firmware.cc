// SPDX-License-Identifier: Apache-2.0
// The firmware on the host: the code of firmware/ itself, called when a request waits.
#include <contract/registers.h>

#include <bitset>

#include "firmware/firmware.h"
#include "model/common/transfer.h"
#include "model/control/factory_firmware.h"
#include "model/control/firmware_runner.h"

namespace spyre::model {

namespace {

class HostFirmware final : public FirmwareRunner {
 public:
  HostFirmware(const CardConfig& config, ControllerBus& bus)
      : message_ps_(config.management.message_ns * 1000),
        own_(FlattenElf(FactoryFirmware(config))),
        bus_(bus) {}

  bool Runs(const FirmwareProgram& program) const override {
    return program.load_address == own_.load_address && program.entry == own_.entry &&
           program.payload == own_.payload;
  }
  void Run() override {
    const fw_bus bus{this, Read, Write};
    for (;;) {
      while (!restart_) sc_core::wait(wake_);
      restart_ = false;
      halted_ = broken_ = false;
      fw_boot(firmware(), &bus);
      while (!restart_) {
        if (halted_ || pending_ == 0) {
          sc_core::wait(wake_);
          continue;
        }
        sc_core::wait(Ps(message_ps_ * std::bitset<32>(pending_).count()), restarted_);
        if (halted_ || restart_) continue;
        if (broken_) {
          Panic();
        } else {
          fw_service(firmware());
        }
      }
    }
  }

  void SetPending(uint32_t pending) override {
    pending_ = pending;
    if (pending != 0) wake_.notify(sc_core::SC_ZERO_TIME);
  }
  void AtItsTime(std::function<void()> effect) override { effect(); }
  std::string Where() const override { return ""; }
  void Halt() override { halted_ = true; }
  void Hold() override {
    halted_ = true;
    restart_ = false;
    restarted_.notify(sc_core::SC_ZERO_TIME);
  }
  void Break() override { broken_ = true; }
  void Restart(const FirmwareProgram& /*program*/) override {
    restart_ = true;
    wake_.notify(sc_core::SC_ZERO_TIME);
    restarted_.notify(sc_core::SC_ZERO_TIME);
  }

 private:
  // Does what the trap handler of the target does.
  void Panic() {
    constexpr uint32_t kIllegalInstruction = 2;
    bus_.Write(regs::MC_PANIC_PC, own_.entry);
    bus_.Write(regs::MC_PANIC_VALUE, 0);
    bus_.Write(regs::MC_PANIC, kIllegalInstruction);
  }
  static uint32_t Read(void* context, uint32_t address) {
    return static_cast<HostFirmware*>(context)->bus_.Read(address);
  }
  static void Write(void* context, uint32_t address, uint32_t value) {
    static_cast<HostFirmware*>(context)->bus_.Write(address, value);
  }
  fw* firmware() { return reinterpret_cast<fw*>(state_); }

  const uint64_t message_ps_;
  const FirmwareProgram own_;  // what the code below is on the target
  ControllerBus& bus_;
  uint32_t pending_ = 0;
  bool halted_ = false;
  bool broken_ = false;
  bool restart_ = false;
  sc_core::sc_event wake_, restarted_;
  alignas(FW_STATE_ALIGN) unsigned char state_[FW_STATE_BYTES] = {};
};

}  // namespace

std::unique_ptr<FirmwareRunner> MakeHostFirmware(const CardConfig& config, ControllerBus& bus) {
  return std::make_unique<HostFirmware>(config, bus);
}

}  // namespace spyre::model
