// SPDX-License-Identifier: Apache-2.0
// Types that the units of the RV32IM core share. Encodings are those of the RISC-V manuals: unprivileged
// 20191213, privileged 1.12.
package rv32_pkg;

  // funct3 of the integer instructions, above it the bit that makes SUB of ADD and SRA of SRL.
  typedef enum logic [3:0] {
    ALU_ADD  = 4'b0000,
    ALU_SLL  = 4'b0001,
    ALU_SLT  = 4'b0010,
    ALU_SLTU = 4'b0011,
    ALU_XOR  = 4'b0100,
    ALU_SRL  = 4'b0101,
    ALU_OR   = 4'b0110,
    ALU_AND  = 4'b0111,
    ALU_SUB  = 4'b1000,
    ALU_SRA  = 4'b1101
  } alu_e;

  // What the sequencer does with an instruction.
  typedef enum logic [3:0] {
    KIND_ILLEGAL,
    KIND_ALU,     // rd = ALU result
    KIND_JUMP,    // rd = pc + 4, pc = ALU result
    KIND_BRANCH,  // pc = ALU result if the registers compare so
    KIND_LOAD,
    KIND_STORE,
    KIND_MULDIV,
    KIND_CSR,
    KIND_ECALL,
    KIND_EBREAK,
    KIND_MRET,
    KIND_WFI,
    KIND_FENCE    // nothing: memory is in order and instructions are never cached
  } kind_e;

  typedef struct packed {
    kind_e       kind;
    alu_e        alu;
    logic        a_is_pc;         // first operand of the ALU: pc instead of rs1
    logic        b_is_immediate;  // second: the immediate instead of rs2
    logic [31:0] immediate;
    logic [4:0]  rs1;             // 0 where LUI adds nothing
  } decoded_t;

  // Exception codes of mcause.
  typedef enum logic [3:0] {
    FETCH_MISALIGNED = 4'd0,
    FETCH_FAULT      = 4'd1,
    ILLEGAL          = 4'd2,
    BREAKPOINT       = 4'd3,
    LOAD_MISALIGNED  = 4'd4,
    LOAD_FAULT       = 4'd5,
    STORE_MISALIGNED = 4'd6,
    STORE_FAULT      = 4'd7,
    ECALL_M          = 4'd11
  } exception_e;

  // Interrupt codes of mcause, and their bits in mie and mip.
  localparam int unsigned TIMER_INTERRUPT = 7;
  localparam int unsigned EXTERNAL_INTERRUPT = 11;

endpackage
