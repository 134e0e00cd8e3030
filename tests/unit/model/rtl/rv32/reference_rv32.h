// SPDX-License-Identifier: Apache-2.0
// A reference interpreter of RV32IM with Zicsr and machine mode, written from the manuals for the
// tests of the RTL and for nothing else. It knows instructions, not cycles: Step() is one
// instruction or one trap entry. The interrupt lines are seen as the RTL samples them: an
// instruction that starts sees them in mip, the trap comes before the one after it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace spyre::model::rv32 {

class Reference {
 public:
  Reference(uint32_t base, uint32_t bytes, uint32_t clint)
      : base_(base), clint_(clint), memory(bytes), pc(base) {}

  // False: asleep in WFI.
  bool Step();
  // Goes on there, awake.
  void SetPc(uint32_t to) {
    pc = to;
    sleeping_ = false;
  }
  // Value of a CSR; none: there is no such one.
  std::optional<uint32_t> ReadCsr(uint32_t number) const;

 private:
  struct Trap {
    uint32_t cause, value;
  };
  enum Cause {
    kFetchMisaligned,
    kFetchFault,
    kIllegal,
    kBreakpoint,
    kLoadMisaligned,
    kLoadFault,
    kStoreMisaligned,
    kStoreFault,
    kEcallM = 11
  };

  void Execute(uint32_t word);
  void System(uint32_t word);
  void WriteCsr(uint32_t number, uint32_t value);
  uint32_t Arithmetic(uint32_t word, uint32_t a, uint32_t b) const;
  uint32_t MulDiv(uint32_t funct3, uint32_t a, uint32_t b) const;
  bool Taken(uint32_t funct3, uint32_t a, uint32_t b) const;
  uint32_t LoadValue(uint32_t funct3, uint32_t address);
  void StoreValue(uint32_t funct3, uint32_t address, uint32_t value);
  void EnterTrap(uint32_t cause, uint32_t value);
  void JumpTo(uint32_t target) {
    if (target % 4 != 0) throw Trap{kFetchMisaligned, target};
    next_ = target;
  }
  bool InMemory(uint32_t address) const {
    return address - base_ < memory.size() && address >= base_;
  }
  uint32_t Lines() const { return (timer ? 1u << 7 : 0) | (external ? 1u << 11 : 0); }

  uint32_t base_, clint_, next_ = 0, sampled_ = 0;
  bool sleeping_ = false, writes_minstret_ = false;

 public:
  std::vector<uint8_t> memory;
  std::array<uint32_t, 32> x{};
  uint32_t pc;
  // Due or not: the low word of mtimecmp is 0, the high word decides.
  bool external = false, timer = false;
  uint32_t mstatus = 0x1800, mie = 0, mtvec = 0, mscratch = 0, mepc = 0, mcause = 0, mtval = 0;
  uint64_t minstret = 0;
  // The last instruction took a clock value to this register: the RTL knows better.
  uint32_t clock_register = 0;
};

inline bool Reference::Step() {
  if (sleeping_ && (mie & Lines()) == 0) return false;
  if (sleeping_) sampled_ = Lines();
  sleeping_ = false;
  clock_register = 0;
  const uint32_t pending = sampled_ & mie;
  sampled_ = Lines();
  if (pending != 0 && (mstatus & 8) != 0) {
    const uint32_t cause = (pending >> 11 & 1) != 0 ? 11 : 7;
    EnterTrap(1u << 31 | cause, 0);
    if ((mtvec & 1) != 0) pc += 4 * cause;
    return true;
  }
  next_ = pc + 4;
  writes_minstret_ = false;
  try {
    if (!InMemory(pc)) throw Trap{kFetchFault, pc};
    uint32_t word = 0;
    std::memcpy(&word, &memory[pc - base_], 4);
    Execute(word);
    pc = next_;
    x[0] = 0;
    if (!writes_minstret_) ++minstret;
  } catch (const Trap& trap) {
    EnterTrap(trap.cause, trap.value);
  }
  return true;
}

inline void Reference::EnterTrap(uint32_t cause, uint32_t value) {
  mepc = pc;
  mcause = cause;
  mtval = value;
  mstatus = 0x1800 | (mstatus & 8) << 4;
  pc = mtvec & ~3u;
}

