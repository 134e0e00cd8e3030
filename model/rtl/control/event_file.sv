// SPDX-License-Identifier: Apache-2.0
// Event slots of every function: a counter each, which only goes up, and whether a signal of it was aborted (`poisoned`).
// Every counter is 0 after a reset. The slot of `event_` is shown in the same clock, and changed by signal or poison at
// the end of it.
module event_file
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic clear,  // all slots of clear_function
    input function_t clear_function,
    input function_t function_,
    input event_t event_,
    output logic reached,
    output logic poisoned,
    input logic signal,
    input logic poison
);
  typedef logic [EVENT_SLOTS-1:0] slots_t;

  logic [$bits(event_.counter)-1:0] counters[MAX_FUNCTIONS * EVENT_SLOTS];
  slots_t signalled[MAX_FUNCTIONS];  // whose counter is not 0
  slots_t dead[MAX_FUNCTIONS];

  wire [FUNCTION_BITS+EVENT_BITS-1:0] at = {function_, event_.slot};
  assign reached = event_.counter == 0 || (signalled[function_][event_.slot] && counters[at] >= event_.counter);
  assign poisoned = dead[function_][event_.slot];

  always_ff @(posedge clk) begin
    if (signal && !reached) begin
      counters[at] <= event_.counter;
      signalled[function_][event_.slot] <= 1'b1;
    end
    if (poison) dead[function_][event_.slot] <= 1'b1;
    if (clear) begin
      signalled[clear_function] <= '0;
      dead[clear_function] <= '0;
    end
  end
endmodule
