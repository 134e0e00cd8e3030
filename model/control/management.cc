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
constexpr size_t kLogLines = 64;
constexpr size_t kLogLineBytes = 200;
constexpr size_t kLinesInMessage = 8;

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
  WireFacts();
  WireRequests();
  WireErrors();
  WireProtection();
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
  *fault = bus_.mc_message_fault.value();
  return static_cast<Status>(bus_.mc_message_status.value());
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
  return bus_.At(bus_.mc_letter_result0.offset() + 4 * i).value();
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
  bus_.Reset();
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
    bus_.mc_message_status.Set(static_cast<uint32_t>(Status::ABORTED));
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

uint32_t ManagementController::Read(uint32_t address) {
  if (InWords(address, regs::MC_MESSAGE_IN))
    return message_.in[(address - regs::MC_MESSAGE_IN) / 4];
  return bus_.Read(address);
}

void ManagementController::Write(uint32_t address, uint32_t value) {
  const Register* const target = bus_.Find(address);
  if (InWords(address, regs::MC_BLOCK_OUT)) {
    message_.out[(address - regs::MC_BLOCK_OUT) / 4] = value;
  } else if (address == regs::MC_LOG) {
    Log(static_cast<char>(value));
  } else if (target != nullptr && target->acts_on_write()) {
    runner_->AtItsTime([this, address, value] {
      bus_.Write(address, value);
      UpdatePending();
    });
  } else {
    bus_.Write(address, value);
  }
}

void ManagementController::WireFacts() {
  bus_.mc_vfs.OnRead([this] { return static_cast<uint32_t>(config_.num_vfs); });
  bus_.mc_cores.OnRead([this] { return static_cast<uint32_t>(config_.cores); });
  bus_.mc_memory.OnRead([this] { return config_.usable_bytes(); });
  bus_.mc_pending.OnRead([this] { return pending_; });
  bus_.mc_time_lo.OnRead([] { return static_cast<uint32_t>(NowPs()); });
  bus_.mc_time_lo.AfterRead([this](uint32_t) { latched_time_ps_ = NowPs(); });
  bus_.mc_time_hi.OnRead([this] { return static_cast<uint32_t>(latched_time_ps_ >> 32); });
  bus_.mc_state.OnWrite([this](uint32_t) { StateChanged(); });
  bus_.mc_watchdog.OnWrite([this](uint32_t us) { ArmWatchdog(us); });
  bus_.mc_panic.OnWrite([this](uint32_t cause) {
    const uint32_t pc = bus_.mc_panic_pc.value();
    Fail(FirmwareState::TRAPPED, BootFailure::TRAP, cause,
         fmt::format("trap: mcause {} ({}), mepc 0x{:08x} ({}), mtval 0x{:08x}", cause,
                     CauseName(cause), pc, runner_->NameOf(pc), bus_.mc_panic_value.value()));
  });
}

void ManagementController::StateChanged() {
  if (state() == FirmwareState::READY) {
    boot_deadline_.cancel();
    boot_->Ready();
    if (on_accepting_) on_accepting_();
  } else if (state() == FirmwareState::FAILED) {
    Fail(FirmwareState::FAILED, BootFailure::SELF_TEST, 0, "its self-test failed");
  }
}

// What waits for the firmware, and its answers.
void ManagementController::WireRequests() {
  bus_.mc_message_function.OnRead([this] { return message_.function; });
  bus_.mc_message_crc.OnRead(
      [this] { return Crc32c(message_.in.data(), kEntryBytes - sizeof(uint32_t)); });
  bus_.mc_block_crc.OnRead(
      [this] { return Crc32c(message_.out.data(), kEntryBytes - sizeof(uint32_t)); });
  bus_.mc_message_done.OnWrite([this](uint32_t) {
    if (!message_.waits) return;
    message_.waits = false;
    message_done_.notify(sc_core::SC_ZERO_TIME);
  });

  bus_.mc_request_command.OnRead([this] { return request_.command; });
  bus_.mc_request_vf.OnRead([this] { return request_.vf; });
  bus_.mc_request_region.OnRead([this] { return request_.region; });
  bus_.mc_request_base.OnRead([this] { return request_.base; });
  bus_.mc_request_length.OnRead([this] { return request_.length; });
  bus_.mc_request_done.OnWrite([this](uint32_t status) {
    if (admin_status_ != kAdminBusy || answering_) return;
    answering_ = true;
    scrubber_.Then([this, status] { AnswerRequest(status); });
  });

  bus_.mc_letter_command.OnRead([this] { return letter_.command; });
  bus_.mc_letter_arg0.OnRead([this] { return letter_.arg0; });
  bus_.mc_letter_arg1.OnRead([this] { return letter_.arg1; });
  bus_.mc_letter_done.OnWrite([this](uint32_t status) {
    if (mailbox_status_ != kAdminBusy) return;
    mailbox_status_ = status;
    interrupt->Interrupt(0, regs::INT_STATUS_ADMIN_MASK);
  });

  bus_.mc_reset_function.OnRead([this] { return resets_.empty() ? 0 : resets_.front(); });
  bus_.mc_reset_done.OnWrite([this](uint32_t) {
    if (resets_.empty()) return;
    resets_.pop_front();
    if (on_accepting_) on_accepting_();
  });
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
  Fail(FirmwareState::FAILED, BootFailure::NOT_READY, bus_.mc_state.value(),
       fmt::format("not ready {} us after reset (MC_STATE {})", config_.management.boot_deadline_us,
                   bus_.mc_state.value()));
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
  bus_.mc_state.Set(static_cast<uint32_t>(state));
  if (!boot_->Failed(failure, detail)) fault_ = text;
  runner_->Halt();
  if (!fault_.empty()) lost->Lost();
}

}  // namespace spyre::model