inline uint32_t Reference::MulDiv(uint32_t funct3, uint32_t a, uint32_t b) const {
  const int64_t signed_a = static_cast<int32_t>(a), signed_b = static_cast<int32_t>(b);
  switch (funct3) {
    case 0:
      return a * b;
    case 1:
      return static_cast<uint32_t>(signed_a * signed_b >> 32);
    case 2:
      return static_cast<uint32_t>(signed_a * static_cast<int64_t>(b) >> 32);
    case 3:
      return static_cast<uint32_t>(uint64_t{a} * b >> 32);
    case 4:
      return b == 0 ? ~0u : static_cast<uint32_t>(signed_a / signed_b);
    case 5:
      return b == 0 ? ~0u : a / b;
    case 6:
      return b == 0 ? a : static_cast<uint32_t>(signed_a % signed_b);
    default:
      return b == 0 ? a : a % b;
  }
}

inline uint32_t Reference::Arithmetic(uint32_t word, uint32_t a, uint32_t b) const {
  const uint32_t funct3 = word >> 12 & 7, funct7 = word >> 25;
  const bool immediate = (word & 0x20) == 0;
  const bool alternate = funct7 == 0x20 && (funct3 == 5 || (funct3 == 0 && !immediate));
  if (!immediate && funct7 == 1) return MulDiv(funct3, a, b);
  if ((!immediate || funct3 == 1 || funct3 == 5) && funct7 != 0 && !alternate)
    throw Trap{kIllegal, word};
  switch (funct3) {
    case 0:
      return alternate ? a - b : a + b;
    case 1:
      return a << (b & 31);
    case 2:
      return static_cast<int32_t>(a) < static_cast<int32_t>(b);
    case 3:
      return a < b;
    case 4:
      return a ^ b;
    case 5:
      return alternate ? static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31)) : a >> (b & 31);
    case 6:
      return a | b;
    default:
      return a & b;
  }
}

inline bool Reference::Taken(uint32_t funct3, uint32_t a, uint32_t b) const {
  switch (funct3) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 4:
      return static_cast<int32_t>(a) < static_cast<int32_t>(b);
    case 5:
      return static_cast<int32_t>(a) >= static_cast<int32_t>(b);
    case 6:
      return a < b;
    default:
      return a >= b;
  }
}

inline uint32_t Reference::LoadValue(uint32_t funct3, uint32_t address) {
  const uint32_t bytes = 1u << (funct3 & 3);
  if (address % bytes != 0) throw Trap{kLoadMisaligned, address};
  if (!InMemory(address)) {
    if (bytes == 4 && address == clint_ + 0x4000) return 0;
    if (bytes == 4 && address == clint_ + 0x4004) return timer ? 0 : ~0u;
    throw Trap{kLoadFault, address};
  }
  uint32_t value = 0;
  std::memcpy(&value, &memory[address - base_], bytes);
  if (funct3 == 0) return static_cast<uint32_t>(static_cast<int8_t>(value));
  if (funct3 == 1) return static_cast<uint32_t>(static_cast<int16_t>(value));
  return value;
}

inline void Reference::StoreValue(uint32_t funct3, uint32_t address, uint32_t value) {
  const uint32_t bytes = 1u << funct3;
  if (address % bytes != 0) throw Trap{kStoreMisaligned, address};
  if (InMemory(address)) {
    std::memcpy(&memory[address - base_], &value, bytes);
  } else if (bytes == 4 && address == clint_ + 0x4004) {
    timer = value == 0;
    sampled_ = Lines();
  } else if (bytes != 4 || address != clint_ + 0x4000) {
    throw Trap{kStoreFault, address};
  }
}

inline void Reference::Execute(uint32_t word) {
  const uint32_t opcode = word & 0x7F, funct3 = word >> 12 & 7;
  uint32_t& rd = x[word >> 7 & 31];
  const uint32_t a = x[word >> 15 & 31], b = x[word >> 20 & 31];
  const auto i = static_cast<uint32_t>(static_cast<int32_t>(word) >> 20);
  const uint32_t s = (i & ~0x1Fu) | (word >> 7 & 0x1F);
  const uint32_t branch = (s & ~0x801u) | (word >> 7 & 1) << 11;
  const uint32_t jump = (i & 0xFFF007FE) | (word & 0xFF000) | (word >> 20 & 1) << 11;
  switch (opcode) {
    case 0x37:
      rd = word & 0xFFFFF000;
      return;
    case 0x17:
      rd = pc + (word & 0xFFFFF000);
      return;
    case 0x6F:
      JumpTo(pc + jump);
      rd = pc + 4;
      return;
    case 0x67:
      if (funct3 != 0) break;
      JumpTo((a + i) & ~1u);
      rd = pc + 4;
      return;
    case 0x63:
      if (funct3 == 2 || funct3 == 3) break;
      if (Taken(funct3, a, b)) JumpTo(pc + branch);
      return;
    case 0x03:
      if (funct3 == 3 || funct3 > 5) break;
      rd = LoadValue(funct3, a + i);
      return;
    case 0x23:
      if (funct3 > 2) break;
      StoreValue(funct3, a + s, b);
      return;
    case 0x13:
      rd = Arithmetic(word, a, i);
      return;
    case 0x33:
      rd = Arithmetic(word, a, b);
      return;
    case 0x0F:
      if (funct3 > 1) break;
      return;
    case 0x73:
      System(word);
      return;
    default:
      break;
  }
  throw Trap{kIllegal, word};
}

