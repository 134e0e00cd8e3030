// SPDX-License-Identifier: Apache-2.0
// Registers as hardware has them: access kinds, reset values and bits that exist, as the contract
// says, and hooks for what a register does beyond that. The registers themselves are members, named
// as in registers.toml, of the structs in the generated contract/register_files.h: Bar0Registers
// and ControllerRegisters.
//
// Owned by the block that they belong to; called on the simulation thread only. Nothing blocks and
// nothing takes simulated time. Read and Write are the bus side and may have side effects;
// everything else is the model's side.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace spyre::model {

class RegisterFile;

class Register {
 public:
  // `file`: where it is found; null: on no bus. `mask`: the bits that exist.
  Register(RegisterFile* file, uint32_t offset, regs::Access access, uint32_t reset,
           uint32_t mask = 0xFFFFFFFF);
  Register(const Register&) = delete;
  Register& operator=(const Register&) = delete;

  uint32_t offset() const { return offset_; }
  uint32_t value() const;    // no side effects; of a WO register, what was written
  void Set(uint32_t value);  // stores the bits that exist, whatever the access kind
  void Reset() { value_ = reset_; }

  // Called after a bus write has taken effect, with the bits written that exist in the register
  // (for RW1C: the ones that were to be cleared, for WO: the command; for RW: the whole value).
  void OnWrite(std::function<void(uint32_t value)> hook) { on_write_ = std::move(hook); }
  // Supplies the value whenever it is asked for, instead of the stored one. Must have no side
  // effects.
  void OnRead(std::function<uint32_t()> hook) { on_read_ = std::move(hook); }
  // Called after a bus read, with the value that was read: for what reading does beyond clearing an
  // RC register (latching the other half of a counter).
  void AfterRead(std::function<void(uint32_t value)> hook) { after_read_ = std::move(hook); }
  bool acts_on_write() const { return on_write_ != nullptr; }

 private:
  friend class RegisterFile;
  uint32_t Read();
  bool Write(uint32_t value, unsigned byte_enables);  // false: nobody may write it

  const uint32_t offset_;
  const regs::Access access_;
  const uint32_t reset_;
  const uint32_t mask_;
  uint32_t value_;
  std::function<void(uint32_t)> on_write_;
  std::function<uint32_t()> on_read_;
  std::function<void(uint32_t)> after_read_;
};

// A 64-bit quantity in two registers.
class RegisterPair {
 public:
  RegisterPair(Register& low, Register& high) : low_(low), high_(high) {}

  uint64_t value() const { return low_.value() | static_cast<uint64_t>(high_.value()) << 32; }
  void Set(uint64_t value);
  // As those of a register; a write of either half calls the hook.
  void OnWrite(const std::function<void(uint32_t value)>& hook);
  void OnRead(const std::function<uint64_t()>& hook);

 private:
  Register& low_;
  Register& high_;
};

// A map of registers on a bus.
class RegisterFile {
 public:
  RegisterFile(const RegisterFile&) = delete;
  RegisterFile& operator=(const RegisterFile&) = delete;

  // Where there is no register, or the offset is no multiple of 4, a read gives 0 and a write does
  // nothing; these, and writes to registers that cannot be written, are counted in bad_accesses().
  uint32_t Read(uint32_t offset);
  // Bit i of `byte_enables` writes byte i: the others keep what they have (RW), are not cleared
  // (RW1C), or are zero in the command (WO). A write that reaches no bit of the register does
  // nothing.
  void Write(uint32_t offset, uint32_t value, unsigned byte_enables = 0xF);

  Register* Find(uint32_t offset) const;  // null: there is none
  Register& At(uint32_t offset) const;    // throws Error(kInternal) where there is none
  void Reset();                           // stored values to their reset values; hooks stay

  uint64_t bad_accesses() const { return bad_accesses_; }

 protected:
  RegisterFile() = default;
  ~RegisterFile() = default;

 private:
  friend class Register;

  std::vector<Register*> registers_;  // by offset, in which order they are constructed
  uint64_t bad_accesses_ = 0;
};

}  // namespace spyre::model
