// SPDX-License-Identifier: Apache-2.0
// The BAR0 registers of one function, behaving as the table of the contract says
// (regs::kRegisters): access kinds, reset values, bits that exist. What a register does beyond that
// is a hook.
//
// Owned by the function's front end in the card; called on the simulation thread only. Nothing
// blocks and nothing takes simulated time. Read and Write are the bus side and may have side
// effects; Peek, Poke and the hooks are the model's side, where an offset that the function does
// not have is a mistake of this program and throws Error(kInternal).
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace spyre::model {

class RegisterFile {
 public:
  explicit RegisterFile(bool physical_function);

  // Bus side. `offset` is in BAR0. Where there is no register for this function, or the offset is
  // no multiple of 4, a read gives 0 and a write does nothing; these, and writes to registers that
  // cannot be written, are counted in bad_accesses().
  uint32_t Read(uint32_t offset);
  // Bit i of `byte_enables` writes byte i: the others keep what they have (RW), are not cleared
  // (RW1C), or are zero in the command (WO). A
  // write that reaches no bit of the register does nothing.
  void Write(uint32_t offset, uint32_t value, unsigned byte_enables = 0xF);

  // Called after a bus write has taken effect, with the bits written that exist in the register
  // (for RW1C: the ones that were to be cleared, for WO: the command; for RW: the whole value).
  void OnWrite(uint32_t offset, std::function<void(uint32_t value)> hook);
  // Supplies the value of the register whenever it is read or peeked, instead of the stored one.
  // Must have no side effects. Survives Reset.
  void OnRead(uint32_t offset, std::function<uint32_t()> hook);
  // Called after a bus read, with the value that was read: for what reading does beyond clearing an
  // RC register (latching the other half of a counter).
  void AfterRead(uint32_t offset, std::function<void(uint32_t value)> hook);

  bool Has(uint32_t offset) const;       // for this function
  uint32_t Peek(uint32_t offset) const;  // no side effects; also shows WO registers as stored
  void Poke(uint32_t offset,
            uint32_t value);  // stores the bits that exist, whatever the access kind
  void Reset();               // stored values to their reset values; hooks stay

  uint64_t bad_accesses() const { return bad_accesses_; }

 private:
  struct Hooks {
    std::function<void(uint32_t)> on_write;
    std::function<uint32_t()> on_read;
    std::function<void(uint32_t)> after_read;
  };

  int IndexOf(uint32_t offset) const;     // in regs::kRegisters, -1 if the function has none there
  size_t Require(uint32_t offset) const;  // as above, throws

  bool physical_function_;
  std::vector<uint32_t> values_;  // parallel to regs::kRegisters
  std::vector<Hooks> hooks_;      // parallel to regs::kRegisters
  uint64_t bad_accesses_ = 0;
};

}  // namespace spyre::model
