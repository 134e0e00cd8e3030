// SPDX-License-Identifier: Apache-2.0
// The control-block processor. Outside are host memory, the management controller, the engines (DMA in, DMA out, cores,
// service core) and the registers of BAR0; what passes are transactions, described in the module that makes them:
//
//   commands from registers ── queue_file ──┬── entry_fetch ── host reads, messages
//                                           │        │ accept
//                                           │   operation_table ── scheduler ── engine_ports
//                                           │        │ finished
//                                           └── responder ── host writes, interrupts
//
// Time: now_ps is the time of this edge. While `idle`, nothing changes until an input does or now_ps reaches wake_ps: the
// clock may stop. At power-on, rst is high while `reset` goes through all functions. Steps take decode_ps, dispatch_ps and respond_ps, or as many cycles as they need if that is longer.
module control_processor
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic [63:0] now_ps,
    output logic idle,
    output logic [63:0] wake_ps,

    // Constant while it runs.
    input logic serial,
    input logic [31:0] fetch_batch,
    input logic [63:0] decode_ps,
    input logic [63:0] dispatch_ps,
    input logic [63:0] respond_ps,
    input programs_t compute_ports,  // that there are
    input cost_t cost[MAX_FUNCTIONS],
    input programs_t most_programs[MAX_FUNCTIONS],  // of a function at work at once

    // Commands, one a cycle (control_pkg::command_t).
    input function_t command_function,
    input logic set_queue,
    input logic [63:0] submission_base,
    input logic [31:0] submission_entries,
    input logic [63:0] response_base,
    input logic [31:0] response_entries,
    input logic enabled,
    input logic doorbell,
    input logic [63:0] doorbell_ps,
    input logic consumed,
    input logic [31:0] index,
    input logic cancel_doorbell,
    input logic clear_error,
    input logic reset,
    output logic [MAX_FUNCTIONS-1:0] doorbell_ready,

    // What registers show.
    output logic [31:0] submission_head[MAX_FUNCTIONS],
    output logic [31:0] response_tail[MAX_FUNCTIONS],
    output logic [15:0] error[MAX_FUNCTIONS],
    output logic [MAX_FUNCTIONS-1:0] error_raised,
    output logic [MAX_FUNCTIONS-1:0] response_raised,

    // Host memory.
    output logic read_valid,
    output function_t read_function,
    output logic [63:0] read_address,
    output logic [31:0] read_entries,
    input logic entry_valid,
    input control_block_t entry,
    input logic read_failed,
    input logic read_later,
    input logic [MAX_FUNCTIONS-1:0] silent,  // their read is not answered yet
    output logic entry_next,
    output logic entries_drop,
    output logic write_valid,
    output function_t write_function,
    output logic [63:0] write_address,
    output response_t write_response,
    input logic write_done,
    input logic write_ok,

    // Management controller; the message is `entry`.
    output logic message_valid,
    input logic message_done,
    input logic [15:0] message_status,
    input logic [63:0] message_fault,
    input control_block_t message_block,

    // Engines: an operation is taken for a port of one of them with its block, and starts later.
    output logic taken,
    output logic taken_by_port,  // 0: it has no engine and ends here
    output port_t taken_port,
    output node_t taken_node,
    output control_block_t taken_block,
    output logic start,
    output port_t start_port,
    output logic start_aborted,
    input logic done,
    input port_t done_port,
    input logic [15:0] done_status,
    input logic [63:0] done_fault_address,
    input logic [15:0] done_fault_core,
    input logic [63:0] done_bytes_read,
    input logic [63:0] done_bytes_written,
    input logic [63:0] done_macs,

    // For observers: an operation was accepted.
    output logic accepted,
    output node_t accepted_node
);
  command_t command;
  assign command = '{
      set_queue: set_queue,
      doorbell: doorbell,
      cancel_doorbell: cancel_doorbell,
      consumed: consumed,
      clear_error: clear_error,
      reset: reset,
      function_: command_function,
      submission_base: submission_base,
      submission_entries: submission_entries,
      response_base: response_base,
      response_entries: response_entries,
      enabled: enabled,
      index: index,
      time_ps: doorbell_ps
  };

  queue_t fetch_queue, respond_queue;
  logic [MAX_FUNCTIONS-1:0] fetchable, pending_purging, finished_purging;
  logic fetch_stop, accept, post, write_stop, take, finish, unlink;
  logic [15:0] fetch_stop_status;
  operation_t accept_operation, pending_operation, finished_operation;
  node_t accept_node, pending_cursor, pending_after, pending_head;
  node_t finished_cursor, finished_after, finished_head, finish_node;
  logic pending_blocked, pending_is_last, pending_empty, finished_is_last, finished_empty;
  outcome_t finish_outcome, finished_outcome;
  logic port_load, port_release;
  port_t load_port, release_port;
  logic [PORTS-1:0] port_busy, port_stale, port_ended;
  node_t port_node[PORTS];
  logic [31:0] port_stream[PORTS];
  outcome_t port_outcome[PORTS];
  logic fetch_quiet, scheduler_quiet, responder_quiet, fetch_timer, responder_timer;
  logic [63:0] fetch_timer_ps, responder_timer_ps;
  logic port_timer;
  logic [63:0] port_timer_ps;

  queue_file queue_file (
      .clk, .rst, .command, .accept,
      .fetch_stop, .fetch_stop_status, .post, .write_stop,
      .fetch_function(read_function), .fetch_queue, .respond_function(write_function), .respond_queue,
      .submission_head, .response_tail, .error, .fetchable, .doorbell_ready, .error_raised
  );

  entry_fetch entry_fetch (
      .clk, .rst, .reset, .reset_function(command_function), .now_ps, .serial, .fetch_batch, .decode_ps, .queue(fetch_queue),
      .fetchable(fetchable & ~silent & ~pending_purging & ~finished_purging),
      .read_valid, .read_function, .read_address, .read_entries, .entry_valid, .entry, .read_failed, .read_later,
      .entry_next, .entries_drop,
      .message_valid, .message_done, .message_status, .message_fault, .message_value(message_block.value),
      .stop(fetch_stop), .stop_status(fetch_stop_status), .accept, .accept_operation,
      .quiet(fetch_quiet), .timer_valid(fetch_timer), .timer_ps(fetch_timer_ps)
  );

  operation_table operation_table (
      .clk, .rst, .reset, .reset_function(command_function), .accept, .accept_function(read_function), .accept_operation,
      .accept_block(read_function == 0 ? entry : message_block), .accept_node,
      .pending_cursor, .pending_operation, .pending_blocked, .pending_after, .pending_is_last, .pending_head,
      .pending_empty, .take, .taken_block,
      .finish, .finish_node, .finish_outcome,
      .finished_cursor, .finished_operation, .finished_outcome, .finished_after, .finished_is_last, .finished_head,
      .finished_empty, .unlink, .free(post)
  );

  scheduler scheduler (
      .clk, .rst, .reset, .reset_function(command_function), .serial, .compute_ports, .cost, .most_programs,
      .accept, .accept_function(read_function), .purging(pending_purging),
      .cursor(pending_cursor), .operation(pending_operation), .blocked(pending_blocked), .after(pending_after),
      .is_last(pending_is_last), .head(pending_head), .empty(pending_empty),
      .take, .finish, .finish_node, .finish_outcome,
      .now_ps, .port_busy, .port_node, .port_stream, .port_stale, .port_ended, .port_outcome,
      .port_load, .load_port, .port_release, .release_port, .quiet(scheduler_quiet)
  );

  engine_ports engine_ports (
      .clk, .rst, .reset, .reset_function(command_function), .now_ps, .dispatch_ps,
      .load(port_load), .load_port, .load_node(pending_cursor), .load_stream(pending_operation.stream),
      .busy(port_busy), .node(port_node), .stream(port_stream), .stale(port_stale), .ended(port_ended),
      .outcome(port_outcome), .release_(port_release), .release_port,
      .start, .start_port, .aborted(start_aborted), .done, .done_port,
      .done_outcome('{
          started_ps: '0,
          finished_ps: '0,
          status: done_status,
          fault_address: done_fault_address,
          fault_core: done_fault_core,
          bytes_read: done_bytes_read,
          bytes_written: done_bytes_written,
          macs: done_macs
      }),
      .timer_valid(port_timer), .timer_ps(port_timer_ps)
  );

  responder responder (
      .clk, .rst, .reset, .reset_function(command_function), .now_ps, .respond_ps, .queue(respond_queue), .ring_changed(consumed || set_queue), .finish, .purging(finished_purging),
      .cursor(finished_cursor), .operation(finished_operation), .outcome(finished_outcome), .after(finished_after),
      .is_last(finished_is_last), .head(finished_head), .empty(finished_empty), .unlink, .post,
      .write_valid, .write_address, .response(write_response), .write_done, .write_ok, .write_stop, .response_raised,
      .quiet(responder_quiet), .timer_valid(responder_timer), .timer_ps(responder_timer_ps)
  );
  assign write_function = finished_cursor.function_;

  always_ff @(posedge clk) begin
    accepted <= accept;
    accepted_node <= accept_node;
    taken <= take;
    taken_by_port <= port_load;
    taken_port <= load_port;
    taken_node <= pending_cursor;
    if (rst) begin
      accepted <= 1'b0;
      taken <= 1'b0;
    end
  end

  assert property (@(posedge clk) disable iff (rst)
                   $onehot0({set_queue, doorbell, cancel_doorbell, consumed, clear_error, reset}))
  else $error("two commands in one cycle");
  always_comb begin
    idle = fetch_quiet && scheduler_quiet && responder_quiet;
    wake_ps = '1;
    if (fetch_timer) wake_ps = fetch_timer_ps;
    if (responder_timer && responder_timer_ps < wake_ps) wake_ps = responder_timer_ps;
    if (port_timer && port_timer_ps < wake_ps) wake_ps = port_timer_ps;
  end
endmodule
