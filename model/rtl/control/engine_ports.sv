// SPDX-License-Identifier: Apache-2.0
// The engines as the control processor sees them, a port for each operation that can be at work (control_pkg: port_t). A
// port is free, about to start (for dispatch_ps), at work, or done and not yet taken note of. Protocol outside: the block
// was handed over when the operation was taken; then start for one cycle, with `aborted` if the function was reset
// meanwhile; then done for one cycle, with the results. One port a cycle starts, and one ends.
module engine_ports
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic reset,  // of a function
    input function_t reset_function,
    input logic [63:0] now_ps,
    input logic [63:0] dispatch_ps,

    input logic load,
    input port_t load_port,
    input node_t load_node,
    input logic [31:0] load_stream,
    output logic [PORTS-1:0] busy,
    output node_t node[PORTS],
    output logic [31:0] stream[PORTS],
    output logic [PORTS-1:0] stale,  // of an earlier life of its function
    output logic [PORTS-1:0] ended,
    output outcome_t outcome[PORTS],
    input logic release_,
    input port_t release_port,

    output logic start,
    output port_t start_port,
    output logic aborted,
    input logic done,
    input port_t done_port,
    input outcome_t done_outcome,  // times are set here

    output logic timer_valid,
    output logic [63:0] timer_ps
);
  // Those that are about to start, in the order in which they were loaded, which is that of their times.
  port_t order[1<<PORT_BITS];
  logic [63:0] starts_ps[1<<PORT_BITS];
  port_t first, behind;
  logic [63:0] started_ps[PORTS];
  logic [PORTS-1:0] at_work;

  assign timer_valid = first != behind;
  assign timer_ps = starts_ps[first];
  assign aborted = stale[start_port];

  always_ff @(posedge clk) begin
    start <= 1'b0;
    if (reset) begin
      if (busy[in_port(reset_function)]) stale[in_port(reset_function)] <= 1'b1;
      if (busy[out_port(reset_function)]) stale[out_port(reset_function)] <= 1'b1;
      for (int p = int'(COMPUTE_PORT); p < int'(PORTS); ++p) begin
        if (busy[p] && node[p].function_ == reset_function) stale[p] <= 1'b1;
      end
    end
    if (load) begin
      busy[load_port] <= 1'b1;
      node[load_port] <= load_node;
      stream[load_port] <= load_stream;
      stale[load_port] <= 1'b0;
      order[behind] <= load_port;
      starts_ps[behind] <= now_ps + dispatch_ps;
      behind <= behind + 1'b1;
    end
    if (timer_valid && now_ps >= timer_ps) begin
      start <= 1'b1;
      start_port <= order[first];
      started_ps[order[first]] <= now_ps;
      at_work[order[first]] <= 1'b1;
      first <= first + 1'b1;
    end
    if (done) begin
      outcome[done_port] <= done_outcome;
      outcome[done_port].started_ps <= started_ps[done_port];
      outcome[done_port].finished_ps <= now_ps;
      at_work[done_port] <= 1'b0;
      ended[done_port] <= 1'b1;
    end
    if (release_) begin
      busy[release_port] <= 1'b0;
      ended[release_port] <= 1'b0;
    end
    if (rst) begin
      busy <= '0;
      stale <= '0;
      at_work <= '0;
      ended <= '0;
      first <= '0;
      behind <= '0;
      start <= 1'b0;
      start_port <= '0;
    end
  end

  wire load_busy = busy[load_port];
  wire done_at_work = at_work[done_port];
  wire release_ended = ended[release_port];
  assert property (@(posedge clk) disable iff (rst) load |-> !load_busy)
  else $error("an engine that is not free gets an operation");
  assert property (@(posedge clk) disable iff (rst) done |-> done_at_work)
  else $error("an engine ends what has not started");
  assert property (@(posedge clk) disable iff (rst) release_ |-> release_ended)
  else $error("an engine is released before its end");
endmodule
