// SPDX-License-Identifier: Apache-2.0
// One engine as the control processor sees it: free, about to start (for dispatch_ps), at work, or done and not yet
// taken note of. Protocol outside: the block was handed over when the operation was taken; then start for one cycle, with
// `aborted` if the function was reset meanwhile; then done for one cycle, with the results.
module engine_port
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic reset,  // of a function
    input function_t reset_function,
    input logic [63:0] now_ps,
    input logic [63:0] dispatch_ps,

    input logic load,
    input node_t load_node,
    input logic [31:0] load_stream,
    output logic busy,
    output node_t node,
    output logic [31:0] stream,
    output logic stale,  // of an earlier life of its function
    output logic ended,
    output outcome_t outcome,
    input logic release_,

    output logic start,
    output logic aborted,
    input logic done,
    input outcome_t done_outcome,  // times are set here

    output logic timer_valid,
    output logic [63:0] timer_ps
);
  typedef enum logic [1:0] {
    FREE,
    DISPATCH,
    RUN,
    DONE
  } state_e;
  state_e state;

  assign busy = state != FREE;
  assign ended = state == DONE;
  assign timer_valid = state == DISPATCH;
  assign aborted = stale;

  always_ff @(posedge clk) begin
    start <= 1'b0;
    if (reset && busy && reset_function == node.function_) stale <= 1'b1;
    case (state)
      FREE: begin
        if (load) begin
          node <= load_node;
          stream <= load_stream;
          stale <= 1'b0;
          timer_ps <= now_ps + dispatch_ps;
          state <= DISPATCH;
        end
      end
      DISPATCH: begin
        if (now_ps >= timer_ps) begin
          outcome.started_ps <= now_ps;
          start <= 1'b1;
          state <= RUN;
        end
      end
      RUN: begin
        if (done) begin
          outcome <= done_outcome;
          outcome.started_ps <= outcome.started_ps;
          outcome.finished_ps <= now_ps;
          state <= DONE;
        end
      end
      DONE: if (release_) state <= FREE;
    endcase
    if (rst) begin
      state <= FREE;
      stale <= 1'b0;
      start <= 1'b0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) load |-> state == FREE)
  else $error("an engine that is not free gets an operation");
  assert property (@(posedge clk) disable iff (rst) start |-> state == RUN)
  else $error("an operation starts that does not run");
  assert property (@(posedge clk) disable iff (rst) done |-> state == RUN)
  else $error("an engine ends what has not started");
  assert property (@(posedge clk) disable iff (rst) release_ |-> state == DONE)
  else $error("an engine is released before its end");
endmodule
