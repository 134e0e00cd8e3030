// SPDX-License-Identifier: Apache-2.0
// Random programs for the RV32IM core: every instruction, traps of every kind, interrupts. A
// handler skips what trapped, or masks the interrupt that came; x31 is its own and x30 points to
// the data.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/unit/model/rtl/rv32/rv32_assembler.h"

namespace spyre::model::rv32 {

class RandomProgram {
 public:
  static constexpr uint32_t kDataRegister = 30, kHandlerRegister = 31;

  explicit RandomProgram(uint32_t seed) : random_(seed) {}

  // Where the instructions start, in bytes from the base.
  static constexpr uint32_t kBody = 4 * 13;

  // Set-up, handler, then `instructions` or somewhat more, and back to the first of them.
  std::vector<uint32_t> Make(uint32_t base, uint32_t data, uint32_t clint, size_t instructions) {
    words_ = {
        Auipc(kHandlerRegister, 0), Addi(kHandlerRegister, kHandlerRegister, 12), Jal(0, 4 * 10),
        // the handler
        CsrOp(1, kHandlerRegister, kMscratch, kHandlerRegister), Csrr(kHandlerRegister, kMcause),
        Branch(4, kHandlerRegister, 0, 4 * 4), Csrr(kHandlerRegister, kMepc),
        Addi(kHandlerRegister, kHandlerRegister, 4), Csrw(kMepc, kHandlerRegister),
        Csrw(kMie, 0),  // exceptions come by too: masks are set often
        CsrOp(1, kHandlerRegister, kMscratch, kHandlerRegister), kMret,
        // the body
        Csrw(kMtvec, kHandlerRegister)};
    clint_ = clint;
    Constant(kDataRegister, data);
    Constant(1, clint + 0x4000);
    Emit(Sw(0, 0, 1));
    while (words_.size() < instructions) Instruction();
    // Branches and jumps at the end go up to 8 instructions ahead.
    for (int i = 0; i < 8; ++i) Emit(kNop);
    Constant(1, base + kBody);
    Emit(Jalr(0, 1, 0));
    return words_;
  }

 private:
  uint32_t Below(uint32_t limit) { return random_() % limit; }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  void Emit(uint32_t word) { words_.push_back(word); }
  uint32_t Any() { return Below(30); }  // any register but one's own
  int32_t Offset() { return static_cast<int32_t>(Below(4096)) - 2048; }
  int32_t Ahead() { return 4 * static_cast<int32_t>(1 + Below(8)) + (OneIn(24) ? 2 : 0); }
  void Constant(uint32_t rd, uint32_t value) {
    Emit(Lui(rd, value + 0x800));
    Emit(Addi(rd, rd, static_cast<int32_t>(value << 20) >> 20));
  }

