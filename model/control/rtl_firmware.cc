// SPDX-License-Identifier: Apache-2.0
// The firmware on the RTL of its processor. The Verilated core runs ahead of simulated time by at
// most a batch of cycles; the thread then waits until time has come to it. Asleep it costs nothing:
// the clock stands, and mtime is moved on when it wakes.
#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "model/common/clock.h"
#include "model/common/transfer.h"
#include "model/control/factory_firmware.h"
#include "model/control/firmware_runner.h"
#include "model/rtl/rtl_blocks.h"

namespace spyre::model {

namespace {

constexpr uint64_t kBatchCycles = 256;
constexpr uint64_t kNever = 1ull << 40;  // cycles: beyond any run

// Lets another thread wake a process of the simulation.
class Alarm final : public sc_core::sc_prim_channel {
 public:
  Alarm() : sc_prim_channel(sc_core::sc_gen_unique_name("alarm")) {}
  void Ring() { async_request_update(); }  // any thread
  const sc_core::sc_event& event() const { return event_; }

 private:
  void update() override { event_.notify(sc_core::SC_ZERO_TIME); }
  sc_core::sc_event event_;
};

class RtlFirmware final : public FirmwareRunner, private DebugTarget {
 public:
  RtlFirmware(const CardConfig& config, ControllerBus& bus)
      : clock_(config.management.clock_mhz),
        factory_(FactoryFirmware(config)),
        image_(factory_),
        controller_(MakeRtlController(bus)) {
    controller_->Load(image_);
  }
  ~RtlFirmware() override {
    if (debugger_ != nullptr) debugger_->WatchInput({});
  }

  bool Runs(const FirmwareProgram& /*program*/) const override { return true; }
  void Run() override {
    for (;;) {
      while (!restart_) sc_core::wait(wake_);
      restart_ = false;
      halted_ = false;
      effects_.clear();
      controller_->Load(image_);
      sc_core::wait(Ps(clock_.Edge(1)));  // reset
      controller_->SkipCycles(clock_.CycleAt(NowPs()));
      if (debugger_ != nullptr) Debug(Debugger::Stop::kReset);
      while (!halted_ && !restart_) Serve();
    }
  }

  void SetPending(uint32_t pending) override {
    pending_ = pending;
    if (pending != 0) wake_.notify(sc_core::SC_ZERO_TIME);
  }
  void AtItsTime(std::function<void()> effect) override {
    effects_.push_back(std::move(effect));
    controller_->StopAfterAccess();
  }
  std::string Where() const override {
    return fmt::format(", pc 0x{:08x} ({})", controller_->pc(), image_.Describe(controller_->pc()));
  }
  std::string NameOf(uint32_t address) const override { return image_.Describe(address); }
  void Halt() override {
    halted_ = true;
    wake_.notify(sc_core::SC_ZERO_TIME);
    if (debugger_ != nullptr) Debug(Debugger::Stop::kTrap);  // to look at; it cannot go on
  }
  void Hold() override {
    halted_ = true;
    restart_ = false;
    effects_.clear();
    wake_.notify(sc_core::SC_ZERO_TIME);
  }
  void Break() override {
    constexpr uint32_t kIllegal = 0;
    controller_->WriteMemory(controller_->pc(), &kIllegal, sizeof(kIllegal));
  }
  // Names are known of the factory's firmware only: images have none.
  void Restart(const FirmwareProgram& program) override {
    const FirmwareProgram own = FlattenElf(factory_);
    if (program.load_address == own.load_address && program.entry == own.entry &&
        program.payload == own.payload) {
      image_ = factory_;
    } else {
      image_ = {
          "an image from the flash", program.entry, {{program.load_address, program.payload}}, {}};
    }
    restart_ = true;
    wake_.notify(sc_core::SC_ZERO_TIME);
  }
  RtlController* rtl() override { return controller_.get(); }
  void SetDebugger(Debugger* debugger) override {
    debugger_ = debugger;
    debugger->WatchInput([this] { alarm_.Ring(); });
  }

