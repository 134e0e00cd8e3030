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

  always_ff @(posedge clk) begin
    if (enable) begin
      if (strobes == 4'b0000) rdata <= mem[address];
      for (int i = 0; i < 4; i++) if (strobes[i]) mem[address][8*i +: 8] <= wdata[8*i +: 8];
    end
  end

endmodule
