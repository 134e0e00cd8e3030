// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the PT array, combinational. Functions rather than modules: Verilator then makes
// one C++ function of each (no_inline_task) instead of a copy for every lane.
package pt_arithmetic;
  import spyre_pkg::*;

  localparam logic [31:0] NAN = 32'h7FC0_0000;  // the only one that comes out
  localparam int unsigned FRACTION = DLF_FRACTION_BITS;
  localparam int unsigned PRODUCT = 2 * FRACTION + 2;  // bits of a product of significands
  localparam logic [7:0] REBIAS = 8'(127 - 2 * DLF_BIAS);

  // The product of two SEN169_FP16 values, exact in fp32. NINF gives NaN.
  function automatic logic [31:0] dlf_multiply(input logic [15:0] a, input logic [15:0] b);
    /*verilator no_inline_task*/
    logic zero, ninf, carry;
    logic [PRODUCT-1:0] significand;
    logic [7:0] exponent;
    logic [22:0] fraction;

    zero = a[14:0] == '0 || b[14:0] == '0;
    ninf = (&a[14:0]) || (&b[14:0]);
    significand = PRODUCT'({1'b1, a[FRACTION-1:0]}) * PRODUCT'({1'b1, b[FRACTION-1:0]});
    carry = significand[PRODUCT-1];  // else the leading one is the next bit
    exponent = REBIAS + 8'(a[14:FRACTION]) + 8'(b[14:FRACTION]) + 8'(carry);
    fraction = carry ? {significand[PRODUCT-2:0], {24 - PRODUCT{1'b0}}}
                     : {significand[PRODUCT-3:0], {25 - PRODUCT{1'b0}}};
    return ninf ? NAN : {a[15] ^ b[15], zero ? 31'b0 : {exponent, fraction}};
  endfunction

  // IEEE 754 binary32 addition, round to nearest even, with subnormal numbers.
  function automatic logic [31:0] fp32_add(input logic [31:0] x, input logic [31:0] y);
    /*verilator no_inline_task*/
    logic swap, subtract, carry, sticky, round_up;
    logic [31:0] greater;  // by magnitude
    logic [30:0] lesser;
    logic [7:0] greater_exponent, lesser_exponent, exponent, shift;
    logic [26:0] greater_part, lesser_part, part;  // 24 bits, guard, round, sticky
    logic [27:0] total;
    logic [31:0] sum;

    swap = y[30:0] > x[30:0];
    greater = swap ? y : x;
    lesser = swap ? x[30:0] : y[30:0];
    subtract = x[31] ^ y[31];

    // Subnormal numbers have the least exponent and no hidden one.
    greater_exponent = greater[30:23] == 0 ? 8'd1 : greater[30:23];
    lesser_exponent = lesser[30:23] == 0 ? 8'd1 : lesser[30:23];
    greater_part = {greater[30:23] != 0, greater[22:0], 3'b0};
    lesser_part = {lesser[30:23] != 0, lesser[22:0], 3'b0};
    shift = greater_exponent - lesser_exponent;
    if (shift > 27) shift = 8'd27;
    sticky = (lesser_part & ~(27'h7FF_FFFF << shift)) != 0;
    lesser_part = lesser_part >> shift | 27'(sticky);

    total = subtract ? 28'(greater_part) - 28'(lesser_part) : 28'(greater_part) + 28'(lesser_part);
    carry = total[27];
    part = carry ? {total[27:2], total[1] | total[0]} : total[26:0];
    exponent = greater_exponent + 8'(carry);
    // The leading one moves to the top, but no further than the least exponent allows.
    for (int step = 16; step > 0; step = step >> 1) begin
      if ((part >> (27 - step)) == 0 && exponent > 8'(step)) begin
        part = part << step;
        exponent = exponent - 8'(step);
      end
    end
    if (!part[26]) exponent = 8'd0;

    // A carry out of the fraction belongs to the exponent, up to infinity.
    round_up = part[2] && (part[3] || part[1] || part[0]);
    sum = {greater[31], {exponent, part[25:3]} + 31'(round_up)};
    if (exponent == 8'hFF) sum[22:0] = 23'd0;
    if (total == 0) sum[31] = x[31] && y[31];

    if (greater[30:23] == 8'hFF) begin
      sum = greater;
      if (greater[22:0] != 0 || (subtract && lesser[30:23] == 8'hFF)) sum = NAN;
    end
    return sum;
  endfunction
endpackage
