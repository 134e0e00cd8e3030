// SPDX-License-Identifier: Apache-2.0
// The management controller: see controller.h.
#include <contract/registers.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "Vrv32.h"
#include "Vrv32___024root.h"
#include "base/error.h"
#include "model/rtl/verilated/blocks.h"
#include "model/rtl/verilated/fst_file.h"
#include "model/rtl/verilated/verilated_block.h"
#include "model/rtl/waves.h"

namespace spyre::model::verilated {

namespace {

// Offset in the SRAM; false if not all of the bytes lie in it.
bool InSram(uint32_t address, uint64_t bytes, uint32_t* offset) {
  *offset = address - kControllerSramBase;
  return address >= kControllerSramBase && *offset + bytes <= kControllerSramBytes;
}

// Between calls the clock is low and every input has settled.
class VerilatedController final : public RtlController {
 public:
  VerilatedController(ControllerBus& bus, const PowerOn& power_on)
      : block_("rv32", power_on), bus_(bus) {
    top_.reset = top_.jump = top_.set_register = top_.csr_read = 0;
    top_.bus_ready = top_.external_interrupt = 0;
    Settle();
    ResetTo(kControllerSramBase);
    block_.HasBeenReset();
  }

  void Load(const ElfImage& image) override {
    uint32_t offset = 0;
    for (const ElfSegment& segment : image.segments) {
      const uint64_t bytes = segment.data.size() + uint64_t{segment.zero_bytes};
      if (!InSram(segment.address, bytes, &offset)) {
        throw BadInput(
            "{}: a segment of {} bytes at 0x{:08x} is outside the controller's SRAM, 0x{:08x} to "
            "0x{:08x}",
            image.name, bytes, segment.address, kControllerSramBase,
            kControllerSramBase + kControllerSramBytes - 1);
      }
    }
    if (!InSram(image.entry, 4, &offset) || image.entry % 4 != 0) {
      throw BadInput(
          "{}: the entry 0x{:08x} is not a multiple of 4 inside the controller's SRAM, 0x{:08x} to "
          "0x{:08x}",
          image.name, image.entry, kControllerSramBase,
          kControllerSramBase + kControllerSramBytes - 1);
    }
    std::memset(sram(), 0, kControllerSramBytes);
    for (const ElfSegment& segment : image.segments)
      WriteMemory(segment.address, segment.data.data(), segment.data.size());
    cycles_ = retired_ = 0;
    stop_ = false;
    ResetTo(image.entry);
  }

  Stop Run(uint64_t cycles) override {
    const uint64_t end = cycles_ + std::min(cycles, UINT64_MAX - cycles_);
    const bool watch = !breakpoints_.empty();
    stop_ = false;
    while (cycles_ < end) {
      if (top_.asleep) return Stop::kAsleep;
      Tick();
      // First: the next Run would take it for the one that it starts at.
      if (watch && top_.boundary && breakpoints_.count(top_.pc) != 0) return Stop::kBreakpoint;
      if (stop_) return Stop::kBus;
    }
    return Stop::kCycles;
  }

  bool Step() override {
    if (top_.asleep) return false;
    while (top_.sleeping) Tick();
    do {
      Tick();
    } while (!top_.fetching && !top_.sleeping);
    return true;
  }

  void StopAfterAccess() override { stop_ = true; }

  void SkipCycles(uint64_t cycles) override {
    cycles_ += cycles;
    Settle();
  }

  uint64_t cycles() const override { return cycles_; }
  uint64_t timer_due() const override { return top_.mtimecmp; }
  bool asleep() const override { return top_.asleep; }

  void SetExternalInterrupt(bool level) override {
    if (top_.external_interrupt == level) return;
    top_.external_interrupt = level;
    Settle();
  }

  uint32_t pc() const override { return top_.pc; }

  void SetPc(uint32_t pc) override {
    top_.start_pc = pc & ~3u;
    top_.jump = 1;
    Pulse();
    top_.jump = 0;
  }

  uint32_t Register(unsigned number) const override {
    return top_.rootp->controller__DOT__core__DOT__x[number];
  }

