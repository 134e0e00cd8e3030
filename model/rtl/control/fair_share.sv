// SPDX-License-Identifier: Apache-2.0
// Shares one engine between functions by their weights: whoever has had the least, for its weight, stands lowest and is
// next. A function that comes after it has had nothing to do begins where the one that is served stands. What was used
// counts as time * cost, where the cost of a function is 65536 / weight. Sums wrap; only differences are looked at. The
// same as model/common/fair_share.h.
module fair_share
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,

    input function_t function_,
    output logic [63:0] turn,  // where it stands
    input logic begin_,        // it gets the engine

    input logic use_,
    input function_t user,
    input logic [63:0] used_ps,
    input cost_t cost
);
  logic [63:0] used[MAX_FUNCTIONS];
  logic [63:0] reached;  // by the one that began last

  assign turn = stands_before(used[function_], reached) ? reached : used[function_];

  always_ff @(posedge clk) begin
    if (begin_) begin
      used[function_] <= turn;
      reached <= turn;
    end
    if (use_) used[user] <= used[user] + ((used_ps >> 10) + 64'd1) * 64'(cost);
    if (rst) begin
      reached <= '0;
      for (int f = 0; f < int'(MAX_FUNCTIONS); ++f) used[f] <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) !(begin_ && use_))
  else $error("one function begins in the cycle in which another's time is counted");
endmodule
