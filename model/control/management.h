// SPDX-License-Identifier: Apache-2.0
// The management controller: the registers between its firmware and the card. Every message of a
// virtual function and every request of the PF passes here; what to answer is the firmware's to
// decide (firmware/), and who runs the firmware is the FirmwareRunner's.
//
// Requests wait in five places: a reset function, a message, a request of the PF, a mailbox
// command, an error of the hardware. Any of them raises the external interrupt; the firmware
// answers through its bus (model/contract/registers.toml, scope "controller"). A function under
// reset is fenced: not accepting until the firmware has cleaned up.
//
// Which firmware runs is the BootLogic's to choose. A firmware that fails (self-test, trap,
// watchdog, not ready in time) stops; if it was on trial, the boot logic starts another, and else
// fault() says what happened and the last lines of its log. Kernel thread only; register hooks
// never wait.
#pragma once

#include <contract/register_files.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <systemc>

#include "model/common/card_config.h"
#include "model/common/hardware_error.h"
#include "model/common/ports.h"
#include "model/contract/control_block.h"
#include "model/control/boot_logic.h"
#include "model/control/firmware_runner.h"
#include "model/control/function_shares.h"
#include "model/control/scrubber.h"
#include "model/fault/fault_injector.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

struct AdminRequest {
  uint32_t command = 0;  // AdminCommand
  uint32_t vf = 0;
  uint32_t region = 0;
  uint64_t base = 0;
  uint64_t length = 0;
};

struct MailboxLetter {
  uint32_t command = 0;  // MailboxCommand
  uint32_t arg0 = 0;
  uint32_t arg1 = 0;
};

class ManagementController : public sc_core::sc_module,
                             public HardwareErrorSink,
                             private ControllerBus,
                             private BootClient {
 public:
  sc_core::sc_port<InterruptInterface> interrupt{"interrupt"};  // an answer to the PF is there
  sc_core::sc_port<FaultInterface> lost{"lost"};  // the firmware has stopped: see fault()

  ManagementController(const sc_core::sc_module_name& name, const CardConfig& config, Mmu& mmu);

  // --- the control processor's side ---
  // Checks `message` of `function` field by field and translates its locations; takes its time, so
  // the caller is an SC_THREAD, one at a time. On success fills *block, sealed. On failure returns
  // the status for the response and sets *fault to the bad offset or location.
  Status TranslateMessage(unsigned function, const Message& message, ControlBlock* block,
                          uint64_t* fault);
  // The firmware serves requests, and the function is not being reset.
  bool accepting(unsigned function) const;
  void OnAccepting(std::function<void()> hook) { on_accepting_ = std::move(hook); }

  // --- the register side ---
  void Request(const AdminRequest& request, const sc_core::sc_time& arrival);
  uint32_t admin_status() const { return admin_status_; }
  void Post(const MailboxLetter& letter, const sc_core::sc_time& arrival);
  uint32_t mailbox_status() const { return mailbox_status_; }
  uint32_t mailbox_result(unsigned i) const;
  void FunctionReset(unsigned function);
  // Queues an error for the firmware's log. As many can wait as the log has records; others are
  // only counted.
  void Report(const HardwareError& error) override;
  void CardReset();  // the firmware boots again, and knows of nothing that was
  BootLogic& boot() { return *boot_; }
  Scrubber& scrubber() { return scrubber_; }
  FunctionShares& shares() { return shares_; }
  FirmwareState state() const { return static_cast<FirmwareState>(bus_.mc_state.value()); }
  uint32_t version() const { return bus_.mc_version.value(); }
  uint32_t capabilities() const { return bus_.mc_capabilities.value(); }
  uint32_t heartbeat() const { return bus_.mc_heartbeat.value(); }

  // Why the firmware has stopped, with pc and log; empty while it runs.
  const std::string& fault() const { return fault_; }
  const std::deque<std::string>& log() const { return log_; }
  // Declared faults: the firmware goes on no more, as in the middle of a request; its next
  // instruction is none; a bit of the RTL changes that `seed` chooses. The injection outlives this.
  void Hang(Injection* injection);
  void Trap(Injection* injection);
  void FlipBit(uint64_t seed);
  // False: the controller is not RTL.
  bool AttachWaves(Waves* waves);
  // Of the RTL controller, before simulated time moves; outlives it. Null: none. BadInput if it is
  // not RTL.
  void SetDebugger(Debugger* debugger);
  void DescribeWaits(std::vector<std::string>& lines) const;

 private:
  using Words = std::array<uint32_t, kEntryBytes / 4>;

  uint32_t Read(uint32_t address) override;
  void Write(uint32_t address, uint32_t value) override;
  void WireFacts();
  void WireRequests();
  void WireErrors();
  void WireProtection();
  void StateChanged();
  void UpdatePending();
  void AnswerRequest(uint32_t status);
  void Log(char c);
  void ArmWatchdog(uint32_t us);
  void Bite();
  void CheckBoot();
  void Fail(FirmwareState state, BootFailure failure, uint32_t detail, const std::string& what);
  void HoldFirmware() override;
  void StartFirmware(const FirmwareProgram& program) override;
  void NoFirmware(const std::string& why) override;
  void AnswerUpdate() override { interrupt->Interrupt(0, regs::INT_STATUS_ADMIN_MASK); }
  std::string LastLines() const;

  const CardConfig& config_;
  Mmu& mmu_;
  Scrubber scrubber_;
  FunctionShares shares_;
  std::function<void()> on_accepting_;

  ControllerRegisters bus_;
  struct {
    bool waits = false;
    unsigned function = 0;
    Words in{}, out{};
  } message_;
  sc_core::sc_event message_done_;
  AdminRequest request_;
  uint32_t admin_status_ = 0;
  bool answering_ = false;  // the firmware has answered the request; memory is still being cleared
  MailboxLetter letter_;
  uint32_t mailbox_status_ = 0;
  std::deque<unsigned> resets_;
  std::deque<HardwareError> errors_;  // oldest first
  uint32_t lost_errors_ = 0;
  uint32_t pending_ = 0;
  uint64_t latched_time_ps_ = 0;  // that MC_TIME_HI shows
  sc_core::sc_event arrived_;

  std::string line_;  // of the log, not yet ended
  std::deque<std::string> log_;
  std::string fault_;
  sc_core::sc_event watchdog_, boot_deadline_;
  bool stopped_ = false;  // the firmware that was started has failed
  Injection* hung_ = nullptr;
  Injection* trapped_ = nullptr;
  std::unique_ptr<FirmwareRunner> runner_;
  std::unique_ptr<BootLogic> boot_;
};

}  // namespace spyre::model
