// SPDX-License-Identifier: Apache-2.0
// Timer in the layout of the RISC-V CLINT: mtimecmp at +0x4000, mtime (read-only) at +0xBFF8, 64 bits, low word
// first. Answers in the cycle that asks; `error` for any other offset and for writes to mtime. The interrupt is level:
// mtime >= mtimecmp. mtimecmp starts as all ones: never.
module rv32_timer (
  input  logic        clk,
  input  logic        reset,
  input  logic        valid,
  input  logic        write,
  input  logic [15:0] offset,
  input  logic [31:0] wdata,
  output logic [31:0] rdata,
  output logic        error,
  input  logic [63:0] mtime,
  output logic [63:0] mtimecmp,
  output logic        interrupt
);

  localparam logic [15:0] MTIMECMP = 16'h4000, MTIMECMPH = 16'h4004, MTIME = 16'hBFF8, MTIMEH = 16'hBFFC;

  always_comb begin
    interrupt = mtime >= mtimecmp;
    error = 1'b0;
    rdata = 32'b0;
    case (offset)
      MTIMECMP:  rdata = mtimecmp[31:0];
      MTIMECMPH: rdata = mtimecmp[63:32];
      MTIME: begin
        rdata = mtime[31:0];
        error = write;
      end
      MTIMEH: begin
        rdata = mtime[63:32];
        error = write;
      end
      default: error = 1'b1;
    endcase
  end

  always_ff @(posedge clk) begin
    if (valid && write && offset == MTIMECMP) mtimecmp[31:0] <= wdata;
    if (valid && write && offset == MTIMECMPH) mtimecmp[63:32] <= wdata;
    if (reset) mtimecmp <= '1;
  end

endmodule
