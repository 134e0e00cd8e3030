// SPDX-License-Identifier: Apache-2.0
// One element: PT_LANES multiply-accumulates. It holds the weights of its row and columns for every
// pass of two blocks: one in use, one being loaded. An activation comes from the west; a cycle later
// it is in the product and goes on to the east, and the product is added to the sums from the north.
/*verilator coverage_off*/  // of toggles of the data path: tests compare every bit of the sums
module pt_element
  import spyre_pkg::*;
  import pt_pkg::*;
  import pt_arithmetic::*;
(
    input  logic                 clk,
    input  logic                 load,
    input  logic                 load_bank,
    input  pass_t                load_pass,
    input  dlf_t  [PT_LANES-1:0] load_weights,
    input  logic                 bank,
    input  pass_t                pass,
    input  dlf_t                 activation_in,
    output dlf_t                 activation_out,
    input  fp32_t [PT_LANES-1:0] sum_in,
    output fp32_t [PT_LANES-1:0] sum_out
);
  /*verilator tracing_off*/  // thousands of signals; what goes in and out is traced
  dlf_t [PT_LANES-1:0] weights[2*PASSES];
  dlf_t [PT_LANES-1:0] weight;
  fp32_t [PT_LANES-1:0] product, product_next;

  assign weight = weights[{bank, pass}];
  for (genvar lane = 0; lane < PT_LANES; ++lane) begin : lanes
    assign product_next[lane] = dlf_multiply(activation_in, weight[lane]);
    assign sum_out[lane] = fp32_add(sum_in[lane], product[lane]);
  end

  /*verilator coverage_on*/
  always_ff @(posedge clk) begin
    if (load) weights[{load_bank, load_pass}] <= load_weights;
    activation_out <= activation_in;
    product <= product_next;
  end
endmodule