 private:
  // What follows until the core sleeps, or somebody has to look.
  void Serve() {
    const bool interrupt = pending_ != 0;
    controller_->SetExternalInterrupt(interrupt);
    const RtlController::Stop why = RunBatch();
    CatchUp();
    if (halted_ || restart_) return;
    if (why == RtlController::Stop::kAsleep) {
      if ((pending_ != 0) == interrupt) Sleep();
      if (!halted_ && !restart_ && debugger_ != nullptr && debugger_->WantsStop())
        Debug(Debugger::Stop::kInterrupt);
      return;
    }
    if (debugger_ == nullptr) return;
    if (why == RtlController::Stop::kBreakpoint) {
      Debug(Debugger::Stop::kBreakpoint);
    } else if (stepping_) {
      Debug(Debugger::Stop::kStep);
    } else if (debugger_->WantsStop()) {
      Debug(Debugger::Stop::kInterrupt);
    }
  }

  RtlController::Stop RunBatch() {
    if (!stepping_) return controller_->Run(kBatchCycles);
    return controller_->Step() ? RtlController::Stop::kCycles : RtlController::Stop::kAsleep;
  }

  // Lets simulated time come to where the core is, then does what its writes asked for.
  void CatchUp() {
    const uint64_t at = clock_.Edge(controller_->cycles());
    if (at > NowPs()) sc_core::wait(Ps(at - NowPs()));
    if (restart_) return;  // what it wrote meanwhile is lost with it
    std::vector<std::function<void()>> effects;
    effects.swap(effects_);
    for (const auto& effect : effects) effect();
  }

  // Until a request comes, the timer is due, if it is set at all, or a debugger may want it to
  // stop.
  void Sleep() {
    const uint64_t due = controller_->timer_due();
    if (due <= controller_->cycles() || due - controller_->cycles() > kNever) {
      sc_core::wait(wake_ | alarm_.event());
    } else {
      sc_core::wait(Ps(clock_.Edge(due) - NowPs()), wake_ | alarm_.event());
    }
    const uint64_t cycle = clock_.CycleAt(NowPs());
    if (cycle > controller_->cycles()) controller_->SkipCycles(cycle - controller_->cycles());
  }

  void Debug(Debugger::Stop why) {
    const Debugger::Resume resume = debugger_->Stopped(*this, why);
    stepping_ = resume == Debugger::Resume::kStep;
    if (resume != Debugger::Resume::kDetach) return;
    debugger_->WatchInput({});
    debugger_ = nullptr;
  }

  bool ReadRegister(unsigned number, uint32_t* value) override {
    if (number > kPc) return number >= kCsr && controller_->Csr(number - kCsr, value);
    *value = number == kPc ? controller_->pc() : controller_->Register(number);
    return true;
  }
  bool WriteRegister(unsigned number, uint32_t value) override {
    if (number > kPc) return false;
    if (number == kPc) {
      controller_->SetPc(value);
    } else {
      controller_->SetRegister(number, value);
    }
    return true;
  }
  bool ReadMemory(uint32_t address, void* data, size_t bytes) override {
    return controller_->ReadMemory(address, data, bytes);
  }
  bool WriteMemory(uint32_t address, const void* data, size_t bytes) override {
    return controller_->WriteMemory(address, data, bytes);
  }
  void SetBreakpoint(uint32_t address) override { controller_->SetBreakpoint(address); }
  void ClearBreakpoint(uint32_t address) override { controller_->ClearBreakpoint(address); }

  const Clock clock_;
  const ElfImage factory_;
  ElfImage image_;  // that runs
  const std::unique_ptr<RtlController> controller_;
  Debugger* debugger_ = nullptr;
  std::vector<std::function<void()>> effects_;
  uint32_t pending_ = 0;
  bool stepping_ = false;
  bool halted_ = false;
  bool restart_ = false;
  sc_core::sc_event wake_;
  Alarm alarm_;
};

}  // namespace

std::unique_ptr<FirmwareRunner> MakeRtlFirmware(const CardConfig& config, ControllerBus& bus) {
  return std::make_unique<RtlFirmware>(config, bus);
}

}  // namespace spyre::model
