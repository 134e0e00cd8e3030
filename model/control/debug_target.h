// SPDX-License-Identifier: Apache-2.0
// A processor that can be debugged, and who debugs it. The processor calls its debugger from the
// kernel thread, between two instructions; while the debugger has it, simulated time stands still.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace spyre::model {

class DebugTarget {
 public:
  virtual ~DebugTarget() = default;
  static constexpr unsigned kPc = 32;   // after x0..x31
  static constexpr unsigned kCsr = 65;  // kCsr + n: CSR n, as GDB numbers them
  // False: no such register, or not writable.
  virtual bool ReadRegister(unsigned number, uint32_t* value) = 0;
  virtual bool WriteRegister(unsigned number, uint32_t value) = 0;
  // SRAM only, without side effects. False: some byte is outside.
  virtual bool ReadMemory(uint32_t address, void* data, size_t bytes) = 0;
  virtual bool WriteMemory(uint32_t address, const void* data, size_t bytes) = 0;
  virtual void SetBreakpoint(uint32_t address) = 0;
  virtual void ClearBreakpoint(uint32_t address) = 0;
};

class Debugger {
 public:
  enum class Stop { kReset, kBreakpoint, kStep, kInterrupt, kTrap };
  enum class Resume { kContinue, kStep, kDetach };
  virtual ~Debugger() = default;
  // The processor has stopped; returns when it is to go on. May block for as long as a person
  // thinks.
  virtual Resume Stopped(DebugTarget& target, Stop why) = 0;
  // Asked now and then while it runs: does somebody want it to stop?
  virtual bool WantsStop() = 0;
  // A processor that sleeps does not ask for input. From then on `input` is called, from any
  // thread, when there is reason to ask; once for each time that it was asked or went on. Empty: no
  // more, and no call goes on when this returns.
  virtual void WatchInput(std::function<void()> input) = 0;
};

}  // namespace spyre::model
