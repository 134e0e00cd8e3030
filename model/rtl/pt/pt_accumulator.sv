// SPDX-License-Identifier: Apache-2.0
// The sums of a chunk, one stick, are added to those of the chunks earlier, in order of chunks. The
// result comes PT_ACCUMULATE_CYCLES cycles later; one stick can come in every cycle.
module pt_accumulator
  import spyre_pkg::*;
  import pt_pkg::*;
  import pt_arithmetic::*;
(
    input  logic                    clk,
    input  fp32_t [STICK_LANES-1:0] chunk,
    input  fp32_t [STICK_LANES-1:0] earlier,
    output fp32_t [STICK_LANES-1:0] result
);
  fp32_t [STICK_LANES-1:0] sum;

  for (genvar lane = 0; lane < STICK_LANES; ++lane) begin : lanes
    assign sum[lane] = fp32_add(earlier[lane], chunk[lane]);
  end
  // Synthesis moves the registers into the adder.
  pt_delay #(
      .WIDTH ($bits(sum)),
      .CYCLES(PT_ACCUMULATE_CYCLES)
  ) pipeline (
      .clk,
      .in (sum),
      .out(result)
  );
endmodule