  void Instruction() {
    switch (Below(20)) {
      case 0:
      case 1:
      case 2:
        return Integer();
      case 3:
      case 4:
      case 5:
        return Emit(Op(OneIn(2) ? 1 : 0, Below(8), Any(), Any(), Any()));
      case 6:
        return Emit(OneIn(2) ? Lui(Any(), random_()) : Auipc(Any(), random_()));
      case 7:
        return Constant(Any(), Corner());
      case 8:
      case 9:
      case 10:
        return LoadOrStore();
      case 11:
      case 12:
      case 13:
        return Branches();
      case 14:
        return Jump();
      case 15:
      case 16:
        return Zicsr();
      case 17:
        return Interrupts();
      case 18:
        return Rare();
      default:
        return Emit(OneIn(4) ? random_() : OpImmediate(Below(8), Any(), Any(), Offset()));
    }
  }
  void Integer() {
    const uint32_t funct3 = Below(8);
    const bool shift = funct3 == 1 || funct3 == 5;
    if (OneIn(2))
      return Emit(
          Op(OneIn(2) && (funct3 == 0 || funct3 == 5) ? 0x20 : 0, funct3, Any(), Any(), Any()));
    const auto amount = static_cast<int32_t>(Below(32) | (funct3 == 5 && OneIn(2) ? 0x400 : 0));
    Emit(OpImmediate(funct3, Any(), Any(), shift ? amount : Offset()));
  }
  uint32_t Corner() {
    static constexpr uint32_t kCorners[] = {0,          1, 0xFFFFFFFF, 0x80000000,
                                            0x7FFFFFFF, 2, 0xFFFF8000};
    return OneIn(2) ? random_() : kCorners[Below(7)];
  }
  void LoadOrStore() {
    static constexpr uint32_t kLoads[] = {0, 1, 2, 4, 5};
    const uint32_t base = OneIn(20) ? Any() : kDataRegister;
    const int32_t offset = OneIn(8) ? Offset() : Offset() & ~3;
    Emit(OneIn(2) ? LoadOp(OneIn(32) ? Below(8) : kLoads[Below(5)], Any(), offset, base)
                  : StoreOp(OneIn(32) ? Below(8) : Below(3), Any(), offset, base));
  }
  void Branches() {
    static constexpr uint32_t kComparisons[] = {0, 1, 4, 5, 6, 7};
    const uint32_t rs1 = Any(), rs2 = OneIn(4) ? rs1 : Any();
    Emit(Branch(OneIn(32) ? Below(8) : kComparisons[Below(6)], rs1, rs2, Ahead()));
  }
  void Jump() {
    if (OneIn(2)) return Emit(Jal(Any(), Ahead()));
    const uint32_t base = 1 + Below(29);
    Emit(Auipc(base, 0));
    Emit(Jalr(Any(), base, 4 + Ahead() + static_cast<int32_t>(Below(2))));
  }
  void Zicsr() {
    static constexpr uint32_t kReadable[] = {
        kMstatus, kMisa,   kMie,      kMtvec,   kMscratch,  kMepc,  kMcause, kMtval,
        kMip,     kMcycle, kMinstret, kMcycleh, kMinstreth, kCycle, kTime,   kInstret,
        kCycleh,  kTimeh,  kInstreth, 0x310,    0x7A0,      0x7A1,  0xF11,   0xF12,
        0xF13,    0xF14,   0xF15,     0x320,    0x323,      0x33F,  0xB03,   0xB9F,
        0x180,    0x302,   0x303,     0x3A0,    0x105,      0x744,  0x321,   0xC03};
    static constexpr uint32_t kWritable[] = {kMstatus, kMie,      kMscratch,  kMcause, kMtval,
                                             kMip,     kMinstret, kMinstreth, kMcycle, kMcycleh,
                                             kMisa,    0x7A1,     0xB1F,      0x320};
    if (OneIn(2)) return Emit(Csrr(Any(), kReadable[Below(std::size(kReadable))]));
    static constexpr uint32_t kFunctions[] = {1, 2, 3, 5, 6, 7};
    Emit(CsrOp(kFunctions[Below(6)], Any(), kWritable[Below(std::size(kWritable))], Any()));
  }
  // Turns interrupts on, and the timer on or off.
  void Interrupts() {
    const uint32_t scratch = 1 + Below(28);
    if (OneIn(2)) {
      Constant(scratch, 0x880);
      Emit(Csrw(kMie, scratch));
      Emit(CsrOp(6, 0, kMstatus, 8));
    } else {
      Constant(scratch, clint_ + 0x4000);
      Emit(Addi(scratch + 1, 0, OneIn(2) ? -1 : 0));
      Emit(Sw(scratch + 1, 4, scratch));
    }
  }
  void Rare() {
    static constexpr uint32_t kWords[] = {kFence,    kFenceI, kEcall,     kEbreak,
                                          kWfi,      0,       0xFFFFFFFF, 0x10200073 /* sret */,
                                          0x12000073 /* sfence.vma */};
    Emit(kWords[Below(std::size(kWords))]);
  }

  std::mt19937 random_;
  uint32_t clint_ = 0;
  std::vector<uint32_t> words_;
};

}  // namespace spyre::model::rv32
