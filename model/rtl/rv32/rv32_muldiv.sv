// SPDX-License-Identifier: Apache-2.0
// Extension M. `start` for one cycle with the operands; `done` with the result one cycle later for products, 33
// cycles later for quotients and remainders (restoring division, one bit a cycle). A new start abandons what runs.
module rv32_muldiv (
  input  logic        clk,
  input  logic        start,
  input  logic [2:0]  funct3,  // of the instruction: MUL, MULH, MULHSU, MULHU, DIV, DIVU, REM, REMU
  input  logic [31:0] a,
  input  logic [31:0] b,
  output logic        done,
  output logic [31:0] result
);

  logic [2:0]  operation;
  logic        a_negative, b_negative;  // operands that count as signed and are below zero
  logic [31:0] multiplicand, multiplier;
  logic [63:0] product;
  logic [5:0]  steps;                   // of the division, still to do
  logic [31:0] divisor, quotient, remainder;
  logic [32:0] difference;
  logic        negate;

  always_comb begin
    product = {{32{a_negative}}, multiplicand} * {{32{b_negative}}, multiplier};
    difference = {remainder, quotient[31]} - {1'b0, divisor};
    case (operation)
      3'd0:             result = product[31:0];
      3'd1, 3'd2, 3'd3: result = product[63:32];
      3'd4, 3'd5:       result = negate ? -quotient : quotient;
      default:          result = negate ? -remainder : remainder;
    endcase
    done = steps == 6'd0;
  end

  logic a_signed, b_signed, divides, starts_negative_a, starts_negative_b;
  always_comb begin
    divides = funct3[2];
    a_signed = divides ? !funct3[0] : funct3 != 3'd3;
    b_signed = divides ? !funct3[0] : !funct3[1];
    starts_negative_a = a_signed && a[31];
    starts_negative_b = b_signed && b[31];
  end

  always_ff @(posedge clk) begin
    if (start) begin
      operation <= funct3;
      multiplicand <= a;
      multiplier <= b;
      a_negative <= starts_negative_a;
      b_negative <= starts_negative_b;
      steps <= divides ? 6'd32 : 6'd0;
      quotient <= starts_negative_a ? -a : a;
      divisor <= starts_negative_b ? -b : b;
      remainder <= 32'd0;
      // Division by zero gives all ones whatever the signs.
      negate <= funct3[1] ? starts_negative_a : (starts_negative_a != starts_negative_b) && b != 32'd0;
    end else if (!done) begin
      steps <= steps - 6'd1;
      remainder <= difference[32] ? {remainder[30:0], quotient[31]} : difference[31:0];
      quotient <= {quotient[30:0], !difference[32]};
    end
  end

endmodule
