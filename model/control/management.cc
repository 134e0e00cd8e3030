// SPDX-License-Identifier: Apache-2.0
#include "model/control/management.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "model/common/clock.h"
#include "model/common/transfer.h"
#include "model/control/factory_firmware.h"

namespace spyre::model {

namespace {
constexpr uint32_t kBus = regs::MC_STATE;  // where the controller's registers begin
constexpr size_t kLogLines = 64;
constexpr size_t kLogLineBytes = 200;
constexpr size_t kLinesInMessage = 8;

// Registers whose writing acts on the card.
bool HasEffect(uint32_t address) {
  switch (address) {
    case regs::MC_STATE:
    case regs::MC_WATCHDOG:
    case regs::MC_PANIC:
    case regs::MC_MESSAGE_DONE:
    case regs::MC_REQUEST_DONE:
    case regs::MC_RESET_DONE:
    case regs::MC_LETTER_DONE:
    case regs::MC_REGION_SET:
    case regs::MC_SCRUB:
    case regs::MC_CORE_MASK_SET:
    case regs::MC_SHARE_SET:
    case regs::MC_ERROR_DONE:
      return true;
    default:
      return false;
  }
}

// Names of the RISC-V privileged architecture.
const char* CauseName(uint32_t mcause) {
  constexpr const char* kNames[] = {"instruction address misaligned",
                                    "instruction access fault",
                                    "illegal instruction",
                                    "breakpoint",
                                    "load address misaligned",
                                    "load access fault",
                                    "store address misaligned",
                                    "store access fault"};
  if (mcause < std::size(kNames)) return kNames[mcause];
  return mcause == 11 ? "environment call" : "unknown cause";
}

bool InWords(uint32_t address, uint32_t first) {
  return address >= first && address < first + kEntryBytes;
}
}  // namespace

ManagementController::ManagementController(const sc_core::sc_module_name& name,
                                           const CardConfig& config, Mmu& mmu)
    : sc_module(name), config_(config), mmu_(mmu), scrubber_("scrubber", config), shares_(config) {
  runner_ = config.management.fidelity == ManagementFidelity::kRtl
                ? MakeRtlFirmware(config, *this)
                : MakeHostFirmware(config, *this);
  boot_ = std::make_unique<BootLogic>(
      "boot_logic", config, FactoryPackage(config),
      [this](const FirmwareProgram& program) { return runner_->Runs(program); },
      static_cast<BootClient&>(*this));
  if (boot_->first() != nullptr) runner_->Restart(*boot_->first());
  sc_core::sc_spawn([this] { runner_->Run(); }, "firmware");
  const auto method = [this](void (ManagementController::*body)(), const char* process,
                             const sc_core::sc_event& event) {
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.dont_initialize();
    options.set_sensitivity(&event);
    sc_core::sc_spawn([this, body] { (this->*body)(); }, process, &options);
  };
  method(&ManagementController::UpdatePending, "arrived", arrived_);
  method(&ManagementController::Bite, "watchdog", watchdog_);
  method(&ManagementController::CheckBoot, "boot", boot_deadline_);
  if (boot_->first() != nullptr)
    boot_deadline_.notify(Ps(config.management.boot_deadline_us * 1000000));
}

bool ManagementController::AttachWaves(Waves* waves) {
  if (runner_->rtl() == nullptr) return false;
  runner_->rtl()->SetWaves(waves, Clock(config_.management.clock_mhz));
  return true;
}

void ManagementController::SetDebugger(Debugger* debugger) {
  if (debugger == nullptr) return;
  if (runner_->rtl() == nullptr) {
    throw BadInput(
        "a debugger needs a processor: card.management.fidelity = \"behavioural\" runs the "
        "firmware "
        "as host code; set it to \"rtl\"");
  }
  runner_->SetDebugger(debugger);
}

// ---------------------------------------------------------------- the card's side

Status ManagementController::TranslateMessage(unsigned function, const Message& message,
                                              ControlBlock* block, uint64_t* fault) {
  message_.function = function;
  std::memcpy(message_.in.data(), &message, kEntryBytes);
  message_.waits = true;
  UpdatePending();
  wait(message_done_);
  std::memcpy(static_cast<void*>(block), message_.out.data(), kEntryBytes);
  *fault = Register(regs::MC_MESSAGE_FAULT_LO) |
           static_cast<uint64_t>(Register(regs::MC_MESSAGE_FAULT_HI)) << 32;
  return static_cast<Status>(Register(regs::MC_MESSAGE_STATUS));
}

bool ManagementController::accepting(unsigned function) const {
  return state() == FirmwareState::READY &&
         std::find(resets_.begin(), resets_.end(), function) == resets_.end();
}

void ManagementController::Request(const AdminRequest& request, const sc_core::sc_time& arrival) {
  if (admin_status_ == kAdminBusy) return;
  request_ = request;
  admin_status_ = kAdminBusy;
  arrived_.notify(arrival);
}

void ManagementController::Post(const MailboxLetter& letter, const sc_core::sc_time& arrival) {
  if (mailbox_status_ == kAdminBusy) return;
  letter_ = letter;
  mailbox_status_ = kAdminBusy;
  arrived_.notify(arrival);
}

uint32_t ManagementController::mailbox_result(unsigned i) const {
  return Register(regs::MC_LETTER_RESULT0 + 4 * i);
}

void ManagementController::FunctionReset(unsigned function) {
  if (std::find(resets_.begin(), resets_.end(), function) != resets_.end()) return;
  resets_.push_back(function);
  if (function == 0) {  // whose the answers are
    if (admin_status_ != kAdminBusy) admin_status_ = 0;
    if (mailbox_status_ != kAdminBusy) mailbox_status_ = 0;
  }
  UpdatePending();
}

void ManagementController::CardReset() {
  fault_.clear();
  HoldFirmware();
  boot_->Reset();
}

void ManagementController::HoldFirmware() {
  runner_->Hold();
  hung_ = trapped_ = nullptr;
  watchdog_.cancel();
  boot_deadline_.cancel();
  arrived_.cancel();
  registers_ = {};
  request_ = {};
  letter_ = {};
  admin_status_ = mailbox_status_ = 0;
  resets_.clear();
  errors_.clear();
  lost_errors_ = 0;
  scrubber_.Reset();
  shares_.Reset();
  answering_ = false;
  line_.clear();
  log_.clear();
  if (message_.waits) {
    message_.waits = false;
    message_.out = {};
    registers_[(regs::MC_MESSAGE_STATUS - kBus) / 4] = static_cast<uint32_t>(Status::ABORTED);
    message_done_.notify(sc_core::SC_ZERO_TIME);
  }
  UpdatePending();
}

void ManagementController::StartFirmware(const FirmwareProgram& program) {
  stopped_ = false;
  runner_->Restart(program);
  boot_deadline_.notify(Ps(config_.management.boot_deadline_us * 1000000));
}

void ManagementController::UpdatePending() {
  uint32_t pending = 0;
  if (!resets_.empty()) pending |= regs::MC_PENDING_RESET_MASK;
  if (message_.waits) pending |= regs::MC_PENDING_MESSAGE_MASK;
  if (admin_status_ == kAdminBusy && !answering_) pending |= regs::MC_PENDING_ADMIN_MASK;
  if (mailbox_status_ == kAdminBusy) pending |= regs::MC_PENDING_MAILBOX_MASK;
  if (!errors_.empty()) pending |= regs::MC_PENDING_ERROR_MASK;
  pending_ = pending;
  runner_->SetPending(pending);
}

// ---------------------------------------------------------------- the firmware's bus

uint32_t ManagementController::Register(uint32_t address) const {
  return registers_[(address - kBus) / 4];
}

uint32_t ManagementController::Read(uint32_t address) {
  if (InWords(address, regs::MC_MESSAGE_IN)) {
    return message_.in[(address - regs::MC_MESSAGE_IN) / 4];
  }
  switch (address) {
    case regs::MC_VFS:
      return static_cast<uint32_t>(config_.num_vfs);
    case regs::MC_CORES:
      return static_cast<uint32_t>(config_.cores);
    case regs::MC_MEMORY_LO:
      return static_cast<uint32_t>(config_.usable_bytes());
    case regs::MC_MEMORY_HI:
      return static_cast<uint32_t>(config_.usable_bytes() >> 32);
    case regs::MC_PENDING:
      return pending_;
    case regs::MC_TIME_LO:
      latched_time_ps_ = NowPs();
      return static_cast<uint32_t>(latched_time_ps_);
    case regs::MC_TIME_HI:
      return static_cast<uint32_t>(latched_time_ps_ >> 32);
    case regs::MC_MESSAGE_FUNCTION:
      return message_.function;
    case regs::MC_MESSAGE_CRC:
      return Crc32c(message_.in.data(), kEntryBytes - sizeof(uint32_t));
    case regs::MC_BLOCK_CRC:
      return Crc32c(message_.out.data(), kEntryBytes - sizeof(uint32_t));
    case regs::MC_REQUEST_COMMAND:
      return request_.command;
    case regs::MC_REQUEST_VF:
      return request_.vf;
    case regs::MC_REQUEST_REGION:
      return request_.region;
    case regs::MC_REQUEST_BASE_LO:
      return static_cast<uint32_t>(request_.base);
    case regs::MC_REQUEST_BASE_HI:
      return static_cast<uint32_t>(request_.base >> 32);
    case regs::MC_REQUEST_LENGTH_LO:
      return static_cast<uint32_t>(request_.length);
    case regs::MC_REQUEST_LENGTH_HI:
      return static_cast<uint32_t>(request_.length >> 32);
    case regs::MC_RESET_FUNCTION:
      return resets_.empty() ? 0 : resets_.front();
    case regs::MC_ERROR_WHAT:
    case regs::MC_ERROR_FUNCTION:
    case regs::MC_ERROR_DETAIL0:
    case regs::MC_ERROR_DETAIL1:
    case regs::MC_ERROR_LOST:
    case regs::MC_ERROR_TIME_LO:
    case regs::MC_ERROR_TIME_HI:
      return ErrorRegister(address);
    case regs::MC_LETTER_COMMAND:
      return letter_.command;
    case regs::MC_LETTER_ARG0:
      return letter_.arg0;
    case regs::MC_LETTER_ARG1:
      return letter_.arg1;
    default:  // what was written; 0 where there is nothing
      return address >= kBus && address - kBus < sizeof(registers_) ? Register(address) : 0;
  }
}

void ManagementController::Write(uint32_t address, uint32_t value) {
  if (InWords(address, regs::MC_BLOCK_OUT)) {
    message_.out[(address - regs::MC_BLOCK_OUT) / 4] = value;
  } else if (address == regs::MC_LOG) {
    Log(static_cast<char>(value));
  } else if (HasEffect(address)) {
    runner_->AtItsTime([this, address, value] { Effect(address, value); });
  } else if (address >= kBus && address - kBus < sizeof(registers_)) {
    registers_[(address - kBus) / 4] = value;
  }
}

void ManagementController::Effect(uint32_t address, uint32_t value) {
  switch (address) {
    case regs::MC_STATE:
      registers_[(address - kBus) / 4] = value;
      if (state() == FirmwareState::READY) {
        boot_deadline_.cancel();
        boot_->Ready();
        if (on_accepting_) on_accepting_();
      } else if (state() == FirmwareState::FAILED) {
        Fail(FirmwareState::FAILED, BootFailure::SELF_TEST, 0, "its self-test failed");
      }
      break;
    case regs::MC_WATCHDOG:
      ArmWatchdog(value);
      break;
    case regs::MC_PANIC:
      Fail(FirmwareState::TRAPPED, BootFailure::TRAP, value,
           fmt::format("trap: mcause {} ({}), mepc 0x{:08x} ({}), mtval 0x{:08x}", value,
                       CauseName(value), Register(regs::MC_PANIC_PC),
                       runner_->NameOf(Register(regs::MC_PANIC_PC)),
                       Register(regs::MC_PANIC_VALUE)));
      break;
    case regs::MC_MESSAGE_DONE:
      if (!message_.waits) break;
      message_.waits = false;
      message_done_.notify(sc_core::SC_ZERO_TIME);
      break;
    case regs::MC_REQUEST_DONE:
      if (admin_status_ != kAdminBusy || answering_) break;
      answering_ = true;
      scrubber_.Then([this, value] { AnswerRequest(value); });
      break;
    case regs::MC_LETTER_DONE:
      if (mailbox_status_ != kAdminBusy) break;
      mailbox_status_ = value;
      interrupt->Interrupt(0, regs::INT_STATUS_ADMIN_MASK);
      break;
    case regs::MC_RESET_DONE:
      if (resets_.empty()) break;
      resets_.pop_front();
      if (on_accepting_) on_accepting_();
      break;
    case regs::MC_ERROR_DONE:
      if (!errors_.empty()) errors_.pop_front();
      break;
    case regs::MC_REGION_SET:
      SetRegion();
      break;
    case regs::MC_SCRUB:
      scrubber_.Clear(Pair(regs::MC_SCRUB_BASE_LO), Pair(regs::MC_SCRUB_LENGTH_LO));
      break;
    case regs::MC_SHARE_SET:
      SetShare();
      break;
    default:  // MC_CORE_MASK_SET
      mmu_.SetCores(Register(regs::MC_REGION_FUNCTION), Register(regs::MC_CORE_MASK));
      shares_.CoresChanged(Register(regs::MC_REGION_FUNCTION));
      break;
  }
  UpdatePending();
}

// ---------------------------------------------------------------- failing

void ManagementController::Log(char c) {
  if (c != '\n' && line_.size() < kLogLineBytes) {
    line_ += c >= ' ' && c <= '~' ? c : '?';
    return;
  }
  log_.push_back(std::move(line_));
  line_.clear();
  if (log_.size() > kLogLines) log_.pop_front();
}

void ManagementController::ArmWatchdog(uint32_t us) {
  watchdog_.cancel();
  if (us != 0) watchdog_.notify(Ps(uint64_t{us} * 1000000));
}

void ManagementController::Bite() {
  Fail(FirmwareState::BITTEN, BootFailure::WATCHDOG, 0,
       "watchdog: the firmware has not written MC_WATCHDOG in time");
}

void ManagementController::CheckBoot() {
  if (state() == FirmwareState::READY) return;
  Fail(FirmwareState::FAILED, BootFailure::NOT_READY, Register(regs::MC_STATE),
       fmt::format("not ready {} us after reset (MC_STATE {})", config_.management.boot_deadline_us,
                   Register(regs::MC_STATE)));
}

std::string ManagementController::LastLines() const {
  std::string text;
  const size_t first = log_.size() > kLinesInMessage ? log_.size() - kLinesInMessage : 0;
  for (size_t i = first; i < log_.size(); ++i) text += "\n  log: " + log_[i];
  if (!line_.empty()) text += "\n  log: " + line_;
  return text.empty() ? "\n  log: empty" : text;
}

void ManagementController::Fail(FirmwareState state, BootFailure failure, uint32_t detail,
                                const std::string& what) {
  if (stopped_) return;
  stopped_ = true;
  watchdog_.cancel();
  boot_deadline_.cancel();
  if (hung_ != nullptr && failure == BootFailure::WATCHDOG)
    FaultInjector::Detected(*hung_, "the firmware's watchdog", NowPs());
  if (trapped_ != nullptr && failure == BootFailure::TRAP)
    FaultInjector::Detected(*trapped_, "the firmware's trap handler", NowPs());
  const std::string text = fmt::format("firmware of the management controller: {}{}{}", what,
                                       runner_->Where(), LastLines());
  registers_[(regs::MC_STATE - kBus) / 4] = static_cast<uint32_t>(state);
  if (!boot_->Failed(failure, detail)) fault_ = text;
  runner_->Halt();
  if (!fault_.empty()) lost->Lost();
}

}  // namespace spyre::model