inline void Reference::System(uint32_t word) {
  const uint32_t funct3 = word >> 12 & 7, number = word >> 20, source = word >> 15 & 31;
  const uint32_t rd = word >> 7 & 31;
  if (funct3 == 0) {
    switch (word) {
      case 0x00000073:
        throw Trap{kEcallM, 0};
      case 0x00100073:
        throw Trap{kBreakpoint, pc};
      case 0x10500073:
        sleeping_ = true;
        return;
      case 0x30200073:
        next_ = mepc;
        mstatus = 0x1880 | (mstatus >> 4 & 8);
        return;
      default:
        throw Trap{kIllegal, word};
    }
  }
  const std::optional<uint32_t> old = ReadCsr(number);
  const bool writes = funct3 % 4 == 1 || source != 0;
  if (funct3 == 4 || !old || (writes && number >> 10 == 3)) throw Trap{kIllegal, word};
  const uint32_t operand = (funct3 & 4) != 0 ? source : x[source];
  if (writes) {
    WriteCsr(number, funct3 % 4 == 1   ? operand
                     : funct3 % 4 == 2 ? *old | operand
                                       : *old & ~operand);
  }
  x[rd] = *old;
  const uint32_t low = number & 0xFF;  // of cycle, cycleh, time, timeh, mcycle, mcycleh
  if ((number >> 8 == 0xB || number >> 8 == 0xC) && (low & 0x7F) < 2) clock_register = rd;
}

inline std::optional<uint32_t> Reference::ReadCsr(uint32_t number) const {
  const std::map<uint32_t, uint32_t> values{{0x300, mstatus},
                                            {0x301, 0x40001100},
                                            {0x304, mie},
                                            {0x305, mtvec},
                                            {0x310, 0},
                                            {0x320, 0},
                                            {0x340, mscratch},
                                            {0x341, mepc},
                                            {0x342, mcause},
                                            {0x343, mtval},
                                            {0x344, sampled_},
                                            {0x7A0, 0},
                                            {0x7A1, 0},
                                            {0x7A2, 0},
                                            {0x7A3, 0},
                                            {0xB00, 0},
                                            {0xB80, 0},
                                            {0xC00, 0},
                                            {0xC80, 0},
                                            {0xC01, 0},
                                            {0xC81, 0},
                                            {0xF11, 0},
                                            {0xF12, 0},
                                            {0xF13, 0},
                                            {0xF14, 0},
                                            {0xF15, 0},
                                            {0xB02, static_cast<uint32_t>(minstret)},
                                            {0xC02, static_cast<uint32_t>(minstret)},
                                            {0xB82, static_cast<uint32_t>(minstret >> 32)},
                                            {0xC82, static_cast<uint32_t>(minstret >> 32)}};
  const auto found = values.find(number);
  if (found != values.end()) return found->second;
  const bool monitor = (number >= 0x323 && number <= 0x33F) ||
                       (number >= 0xB03 && number <= 0xB1F) || (number >= 0xB83 && number <= 0xB9F);
  return monitor ? std::optional<uint32_t>(0) : std::nullopt;
}

inline void Reference::WriteCsr(uint32_t number, uint32_t value) {
  switch (number) {
    case 0x300:
      mstatus = 0x1800 | (value & 0x88);
      break;
    case 0x304:
      mie = value & 0x880;
      break;
    case 0x305:
      mtvec = value & ~2u;
      break;
    case 0x340:
      mscratch = value;
      break;
    case 0x341:
      mepc = value & ~3u;
      break;
    case 0x342:
      mcause = value;
      break;
    case 0x343:
      mtval = value;
      break;
    case 0xB02:
      minstret = (minstret >> 32 << 32) | value;
      writes_minstret_ = true;
      break;
    case 0xB82:
      minstret = (minstret & 0xFFFFFFFF) | uint64_t{value} << 32;
      writes_minstret_ = true;
      break;
    default:
      break;
  }
}

}  // namespace spyre::model::rv32
