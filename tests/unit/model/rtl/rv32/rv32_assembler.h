// SPDX-License-Identifier: Apache-2.0
// RV32IM instructions as words, by the encoding tables of the manual; and what tests say of
// programs. Registers are numbers, branch and jump offsets bytes.
#pragma once

#include <cstdint>

namespace spyre::model::rv32 {

inline uint32_t RType(uint32_t funct7, uint32_t rs2, uint32_t rs1, uint32_t funct3, uint32_t rd,
                      uint32_t opcode) {
  return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
inline uint32_t IType(int32_t immediate, uint32_t rs1, uint32_t funct3, uint32_t rd,
                      uint32_t opcode) {
  return static_cast<uint32_t>(immediate) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
inline uint32_t UType(uint32_t upper, uint32_t rd, uint32_t opcode) {
  return (upper & 0xFFFFF000) | rd << 7 | opcode;
}

// Integer operations: funct3 and, for SUB and SRA, funct7 0x20; M has funct7 1.
inline uint32_t Op(uint32_t funct7, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return RType(funct7, rs2, rs1, funct3, rd, 0x33);
}
inline uint32_t OpImmediate(uint32_t funct3, uint32_t rd, uint32_t rs1, int32_t immediate) {
  return IType(immediate, rs1, funct3, rd, 0x13);
}
inline uint32_t Addi(uint32_t rd, uint32_t rs1, int32_t immediate) {
  return OpImmediate(0, rd, rs1, immediate);
}
inline uint32_t Lui(uint32_t rd, uint32_t upper) { return UType(upper, rd, 0x37); }
inline uint32_t Auipc(uint32_t rd, uint32_t upper) { return UType(upper, rd, 0x17); }

inline uint32_t LoadOp(uint32_t funct3, uint32_t rd, int32_t offset, uint32_t rs1) {
  return IType(offset, rs1, funct3, rd, 0x03);
}
inline uint32_t StoreOp(uint32_t funct3, uint32_t rs2, int32_t offset, uint32_t rs1) {
  const auto bits = static_cast<uint32_t>(offset);
  return RType(bits >> 5 & 0x7F, rs2, rs1, funct3, bits & 0x1F, 0x23);
}
inline uint32_t Lw(uint32_t rd, int32_t offset, uint32_t rs1) { return LoadOp(2, rd, offset, rs1); }
inline uint32_t Sw(uint32_t rs2, int32_t offset, uint32_t rs1) {
  return StoreOp(2, rs2, offset, rs1);
}

inline uint32_t Branch(uint32_t funct3, uint32_t rs1, uint32_t rs2, int32_t offset) {
  const auto bits = static_cast<uint32_t>(offset);
  return RType((bits >> 12 & 1) << 6 | (bits >> 5 & 0x3F), rs2, rs1, funct3,
               (bits >> 1 & 0xF) << 1 | (bits >> 11 & 1), 0x63);
}
inline uint32_t Jal(uint32_t rd, int32_t offset) {
  const auto bits = static_cast<uint32_t>(offset);
  return (bits >> 20 & 1) << 31 | (bits >> 1 & 0x3FF) << 21 | (bits >> 11 & 1) << 20 |
         (bits >> 12 & 0xFF) << 12 | rd << 7 | 0x6F;
}
inline uint32_t Jalr(uint32_t rd, uint32_t rs1, int32_t offset) {
  return IType(offset, rs1, 0, rd, 0x67);
}

// funct3 of Zicsr: 1 write, 2 set, 3 clear; 4 more: the source is a number instead of a register.
inline uint32_t CsrOp(uint32_t funct3, uint32_t rd, uint32_t csr, uint32_t source) {
  return IType(static_cast<int32_t>(csr), source, funct3, rd, 0x73);
}
inline uint32_t Csrr(uint32_t rd, uint32_t csr) { return CsrOp(2, rd, csr, 0); }
inline uint32_t Csrw(uint32_t csr, uint32_t rs1) { return CsrOp(1, 0, csr, rs1); }

constexpr uint32_t kFence = 0x0FF0000F, kFenceI = 0x0000100F;
constexpr uint32_t kEcall = 0x00000073, kEbreak = 0x00100073, kMret = 0x30200073;
constexpr uint32_t kWfi = 0x10500073, kNop = 0x00000013;

constexpr uint32_t kMstatus = 0x300, kMisa = 0x301, kMie = 0x304, kMtvec = 0x305, kMscratch = 0x340;
constexpr uint32_t kMepc = 0x341, kMcause = 0x342, kMtval = 0x343, kMip = 0x344, kMcycle = 0xB00;
constexpr uint32_t kMinstret = 0xB02, kMcycleh = 0xB80, kMinstreth = 0xB82, kCycle = 0xC00;
constexpr uint32_t kTime = 0xC01, kInstret = 0xC02, kCycleh = 0xC80, kTimeh = 0xC81;
constexpr uint32_t kInstreth = 0xC82, kMcountinhibit = 0x320;

}  // namespace spyre::model::rv32
