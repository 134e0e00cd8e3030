// SPDX-License-Identifier: Apache-2.0
// What the blocks of the card tell each other beside data: interrupts, resets, faults. Each is an
// interface of a SystemC port, so that who tells and who hears stands where blocks are wired, and a
// port that was forgotten is an error of elaboration. Calls take no time. Kernel thread only.
#pragma once

#include <cstdint>
#include <systemc>

namespace spyre::model {

// Sets bits of INT_STATUS of a function, and sends the MSI of each that software has enabled.
class InterruptInterface : public virtual sc_core::sc_interface {
 public:
  virtual void Interrupt(unsigned function, uint32_t causes) = 0;
};

// Software has reset a function through its configuration space, which has been reset already; or
// the function has ceased to exist.
class FunctionResetInterface : public virtual sc_core::sc_interface {
 public:
  virtual void ResetFunction(unsigned function) = 0;
  // The link has gone down, which resets the whole card: its functions have been reset already.
  virtual void ResetCard() = 0;
};

// Device memory is to become zero before somebody else gets it.
class MemoryClearInterface : public virtual sc_core::sc_interface {
 public:
  virtual void ClearMemory(uint64_t base, uint64_t bytes) = 0;
};

// The management controller has stopped for good: the card is lost.
class FaultInterface : public virtual sc_core::sc_interface {
 public:
  virtual void Lost() = 0;
};

}  // namespace spyre::model
