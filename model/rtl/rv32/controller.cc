#include "model/rtl/rv32/controller.h"

#include <contract/registers.h>
#include <verilated.h>

#include <algorithm>
#include <cstring>

#include "Vrv32.h"
#include "Vrv32___024root.h"
#include "model/contract/error.h"
#include "model/rtl/verilated_block.h"
#include "model/rtl/waves.h"

namespace spyre::model {

// Between calls the clock is low and every input has settled.
struct RtlController::Model {
  Model() { top.eval(); }

  uint8_t* sram() {
    return reinterpret_cast<uint8_t*>(&top.rootp->controller__DOT__sram__DOT__mem);
  }

  void Settle() {
    top.clk = 0;
    top.mtime = cycles;
    top.eval();
  }
  // A rising and a falling edge.
  void Clock() {
    top.clk = 1;
    top.eval();
    Settle();
  }
  void Tick(ControllerBus& bus) {
    if (top.bus_valid) Access(bus);
    retired += top.retire;
    top.clk = 1;
    top.eval();
    ++cycles;
    if (waves != nullptr) waves->Dump(clock.Edge(cycles));
    top.bus_ready = 0;
    Settle();
    if (waves != nullptr) waves->Dump((clock.Edge(cycles) + clock.Edge(cycles + 1)) / 2);
  }
  // The answer that the core takes at the next edge. If the bus throws, the core asks again.
  void Access(ControllerBus& bus) {
    top.bus_error = !bus.Maps(top.bus_address);
    if (!top.bus_error) {
      if (top.bus_write) {
        bus.Write(top.bus_address, top.bus_wdata);
      } else {
        top.bus_rdata = bus.Read(top.bus_address);
      }
    }
    top.bus_ready = 1;
  }

  VerilatedBlock<Vrv32> block{"rv32"};
  Vrv32& top = block.top;
  uint64_t cycles = 0, retired = 0;
  bool stop = false;
  Waves* waves = nullptr;
  const Waves* attached = nullptr;
  model::Clock clock{1};  // of the waves
};

namespace {

// Offset in the SRAM; false if not all of the bytes lie in it.
bool InSram(uint32_t address, uint64_t bytes, uint32_t* offset) {
  *offset = address - kControllerSramBase;
  return address >= kControllerSramBase && *offset + bytes <= kControllerSramBytes;
}

}  // namespace

RtlController::RtlController(ControllerBus& bus) : model_(std::make_unique<Model>()), bus_(bus) {}
RtlController::~RtlController() = default;

void RtlController::Load(const ElfImage& image) {
  uint32_t offset = 0;
  for (const ElfSegment& segment : image.segments) {
    const uint64_t bytes = segment.data.size() + uint64_t{segment.zero_bytes};
    if (!InSram(segment.address, bytes, &offset)) {
      throw DeviceFault(
          "{}: a segment of {} bytes at 0x{:08x} is outside the controller's SRAM, 0x{:08x} to "
          "0x{:08x}",
          image.name, bytes, segment.address, kControllerSramBase,
          kControllerSramBase + kControllerSramBytes - 1);
    }
  }
  if (!InSram(image.entry, 4, &offset) || image.entry % 4 != 0) {
    throw DeviceFault(
        "{}: the entry 0x{:08x} is not a multiple of 4 inside the controller's SRAM, 0x{:08x} to "
        "0x{:08x}",
        image.name, image.entry, kControllerSramBase,
        kControllerSramBase + kControllerSramBytes - 1);
  }
  std::memset(model_->sram(), 0, kControllerSramBytes);
  for (const ElfSegment& segment : image.segments)
    WriteMemory(segment.address, segment.data.data(), segment.data.size());
  model_->cycles = model_->retired = 0;
  model_->stop = false;
  model_->top.start_pc = image.entry;
  model_->top.reset = 1;
  model_->Clock();
  model_->top.reset = 0;
}

RtlController::Stop RtlController::Run(uint64_t cycles) {
  Model& m = *model_;
  const uint64_t end = m.cycles + std::min(cycles, UINT64_MAX - m.cycles);
  const bool watch = !breakpoints_.empty();
  m.stop = false;
  while (m.cycles < end) {
    if (m.top.asleep) return Stop::kAsleep;
    m.Tick(bus_);
    // First: the next Run would take it for the one that it starts at.
    if (watch && m.top.boundary && breakpoints_.count(m.top.pc) != 0) return Stop::kBreakpoint;
    if (m.stop) return Stop::kBus;
  }
  return Stop::kCycles;
}

bool RtlController::Step() {
  if (model_->top.asleep) return false;
  while (model_->top.sleeping) model_->Tick(bus_);
  do {
    model_->Tick(bus_);
  } while (!model_->top.fetching && !model_->top.sleeping);
  return true;
}

void RtlController::StopAfterAccess() { model_->stop = true; }

void RtlController::SkipCycles(uint64_t cycles) {
  model_->cycles += cycles;
  model_->Settle();
}

uint64_t RtlController::cycles() const { return model_->cycles; }
uint64_t RtlController::timer_due() const { return model_->top.mtimecmp; }
bool RtlController::asleep() const { return model_->top.asleep; }

void RtlController::SetExternalInterrupt(bool level) {
  if (model_->top.external_interrupt == level) return;
  model_->top.external_interrupt = level;
  model_->Settle();
}

uint32_t RtlController::pc() const { return model_->top.pc; }

void RtlController::SetPc(uint32_t pc) {
  model_->top.start_pc = pc & ~3u;
  model_->top.jump = 1;
  model_->Clock();
  model_->top.jump = 0;
}

uint32_t RtlController::Register(unsigned number) const {
  return model_->top.rootp->controller__DOT__core__DOT__x[number];
}

void RtlController::SetRegister(unsigned number, uint32_t value) {
  if (number == 0) return;
  model_->top.register_number = number;
  model_->top.register_value = value;
  model_->top.set_register = 1;
  model_->Clock();
  model_->top.set_register = 0;
}

bool RtlController::Csr(unsigned number, uint32_t* value) const {
  if (number > 0xFFF) return false;
  Vrv32& top = model_->top;
  top.csr_read = 1;
  top.csr_number = number;
  top.eval();
  *value = top.csr_value;
  const bool exists = top.csr_found;
  top.csr_read = 0;
  top.eval();
  return exists;
}

uint64_t RtlController::retired() const { return model_->retired; }

bool RtlController::ReadMemory(uint32_t address, void* data, size_t bytes) const {
  uint32_t offset = 0;
  if (!InSram(address, bytes, &offset)) return false;
  if (bytes != 0) std::memcpy(data, model_->sram() + offset, bytes);
  return true;
}

bool RtlController::WriteMemory(uint32_t address, const void* data, size_t bytes) {
  uint32_t offset = 0;
  if (!InSram(address, bytes, &offset)) return false;
  if (bytes != 0) std::memcpy(model_->sram() + offset, data, bytes);
  return true;
}

void RtlController::SetWaves(Waves* waves, const Clock& clock) {
  model_->waves = waves;
  model_->clock = clock;
  if (waves == nullptr || waves == model_->attached) return;
  waves->Attach(model_->top);
  model_->attached = waves;
}

}  // namespace spyre::model
