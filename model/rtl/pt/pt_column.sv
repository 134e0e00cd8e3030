// SPDX-License-Identifier: Apache-2.0
// One column: PT_ROWS elements, one below the other. In a pass the sums of an activation row go down
// through all of them, STEP_ROWS elements a cycle, so that products are added in increasing k. They
// come out below and go in again above for the row's next pass, later if its group has more than
// STEPS slots. The elements of a step see a pass one cycle after those of the step above.
/*verilator coverage_off*/  // of toggles of the data path: tests compare every bit of the sums
module pt_column
  import spyre_pkg::*;
  import pt_pkg::*;
(
    input  logic                 clk,
    input  logic                 load,
    input  logic                 load_bank,
    input  pass_t                load_pass,
    input  row_t                 load_row,
    input  dlf_t  [PT_LANES-1:0] load_weights,
    input  wave_t [   STEPS-1:0] wave_in,
    input  dlf_t  [ PT_ROWS-1:0] activation_in,
    output wave_t [   STEPS-1:0] wave_out,
    output dlf_t  [ PT_ROWS-1:0] activation_out,
    output fp32_t [PT_LANES-1:0] sum_out         // STEPS + 1 cycles after wave_in[0]
);
  typedef fp32_t [PT_LANES-1:0] sums_t;
  sums_t step_sum[STEPS];  // below the last row of a step
  sums_t held[STEPS];      // sums that have come out; held[0] just now
  sums_t above;

  for (genvar row = 0; row < PT_ROWS; ++row) begin : rows
    localparam int unsigned STEP = row / STEP_ROWS;
    sums_t from_north, to_south;
    /*verilator coverage_on*/

    pt_element element (
        .clk,
        .load(load && load_row == row_t'(row)),
        .load_bank,
        .load_pass,
        .load_weights,
        .bank(wave_in[STEP].bank),
        .pass(wave_in[STEP].pass),
        .activation_in(activation_in[row]),
        .activation_out(activation_out[row]),
        .sum_in(from_north),
        .sum_out(to_south)
    );
    if (row == 0) begin : top
      assign from_north = above;
    end else if (row % STEP_ROWS == 0) begin : step_top
      assign from_north = step_sum[STEP-1];
    end else begin : inner
      assign from_north = rows[row-1].to_south;
    end
    if (row % STEP_ROWS == STEP_ROWS - 1) begin : step_end
      always_ff @(posedge clk) step_sum[STEP] <= to_south;
    end
  end

  always_comb begin
    held[0] = step_sum[STEPS-1];
    above = wave_out[0].pass == '0 ? '0 : held[wave_out[0].extra];
  end
  assign sum_out = held[0];

  always_ff @(posedge clk) begin
    wave_out <= wave_in;
    for (int unsigned i = 1; i < STEPS; ++i) held[i] <= held[i-1];
  end
endmodule
