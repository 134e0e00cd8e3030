// SPDX-License-Identifier: Apache-2.0
// Instruction decoder: combinational. What is not an instruction of RV32IM, Zicsr, Zifencei or machine mode is
// KIND_ILLEGAL; whether a CSR exists is for rv32_csr to say.
module rv32_decode
  import rv32_pkg::*;
(
  input  logic [31:0] instruction,
  output decoded_t    decoded
);

  localparam logic [6:0] LOAD = 7'b0000011, MISC_MEM = 7'b0001111, OP_IMM = 7'b0010011, AUIPC = 7'b0010111,
                         STORE = 7'b0100011, OP = 7'b0110011, LUI = 7'b0110111, BRANCH = 7'b1100011,
                         JALR = 7'b1100111, JAL = 7'b1101111, SYSTEM = 7'b1110011;
  localparam logic [31:0] ECALL = 32'h00000073, EBREAK = 32'h00100073, MRET = 32'h30200073, WFI = 32'h10500073;

  logic [2:0] funct3;
  logic [6:0] funct7;
  logic       shift;
  logic [31:0] immediate_i, immediate_s, immediate_b, immediate_u, immediate_j;

  always_comb begin
    funct3 = instruction[14:12];
    funct7 = instruction[31:25];
    shift = funct3[1:0] == 2'b01;
    immediate_i = {{20{instruction[31]}}, instruction[31:20]};
    immediate_s = {{20{instruction[31]}}, instruction[31:25], instruction[11:7]};
    immediate_b = {{20{instruction[31]}}, instruction[7], instruction[30:25], instruction[11:8], 1'b0};
    immediate_u = {instruction[31:12], 12'b0};
    immediate_j = {{12{instruction[31]}}, instruction[19:12], instruction[20], instruction[30:21], 1'b0};

    decoded.kind = KIND_ILLEGAL;
    decoded.alu = ALU_ADD;
    decoded.a_is_pc = 1'b0;
    decoded.b_is_immediate = 1'b1;
    decoded.immediate = immediate_i;
    decoded.rs1 = instruction[19:15];

    case (instruction[6:0])
      LUI: begin
        decoded.kind = KIND_ALU;
        decoded.immediate = immediate_u;
        decoded.rs1 = 5'd0;
      end
      AUIPC: begin
        decoded.kind = KIND_ALU;
        decoded.a_is_pc = 1'b1;
        decoded.immediate = immediate_u;
      end
      JAL: begin
        decoded.kind = KIND_JUMP;
        decoded.a_is_pc = 1'b1;
        decoded.immediate = immediate_j;
      end
      JALR: if (funct3 == 3'b000) decoded.kind = KIND_JUMP;
      BRANCH: begin
        if (funct3[2:1] != 2'b01) decoded.kind = KIND_BRANCH;
        decoded.a_is_pc = 1'b1;
        decoded.immediate = immediate_b;
      end
      LOAD: if (funct3 != 3'b011 && funct3[2:1] != 2'b11) decoded.kind = KIND_LOAD;
      STORE: begin
        if (funct3 <= 3'b010) decoded.kind = KIND_STORE;
        decoded.immediate = immediate_s;
      end
      OP_IMM: begin
        decoded.alu = alu_e'({shift & funct7[5], funct3});
        if (!shift || funct7 == 7'h00 || (funct7 == 7'h20 && funct3[2])) decoded.kind = KIND_ALU;
      end
      OP: begin
        decoded.alu = alu_e'({funct7[5], funct3});
        decoded.b_is_immediate = 1'b0;
        if (funct7 == 7'h01) decoded.kind = KIND_MULDIV;
        else if (funct7 == 7'h00 || (funct7 == 7'h20 && (funct3 == 3'b000 || funct3 == 3'b101)))
          decoded.kind = KIND_ALU;
      end
      MISC_MEM: if (funct3[2:1] == 2'b00) decoded.kind = KIND_FENCE;
      SYSTEM: begin
        if (funct3[1:0] != 2'b00) decoded.kind = KIND_CSR;
        else if (instruction == ECALL) decoded.kind = KIND_ECALL;
        else if (instruction == EBREAK) decoded.kind = KIND_EBREAK;
        else if (instruction == MRET) decoded.kind = KIND_MRET;
        else if (instruction == WFI) decoded.kind = KIND_WFI;
      end
      default: ;
    endcase
  end

endmodule