  void SetRegister(unsigned number, uint32_t value) override {
    if (number == 0) return;
    top_.register_number = number;
    top_.register_value = value;
    top_.set_register = 1;
    Pulse();
    top_.set_register = 0;
  }

  bool Csr(unsigned number, uint32_t* value) const override {
    if (number > 0xFFF) return false;
    top_.csr_read = 1;
    top_.csr_number = number;
    top_.eval();
    *value = top_.csr_value;
    const bool exists = top_.csr_found;
    top_.csr_read = 0;
    top_.eval();
    return exists;
  }

  uint64_t retired() const override { return retired_; }

  bool ReadMemory(uint32_t address, void* data, size_t bytes) const override {
    uint32_t offset = 0;
    if (!InSram(address, bytes, &offset)) return false;
    if (bytes != 0) std::memcpy(data, sram() + offset, bytes);
    return true;
  }

  bool WriteMemory(uint32_t address, const void* data, size_t bytes) override {
    uint32_t offset = 0;
    if (!InSram(address, bytes, &offset)) return false;
    if (bytes != 0) std::memcpy(sram() + offset, data, bytes);
    return true;
  }

  void FlipBit(uint64_t seed) override {
    const auto bit = static_cast<uint32_t>(seed >> 1);
    if (seed % 2 == 0) {  // x0 is not a register
      top_.rootp->controller__DOT__core__DOT__x[1 + bit / 32 % 31] ^= 1u << bit % 32;
    } else {
      sram()[bit / 8 % kControllerSramBytes] ^= static_cast<uint8_t>(1u << bit % 8);
    }
    Settle();
  }

  void SetWaves(Waves* waves, const Clock& clock) override {
    waves_ = waves;
    clock_ = clock;
    if (waves == nullptr || waves == attached_) return;
    AttachWaves(*waves, top_);
    attached_ = waves;
  }

  void SetBreakpoint(uint32_t address) override { breakpoints_.insert(address); }
  void ClearBreakpoint(uint32_t address) override { breakpoints_.erase(address); }

 private:
  uint8_t* sram() const {
    return reinterpret_cast<uint8_t*>(&top_.rootp->controller__DOT__sram__DOT__mem);
  }

  void Settle() {
    top_.clk = 0;
    top_.mtime = cycles_;
    top_.eval();
  }
  void ResetTo(uint32_t pc) {
    top_.start_pc = pc;
    top_.reset = 1;
    Pulse();
    top_.reset = 0;
  }
  // A rising and a falling edge.
  void Pulse() {
    top_.clk = 1;
    top_.eval();
    Settle();
  }
  void Tick() {
    if (top_.bus_valid) Access();
    retired_ += top_.retire;
    top_.clk = 1;
    top_.eval();
    ++cycles_;
    if (waves_ != nullptr) waves_->Dump(clock_.Edge(cycles_));
    top_.bus_ready = 0;
    Settle();
    if (waves_ != nullptr) waves_->Dump((clock_.Edge(cycles_) + clock_.Edge(cycles_ + 1)) / 2);
  }
  // The answer that the core takes at the next edge. If the bus throws, the core asks again.
  void Access() {
    top_.bus_error = !bus_.Maps(top_.bus_address);
    if (!top_.bus_error) {
      if (top_.bus_write) {
        bus_.Write(top_.bus_address, top_.bus_wdata);
      } else {
        top_.bus_rdata = bus_.Read(top_.bus_address);
      }
    }
    top_.bus_ready = 1;
  }

  VerilatedBlock<Vrv32> block_;
  Vrv32& top_ = block_.top;
  ControllerBus& bus_;
  std::set<uint32_t> breakpoints_;
  uint64_t cycles_ = 0, retired_ = 0;
  bool stop_ = false;
  Waves* waves_ = nullptr;
  const Waves* attached_ = nullptr;
  Clock clock_{1};  // of the waves
};

}  // namespace

std::unique_ptr<RtlController> MakeController(ControllerBus& bus, const PowerOn& power_on) {
  return std::make_unique<VerilatedController>(bus, power_on);
}

}  // namespace spyre::model::verilated
