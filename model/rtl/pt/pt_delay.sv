// SPDX-License-Identifier: Apache-2.0
// `in`, CYCLES cycles later.
/*verilator coverage_off*/  // of toggles of the data path: tests compare every bit of the sums
module pt_delay #(
    parameter int unsigned WIDTH  = 1,
    parameter int unsigned CYCLES = 1
) (
    input  logic             clk,
    input  logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
  /*verilator tracing_off*/
  logic [WIDTH-1:0] line[CYCLES];

  /*verilator coverage_on*/
  always_ff @(posedge clk) begin
    line[0] <= in;
    for (int unsigned i = 1; i < CYCLES; ++i) line[i] <= line[i-1];
  end
  assign out = line[CYCLES-1];
endmodule
