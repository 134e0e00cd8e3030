// SPDX-License-Identifier: Apache-2.0
// The functions of pt_arithmetic as ports.
module pt_arithmetic_bench
  import pt_arithmetic::*;
(
    input  logic [15:0] a,
    input  logic [15:0] b,
    output logic [31:0] product,
    input  logic [31:0] x,
    input  logic [31:0] y,
    output logic [31:0] sum
);
  assign product = dlf_multiply(a, b);
  assign sum = fp32_add(x, y);
endmodule
