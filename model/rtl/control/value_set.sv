// SPDX-License-Identifier: Apache-2.0
// A set of values for each function: up to SLOTS values of WIDTH bits, in a hash table with linear probing, one slot a
// cycle. Protocol: request, with insert, function and value, stays until done, which comes with the last probe; `found`
// and `full` hold then. `full`: not found, and there is no room for it. Withdrawing the request ends the search.
module value_set
  import spyre_pkg::*;
  import control_pkg::*;
#(
    parameter int unsigned SLOTS = 64,
    parameter int unsigned WIDTH = 32
) (
    input logic clk,
    input logic rst,
    input logic clear,  // forgets all values of clear_function
    input function_t clear_function,
    input logic request,
    input logic insert,
    input function_t function_,
    input logic [WIDTH-1:0] value,
    output logic done,
    output logic found,
    output logic full,
    output logic [MAX_FUNCTIONS-1:0] any  // functions with values
);
  localparam int unsigned INDEX_BITS = $clog2(SLOTS);
  typedef logic [INDEX_BITS-1:0] index_t;

  logic [WIDTH-1:0] values[MAX_FUNCTIONS * SLOTS];
  logic [SLOTS-1:0] used[MAX_FUNCTIONS];
  logic probing;
  index_t index, first;

  function automatic index_t hash(logic [WIDTH-1:0] v);
    localparam int unsigned PARTS = (WIDTH + INDEX_BITS - 1) / INDEX_BITS;
    logic [PARTS*INDEX_BITS-1:0] padded;
    index_t h;
    padded = (PARTS * INDEX_BITS)'(v);
    h = '0;
    for (int unsigned i = 0; i < PARTS; ++i) h ^= padded[i*INDEX_BITS+:INDEX_BITS];
    return h;
  endfunction

  logic occupied, cleared;
  always_comb begin
    cleared = clear && clear_function == function_;
    occupied = used[function_][index];
    found = occupied && values[{function_, index}] == value;
    full = occupied && !found;
    done = probing && request && !cleared && (found || !occupied || index == first - 1'b1);
  end

  always_ff @(posedge clk) begin
    probing <= request && !done && !cleared;
    if (!probing) begin
      if (request) begin
        index <= hash(value);
        first <= hash(value);
      end
    end else begin
      index <= index + 1'b1;
    end
    if (done && insert && !occupied) begin
      used[function_][index] <= 1'b1;
      any[function_] <= 1'b1;
      values[{function_, index}] <= value;
    end
    if (clear) begin
      used[clear_function] <= '0;
      any[clear_function] <= 1'b0;
    end
    if (rst) probing <= 1'b0;
  end

  assert property (@(posedge clk) disable iff (rst) done |-> request && !(found && full))
  else $error("the end of no search, or two results");
endmodule
