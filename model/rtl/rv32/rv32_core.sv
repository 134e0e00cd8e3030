// SPDX-License-Identifier: Apache-2.0
// RV32IM core, machine mode, one instruction at a time: FETCH puts pc on the SRAM port, EXECUTE has the instruction
// and does everything but wait for loads (one more cycle), products and quotients (rv32_muldiv) and the bus.
// Traps are precise: pc, registers and CSRs change only in the cycle in which an instruction completes.
//
// SRAM port: with `sram_enable` high at a clock edge, writes the bytes of `sram_strobes`, or reads if none; the word
// is on `sram_rdata` until the next read. Bus port: `bus_valid` with stable address, write and wdata until a clock edge
// with `bus_ready`; `bus_error` with it is an access fault. Words only. Inputs are used at clock edges only, but for
// `asleep`.
module rv32_core
  import rv32_pkg::*;
#(
  parameter logic [31:0] SRAM_BASE = 32'h80000000,
  parameter logic [31:0] SRAM_BYTES = 32'h40000     // a power of two that divides SRAM_BASE
) (
  input  logic        clk,
  input  logic        reset,
  input  logic [31:0] start_pc,            // where to start after reset or a jump, a multiple of 4

  // For a debugger, between instructions; the rest of the core stands still for the edge.
  input  logic        jump,                // goes on at start_pc, awake
  input  logic        set_register,
  input  logic [4:0]  register_number,     // not 0
  input  logic [31:0] register_value,
  input  logic        csr_read,            // shows CSR csr_number, without a clock
  input  logic [11:0] csr_number,
  output logic [31:0] csr_value,
  output logic        csr_found,

  output logic        sram_enable,
  output logic [3:0]  sram_strobes,
  output logic [31:0] sram_address,
  output logic [31:0] sram_wdata,
  input  logic [31:0] sram_rdata,

  output logic        bus_valid,
  output logic        bus_write,
  output logic [31:0] bus_address,
  output logic [31:0] bus_wdata,
  input  logic        bus_ready,
  input  logic        bus_error,
  input  logic [31:0] bus_rdata,

  input  logic        timer_interrupt,
  input  logic        external_interrupt,
  input  logic [63:0] mtime,

  output logic        fetching,            // between instructions
  output logic        boundary,            // and no interrupt is taken now
  output logic        sleeping,            // in WFI
  output logic        asleep,              // and no interrupt will end it: the clock may stand still
  output logic        retire,              // an instruction completes in this cycle
  output logic [31:0] pc
);

  typedef enum logic [2:0] {FETCH, EXECUTE, LOAD, BUS, ANSWER, MULDIV, SLEEP} state_e;
  state_e state;

  logic [31:0] x [0:31] /* verilator public_flat_rd */;  // x[0] stays 0
  logic [31:0] pc_r;
  logic [4:0]  rd;                 // of the instruction that waits, its funct3, its address
  logic [2:0]  funct3;
  logic [31:0] address, wdata;
  logic        write;
  logic        bus_failed;         // and what the bus answered
  logic [31:0] bus_word;
  assign pc = pc_r;

  // ---- EXECUTE
  logic [31:0] instruction, rs1, rs2, alu_a, alu_b, alu_result;
  decoded_t    decoded;
  assign instruction = sram_rdata;

  rv32_decode decode (.instruction, .decoded);

  always_comb begin
    rs1 = x[decoded.rs1];
    rs2 = x[instruction[24:20]];
    alu_a = decoded.a_is_pc ? pc_r : rs1;
    alu_b = decoded.b_is_immediate ? decoded.immediate : rs2;
  end

  rv32_alu alu (.operation(decoded.alu), .a(alu_a), .b(alu_b), .result(alu_result));

  logic taken;
  always_comb begin
    case (instruction[14:13])
      2'b00:   taken = rs1 == rs2;
      2'b10:   taken = $signed(rs1) < $signed(rs2);
      default: taken = rs1 < rs2;
    endcase
    taken ^= instruction[12];
  end

  // Loads and stores.
  function automatic logic in_sram(input logic [31:0] where);
    return (where & ~(SRAM_BYTES - 32'd1)) == SRAM_BASE;
  endfunction

  logic is_store, is_memory, misaligned, to_sram, to_bus, narrow;
  logic [3:0] strobes;
  logic [31:0] store_word;
  always_comb begin
    is_store = decoded.kind == KIND_STORE;
    is_memory = is_store || decoded.kind == KIND_LOAD;
    narrow = instruction[13:12] != 2'b10;
    case (instruction[13:12])
      2'b00: begin
        misaligned = 1'b0;
        strobes = 4'b0001 << alu_result[1:0];
        store_word = {4{rs2[7:0]}};
      end
      2'b01: begin
        misaligned = alu_result[0];
        strobes = 4'b0011 << alu_result[1:0];
        store_word = {2{rs2[15:0]}};
      end
      default: begin
        misaligned = alu_result[1:0] != 2'b00;
        strobes = 4'b1111;
        store_word = rs2;
      end
    endcase
    to_sram = is_memory && !misaligned && in_sram(alu_result);
    to_bus = is_memory && !misaligned && !in_sram(alu_result) && !narrow;
  end

  // What a finished load gives.
  logic [31:0] loaded;
  logic [7:0]  byte_lane;
  logic [15:0] half_lane;
  always_comb begin
    byte_lane = sram_rdata[{address[1:0], 3'b000} +: 8];
    half_lane = sram_rdata[{address[1], 4'b0000} +: 16];
    case (funct3[1:0])
      2'b00:   loaded = {{24{byte_lane[7] && !funct3[2]}}, byte_lane};
      2'b01:   loaded = {{16{half_lane[15] && !funct3[2]}}, half_lane};
      default: loaded = sram_rdata;
    endcase
  end

  // CSRs. CSRRS and CSRRC of x0 or 0 do not write; the top two bits 11 of a number mean read-only.
  logic [31:0] csr_operand, csr_wdata;
  logic [31:0] csr_rdata;
  logic        is_csr, csr_exists, csr_writes, csr_illegal;
  always_comb begin
    is_csr = decoded.kind == KIND_CSR;
    csr_operand = instruction[14] ? {27'b0, instruction[19:15]} : rs1;
    csr_writes = instruction[13:12] == 2'b01 || instruction[19:15] != 5'd0;
    csr_illegal = !csr_exists || (csr_writes && instruction[31:30] == 2'b11);
    case (instruction[13:12])
      2'b10:   csr_wdata = csr_rdata | csr_operand;
      2'b11:   csr_wdata = csr_rdata & ~csr_operand;
      default: csr_wdata = csr_operand;
    endcase
  end

  // ---- exceptions of the instruction in EXECUTE, or of a bus access
  logic        exception;
  exception_e  cause;
  logic [31:0] value;
  always_comb begin
    exception = 1'b0;
    cause = ILLEGAL;
    value = 32'd0;
    if (state == ANSWER) begin
      exception = bus_failed;
      cause = write ? STORE_FAULT : LOAD_FAULT;
      value = address;
    end else if (state == FETCH) begin
      exception = !in_sram(pc_r);
      cause = FETCH_FAULT;
      value = pc_r;
    end else if (state == EXECUTE) begin
      case (decoded.kind)
        KIND_ILLEGAL: begin
          exception = 1'b1;
          value = instruction;
        end
        KIND_CSR: begin
          exception = csr_illegal;
          value = instruction;
        end
        KIND_JUMP, KIND_BRANCH: begin
          exception = alu_result[1] && (decoded.kind == KIND_JUMP || taken);
          cause = FETCH_MISALIGNED;
          value = {alu_result[31:1], 1'b0};
        end
        KIND_LOAD, KIND_STORE: begin
          exception = !to_sram && !to_bus;
          if (misaligned) cause = is_store ? STORE_MISALIGNED : LOAD_MISALIGNED;
          else cause = is_store ? STORE_FAULT : LOAD_FAULT;
          value = alu_result;
        end
        KIND_ECALL: begin
          exception = 1'b1;
          cause = ECALL_M;
        end
        KIND_EBREAK: begin
          exception = 1'b1;
          cause = BREAKPOINT;
          value = pc_r;
        end
        default: ;
      endcase
    end
  end

  // ---- sequence
  logic hold, pending, wakes, interrupt, interrupted, muldiv_done;
  logic [3:0]  interrupt_cause;
  logic [31:0] trap_target, return_target, muldiv_result, next_pc, result;
  logic        trap, writes_rd;
  logic [4:0]  result_rd;

  always_comb begin
    hold = jump || set_register;
    fetching = state == FETCH;
    sleeping = state == SLEEP;
    asleep = sleeping && !pending && !wakes;
    interrupted = fetching && interrupt;
    boundary = fetching && !interrupt;
    trap = interrupted || exception;

    // An instruction that completes, what it gives, and where the next one is.
    result = alu_result;
    result_rd = instruction[11:7];
    next_pc = pc_r + 32'd4;
    retire = 1'b0;
    writes_rd = 1'b0;
    case (state)
      EXECUTE: begin
        retire = !exception;
        case (decoded.kind)
          KIND_ALU: writes_rd = 1'b1;
          KIND_JUMP: begin
            writes_rd = 1'b1;
            result = next_pc;
            next_pc = {alu_result[31:1], 1'b0};
          end
          KIND_BRANCH: if (taken) next_pc = alu_result;
          KIND_CSR: begin
            writes_rd = 1'b1;
            result = csr_rdata;
          end
          KIND_MRET: next_pc = return_target;
          KIND_LOAD, KIND_MULDIV: retire = 1'b0;
          KIND_STORE: retire = to_sram;
          default: ;
        endcase
      end
      LOAD: begin
        retire = 1'b1;
        writes_rd = 1'b1;
        result = loaded;
        result_rd = rd;
      end
      ANSWER: begin
        retire = !bus_failed;
        writes_rd = !write;
        result = bus_word;
        result_rd = rd;
      end
      MULDIV: begin
        retire = muldiv_done;
        writes_rd = 1'b1;
        result = muldiv_result;
        result_rd = rd;
      end
      default: ;
    endcase
  end

  rv32_muldiv muldiv (.clk, .start(state == EXECUTE && decoded.kind == KIND_MULDIV), .funct3(instruction[14:12]),
      .a(rs1), .b(rs2), .done(muldiv_done), .result(muldiv_result));

  rv32_csr csr (.clk, .reset, .hold, .read(is_csr), .address(instruction[31:20]),
      .write(state == EXECUTE && is_csr && csr_writes && !csr_illegal), .wdata(csr_wdata), .rdata(csr_rdata),
      .exists(csr_exists), .retire, .trap, .trap_is_interrupt(interrupted),
      .trap_cause(interrupted ? interrupt_cause : cause), .trap_value(interrupted ? 32'd0 : value), .trap_pc(pc_r),
      .mret(state == EXECUTE && decoded.kind == KIND_MRET), .trap_target, .return_target, .timer_interrupt,
      .external_interrupt, .mtime, .wakes, .pending, .interrupt, .interrupt_cause, .debug_read(csr_read),
      .debug_address(csr_number), .debug_rdata(csr_value), .debug_exists(csr_found));

  always_comb begin
    sram_enable = fetching || (state == EXECUTE && to_sram && !hold);
    sram_strobes = state == EXECUTE && is_store ? strobes : 4'b0000;
    sram_address = state == EXECUTE ? alu_result : pc_r;
    sram_wdata = store_word;
    bus_valid = state == BUS;
    bus_write = write;
    bus_address = address;
    bus_wdata = wdata;
  end

  always_ff @(posedge clk) begin
    if (!hold) begin
      if (retire && writes_rd && result_rd != 5'd0) x[result_rd] <= result;
      if (retire) pc_r <= next_pc;
      case (state)
        FETCH: state <= EXECUTE;
        EXECUTE: begin
          rd <= instruction[11:7];
          funct3 <= instruction[14:12];
          address <= alu_result;
          wdata <= rs2;
          write <= is_store;
          if (to_bus) state <= BUS;
          else if (decoded.kind == KIND_LOAD) state <= LOAD;
          else if (decoded.kind == KIND_MULDIV) state <= MULDIV;
          else if (decoded.kind == KIND_WFI) state <= SLEEP;
          else state <= FETCH;
        end
        BUS: begin
          bus_word <= bus_rdata;
          bus_failed <= bus_error;
          if (bus_ready) state <= ANSWER;
        end
        SLEEP: if (pending) state <= FETCH;
        default: if (retire) state <= FETCH;
      endcase
      if (trap) begin
        pc_r <= trap_target;
        state <= FETCH;
      end
    end
    if (set_register) x[register_number] <= register_value;
    if (reset || jump) begin
      pc_r <= start_pc;
      state <= FETCH;
    end
    if (reset) for (int i = 0; i < 32; i++) x[i] <= 32'd0;
  end

  assert property (@(posedge clk) disable iff (reset) state <= SLEEP)
  else $error("no such state");
  assert property (@(posedge clk) disable iff (reset) !(retire && trap))
  else $error("an instruction completes and traps");
  wire x0_is_zero = x[0] == 32'd0;
  assert property (@(posedge clk) disable iff (reset) x0_is_zero)
  else $error("x0 is not zero");

endmodule
