// SPDX-License-Identifier: Apache-2.0
// SRAM of words with byte strobes, one port. With `enable` at a clock edge: writes the bytes of `strobes`, or, if
// there are none, reads; `rdata` keeps the last word read. Starts as it was: whoever loads a program fills it.
module rv32_sram #(
  parameter int unsigned WORDS = 65536
) (
  input  logic                     clk,
  input  logic                     enable,
  input  logic [3:0]               strobes,
  input  logic [$clog2(WORDS)-1:0] address,  // of the word
  input  logic [31:0]              wdata,
  output logic [31:0]              rdata
);

  logic [31:0] mem [0:WORDS-1] /* verilator public_flat_rw */;

  logic [31:0] mask;
  assign mask = {{8{strobes[3]}}, {8{strobes[2]}}, {8{strobes[1]}}, {8{strobes[0]}}};

  always_ff @(posedge clk) begin
    if (enable && strobes == 4'b0000) rdata <= mem[address];
    if (enable && strobes != 4'b0000) mem[address] <= (mem[address] & ~mask) | (wdata & mask);
  end

endmodule
