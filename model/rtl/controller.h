// SPDX-License-Identifier: Apache-2.0
// The management controller's RTL (RV32IM, Zicsr, machine mode; SRAM and timer inside) as a C++
// object that counts cycles. No SystemC: model/control turns cycles into time. Addresses: SRAM
// kControllerSramBase, timer kControllerClintBase, everything from 0x10000000 to 0x1FFFFFFF goes to
// the ControllerBus; elsewhere accesses trap. Must not be used by several threads at once.
// MakeRtlController (rtl_blocks.h) makes one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/common/clock.h"
#include "model/common/elf_image.h"

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

  RtlController() = default;
  virtual ~RtlController() = default;
  RtlController(const RtlController&) = delete;
  RtlController& operator=(const RtlController&) = delete;

  // Zeroes the SRAM, copies the segments, resets the core; it starts at the image's entry. Throws
  // Error(kDeviceFault) for an image that does not fit.
  virtual void Load(const ElfImage& image) = 0;

  // Runs until `cycles` have passed, the core sleeps in WFI with nothing pending, the next
  // instruction has a breakpoint (not the one it starts at), or somebody called StopAfterAccess
  // during a bus access. Returns why; cycles() says how far it came.
  virtual Stop Run(uint64_t cycles) = 0;
  // One instruction (or one trap entry). False if it sleeps.
  virtual bool Step() = 0;
  virtual void StopAfterAccess() = 0;  // from inside ControllerBus calls

  // The clock stood still for this long: mtime moves on, nothing else.
  virtual void SkipCycles(uint64_t cycles) = 0;
  virtual uint64_t cycles() const = 0;     // since Load, skipped ones too; also mtime
  virtual uint64_t timer_due() const = 0;  // mtimecmp; UINT64_MAX until it is written
  virtual bool asleep() const = 0;         // in WFI with nothing pending
  virtual void SetExternalInterrupt(bool level) = 0;

  // Between instructions, for debugging. Registers x0..x31; CSRs by number, false if the core has
  // no such one.
  virtual uint32_t pc() const = 0;
  virtual void SetPc(uint32_t pc) = 0;
  virtual uint32_t Register(unsigned number) const = 0;
  virtual void SetRegister(unsigned number, uint32_t value) = 0;
  virtual bool Csr(unsigned number, uint32_t* value) const = 0;
  virtual uint64_t retired() const = 0;
  // SRAM by the back door. False: outside.
  virtual bool ReadMemory(uint32_t address, void* data, size_t bytes) const = 0;
  virtual bool WriteMemory(uint32_t address, const void* data, size_t bytes) = 0;
  virtual void SetBreakpoint(uint32_t address) = 0;
  virtual void ClearBreakpoint(uint32_t address) = 0;

  // A declared fault: a bit changes that `seed` chooses, of a register or of the SRAM.
  virtual void FlipBit(uint64_t seed) = 0;

  // Dumps both edges of every clock from now on; cycle c is at clock.Edge(c). Null: no more.
  virtual void SetWaves(Waves* waves, const Clock& clock) = 0;
};

}  // namespace spyre::model
