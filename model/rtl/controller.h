// The management controller's RTL (RV32IM, Zicsr, machine mode; SRAM and timer inside) as a C++
// object that counts cycles. No SystemC: model/control turns cycles into time. Addresses: SRAM
// kControllerSramBase, timer kControllerClintBase, everything from 0x10000000 to 0x1FFFFFFF goes to
// the ControllerBus; elsewhere accesses trap. Not for several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "model/card/clock.h"
#include "model/control/elf_image.h"

namespace spyre::model {

class Waves;

// Registers outside the controller. 32-bit accesses only (narrower ones trap in the core).
class ControllerBus {
 public:
  virtual ~ControllerBus() = default;
  // False: nothing is there, an access traps (access fault).
  virtual bool Maps(uint32_t /*address*/) const { return true; }
  virtual uint32_t Read(uint32_t address) = 0;
  virtual void Write(uint32_t address, uint32_t value) = 0;
};

class RtlController {
 public:
  enum class Stop { kCycles, kAsleep, kBreakpoint, kBus };

  explicit RtlController(ControllerBus& bus);
  ~RtlController();
  RtlController(const RtlController&) = delete;
  RtlController& operator=(const RtlController&) = delete;

  // Zeroes the SRAM, copies the segments, resets the core; it starts at the image's entry. Throws
  // Error(kDeviceFault) for an image that does not fit.
  void Load(const ElfImage& image);

  // Runs until `cycles` have passed, the core sleeps in WFI with nothing pending, the next
  // instruction has a breakpoint (not the one it starts at), or somebody called StopAfterAccess
  // during a bus access. Returns why; cycles() says how far it came.
  Stop Run(uint64_t cycles);
  // One instruction (or one trap entry). False if it sleeps.
  bool Step();
  void StopAfterAccess();  // from inside ControllerBus calls

  // The clock stood still for this long: mtime moves on, nothing else.
  void SkipCycles(uint64_t cycles);
  uint64_t cycles() const;     // since Load, skipped ones too; also mtime
  uint64_t timer_due() const;  // mtimecmp; UINT64_MAX until it is written
  bool asleep() const;         // in WFI with nothing pending
  void SetExternalInterrupt(bool level);

  // Between instructions, for debugging. Registers x0..x31; CSRs by number, false if the core has
  // no such one.
  uint32_t pc() const;
  void SetPc(uint32_t pc);
  uint32_t Register(unsigned number) const;
  void SetRegister(unsigned number, uint32_t value);
  bool Csr(unsigned number, uint32_t* value) const;
  uint64_t retired() const;
  // SRAM by the back door. False: outside.
  bool ReadMemory(uint32_t address, void* data, size_t bytes) const;
  bool WriteMemory(uint32_t address, const void* data, size_t bytes);
  void SetBreakpoint(uint32_t address) { breakpoints_.insert(address); }
  void ClearBreakpoint(uint32_t address) { breakpoints_.erase(address); }

  // Dumps both edges of every clock from now on; cycle c is at clock.Edge(c). Null: no more.
  void SetWaves(Waves* waves, const Clock& clock);

 private:
  struct Model;  // the Verilated classes
  std::unique_ptr<Model> model_;
  ControllerBus& bus_;
  std::set<uint32_t> breakpoints_;
};

}  // namespace spyre::model
