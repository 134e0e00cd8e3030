// SPDX-License-Identifier: Apache-2.0
// Machine-mode CSRs, trap entry and return. Zicsr reads are combinational from `address` with `read`; `exists` is low
// for a CSR that is not there. A write takes effect at the clock edge with `write` high. Machine mode only: MPP reads
// 11. Read-only zero: the identities but misa, the hardware performance monitors, mcountinhibit (counters always run),
// the software interrupt and the trigger registers (no triggers). Interrupts and mtime come from outside and are
// sampled at the clock edge.
module rv32_csr
  import rv32_pkg::*;
(
  input  logic        clk,
  input  logic        reset,
  input  logic        hold,                // nothing changes at this edge
  input  logic        read,
  input  logic [11:0] address,
  input  logic        write,
  input  logic [31:0] wdata,
  output logic [31:0] rdata,
  output logic        exists,

  input  logic        retire,              // an instruction is done
  input  logic        trap,                // enter a trap; wins over write and mret
  input  logic        trap_is_interrupt,
  input  logic [3:0]  trap_cause,
  input  logic [31:0] trap_value,
  input  logic [31:0] trap_pc,
  input  logic        mret,
  output logic [31:0] trap_target,
  output logic [31:0] return_target,

  input  logic        timer_interrupt,
  input  logic        external_interrupt,
  input  logic [63:0] mtime,
  output logic        wakes,               // by the lines as they are now
  output logic        pending,             // an enabled interrupt, whatever MIE: ends WFI
  output logic        interrupt,           // and MIE
  output logic [3:0]  interrupt_cause,

  input  logic        debug_read,          // a second read, of CSR debug_address
  input  logic [11:0] debug_address,
  output logic [31:0] debug_rdata,
  output logic        debug_exists
);

  localparam logic [11:0] MSTATUS = 12'h300, MISA = 12'h301, MIE = 12'h304, MTVEC = 12'h305, MSTATUSH = 12'h310,
      MCOUNTINHIBIT = 12'h320, MSCRATCH = 12'h340, MEPC = 12'h341, MCAUSE = 12'h342, MTVAL = 12'h343, MIP = 12'h344,
      TSELECT = 12'h7A0, TDATA1 = 12'h7A1, TDATA2 = 12'h7A2, TDATA3 = 12'h7A3, MCYCLE = 12'hB00, MINSTRET = 12'hB02,
      MCYCLEH = 12'hB80, MINSTRETH = 12'hB82, CYCLE = 12'hC00, TIME = 12'hC01, INSTRET = 12'hC02,
      CYCLEH = 12'hC80, TIMEH = 12'hC81, INSTRETH = 12'hC82, MVENDORID = 12'hF11, MARCHID = 12'hF12,
      MIMPID = 12'hF13, MHARTID = 12'hF14, MCONFIGPTR = 12'hF15;
  localparam logic [31:0] MISA_RV32IM = 32'h40001100;

  logic        mstatus_mie, mstatus_mpie, timer_enable, external_enable, mtvec_mode;
  logic [31:2] mtvec_base, mepc;
  logic [31:0] mscratch, mcause, mtval;
  logic [63:0] mcycle, minstret, sampled_mtime;
  logic        timer_pending, external_pending;

  always_comb begin
    wakes = (timer_interrupt && timer_enable) || (external_interrupt && external_enable);
    pending = (timer_pending && timer_enable) || (external_pending && external_enable);
    interrupt = pending && mstatus_mie;
    interrupt_cause = external_pending && external_enable ? 4'(EXTERNAL_INTERRUPT) : 4'(TIMER_INTERRUPT);
    trap_target = {mtvec_base, 2'b00};
    if (mtvec_mode && trap_is_interrupt) trap_target += {26'b0, trap_cause, 2'b00};
    return_target = {mepc, 2'b00};
  end

  typedef struct packed {
    logic        exists;
    logic [31:0] value;
  } csr_t;
  csr_t found, debug_found;

  function automatic logic reads_zero(input logic [11:0] number);
    logic performance_monitor;  // mhpmevent3..31, mhpmcounter3..31, mhpmcounter3h..31h
    performance_monitor = number[4:0] >= 5'd3 &&
                          (number[11:5] == 7'h19 || number[11:5] == 7'h58 || number[11:5] == 7'h5C);
    return performance_monitor || number inside {MSTATUSH, MCOUNTINHIBIT, TSELECT, TDATA1, TDATA2, TDATA3, MVENDORID,
                                                 MARCHID, MIMPID, MHARTID, MCONFIGPTR};
  endfunction

  function automatic csr_t csr_of(input logic [11:0] number);
    csr_t result;
    result.exists = 1'b1;
    result.value = 32'b0;
    // Chains of comparisons: Verilator makes a far larger decision tree of a case.
    if (number == MSTATUS) begin
      result.value[3] = mstatus_mie;
      result.value[7] = mstatus_mpie;
      result.value[12:11] = 2'b11;
    end else if (number == MISA) result.value = MISA_RV32IM;
    else if (number == MIE) begin
      result.value[TIMER_INTERRUPT] = timer_enable;
      result.value[EXTERNAL_INTERRUPT] = external_enable;
    end else if (number == MIP) begin
      result.value[TIMER_INTERRUPT] = timer_pending;
      result.value[EXTERNAL_INTERRUPT] = external_pending;
    end else if (number == MTVEC) result.value = {mtvec_base, 1'b0, mtvec_mode};
    else if (number == MSCRATCH) result.value = mscratch;
    else if (number == MEPC) result.value = {mepc, 2'b00};
    else if (number == MCAUSE) result.value = mcause;
    else if (number == MTVAL) result.value = mtval;
    else if (number == MCYCLE || number == CYCLE) result.value = mcycle[31:0];
    else if (number == MCYCLEH || number == CYCLEH) result.value = mcycle[63:32];
    else if (number == MINSTRET || number == INSTRET) result.value = minstret[31:0];
    else if (number == MINSTRETH || number == INSTRETH) result.value = minstret[63:32];
    else if (number == TIME) result.value = sampled_mtime[31:0];
    else if (number == TIMEH) result.value = sampled_mtime[63:32];
    else result.exists = reads_zero(number);
    return result;
  endfunction

  always_comb begin
    found = '0;
    if (read) found = csr_of(address);
    exists = found.exists;
    rdata = found.value;
    debug_found = '0;
    if (debug_read) debug_found = csr_of(debug_address);
    debug_exists = debug_found.exists;
    debug_rdata = debug_found.value;
  end

  always_ff @(posedge clk) begin
    timer_pending <= timer_interrupt;
    external_pending <= external_interrupt;
    sampled_mtime <= mtime;
    if (!hold) begin
      mcycle <= mcycle + 64'd1;
      if (retire) minstret <= minstret + 64'd1;
      if (trap) begin
        mstatus_mpie <= mstatus_mie;
        mstatus_mie <= 1'b0;
        mepc <= trap_pc[31:2];
        mcause <= {trap_is_interrupt, 27'b0, trap_cause};
        mtval <= trap_value;
      end else if (mret) begin
        mstatus_mie <= mstatus_mpie;
        mstatus_mpie <= 1'b1;
      end else if (write) begin
        if (address == MSTATUS) begin
          mstatus_mie <= wdata[3];
          mstatus_mpie <= wdata[7];
        end
        if (address == MIE) begin
          timer_enable <= wdata[TIMER_INTERRUPT];
          external_enable <= wdata[EXTERNAL_INTERRUPT];
        end
        if (address == MTVEC) begin
          mtvec_base <= wdata[31:2];
          mtvec_mode <= wdata[0];
        end
        if (address == MSCRATCH) mscratch <= wdata;
        if (address == MEPC) mepc <= wdata[31:2];
        if (address == MCAUSE) mcause <= wdata;
        if (address == MTVAL) mtval <= wdata;
        // A counter that is written does not count in the same cycle or for the same instruction.
        if (address == MCYCLE) mcycle <= {mcycle[63:32], wdata};
        if (address == MCYCLEH) mcycle <= {wdata, mcycle[31:0]};
        if (address == MINSTRET) minstret <= {minstret[63:32], wdata};
        if (address == MINSTRETH) minstret <= {wdata, minstret[31:0]};
      end
    end
    if (reset) begin
      mstatus_mie <= 1'b0;
      mstatus_mpie <= 1'b0;
      timer_enable <= 1'b0;
      external_enable <= 1'b0;
      mtvec_mode <= 1'b0;
      mtvec_base <= 30'b0;
      mepc <= 30'b0;
      mscratch <= 32'b0;
      mcause <= 32'b0;
      mtval <= 32'b0;
      mcycle <= 64'b0;
      minstret <= 64'b0;
    end
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, trap_pc[1:0]};

endmodule
