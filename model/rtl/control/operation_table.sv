// SPDX-License-Identifier: Apache-2.0
// Every held operation: what it is, how it went, and the order of those that wait for their start (pending) and for
// their response (finished). Streams: an operation is `blocked` while an older one of its stream is pending.
//
// A reset of a function forgets its operations at once, but their nodes stay linked until both lists are purged by
// those who walk them; until then `purging` keeps the function from fetching.
module operation_table
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic reset,  // of a function
    input function_t reset_function,

    // A new operation, appended to pending; its block is the PF's entry or the management controller's answer.
    input logic accept,
    input function_t accept_function,
    input operation_t accept_operation,
    input control_block_t accept_block,
    output node_t accept_node,

    // The scheduler walks pending, takes operations out of it, and hands them to an engine or back as finished.
    input node_t pending_cursor,
    output operation_t pending_operation,
    output logic pending_blocked,
    output node_t pending_after,
    output logic pending_is_last,
    output node_t pending_head,
    output logic pending_empty,
    input logic take,  // the node at pending_cursor
    output control_block_t taken_block,  // one cycle later
    input logic finish,
    input node_t finish_node,
    input outcome_t finish_outcome,

    // The responder walks finished.
    input node_t finished_cursor,
    output operation_t finished_operation,
    output outcome_t finished_outcome,
    output node_t finished_after,
    output logic finished_is_last,
    output node_t finished_head,
    output logic finished_empty,
    input logic unlink,  // the node at finished_cursor
    input logic free     // its slot as well
);
  operation_t operations[NODES];
  control_block_t blocks[NODES];
  outcome_t outcomes[NODES];
  logic [HELD_OPERATIONS-1:0] used[MAX_FUNCTIONS];  // slots
  logic [HELD_OPERATIONS-1:0] last_of_stream[MAX_FUNCTIONS];  // of the pending ones
  logic [HELD_OPERATIONS-1:0] blocked[MAX_FUNCTIONS];
  slot_t blocker[NODES];        // the pending operation before it in its stream
  logic [31:0] streams[NODES];  // as in operations; many are compared at once

  assign accept_node = '{function_: accept_function, slot: slot_t'(lowest(64'(~used[accept_function])))};
  assign pending_operation = operations[pending_cursor];
  assign pending_blocked = blocked[pending_cursor.function_][pending_cursor.slot];
  assign finished_operation = operations[finished_cursor];
  assign finished_outcome = outcomes[finished_cursor];

  always_ff @(posedge clk) begin
    if (take) begin
      automatic logic [HELD_OPERATIONS-1:0] freed = '0;
      last_of_stream[pending_cursor.function_][pending_cursor.slot] <= 1'b0;
      for (int i = 0; i < int'(HELD_OPERATIONS); ++i) begin
        freed[i] = blocker[{pending_cursor.function_, slot_t'(i)}] == pending_cursor.slot;
      end
      blocked[pending_cursor.function_] <= blocked[pending_cursor.function_] & ~freed;
      taken_block <= blocks[pending_cursor];
    end
    if (accept) begin
      // The pending operation after which the new one comes in its stream.
      automatic logic found = 1'b0;
      automatic slot_t elder = '0;
      for (int i = 0; i < int'(HELD_OPERATIONS); ++i) begin
        if (last_of_stream[accept_function][i] && streams[{accept_function, slot_t'(i)}] == accept_operation.stream) begin
          found = 1'b1;
          elder = slot_t'(i);
        end
      end
      if (take && pending_cursor == {accept_function, elder}) found = 1'b0;
      operations[accept_node] <= accept_operation;
      blocks[accept_node] <= accept_block;
      used[accept_function][accept_node.slot] <= 1'b1;
      last_of_stream[accept_function][accept_node.slot] <= 1'b1;
      blocked[accept_function][accept_node.slot] <= found;
      if (found) last_of_stream[accept_function][elder] <= 1'b0;
      blocker[accept_node] <= elder;
      streams[accept_node] <= accept_operation.stream;
    end
    if (finish) outcomes[finish_node] <= finish_outcome;
    if (unlink && free) used[finished_cursor.function_][finished_cursor.slot] <= 1'b0;
    if (reset) begin
      used[reset_function] <= '0;
      last_of_stream[reset_function] <= '0;
      blocked[reset_function] <= '0;
    end
  end

  linked_list pending_list (
      .clk, .rst,
      .append(accept), .append_node(accept_node),
      .remove(take), .remove_node(pending_cursor),
      .cursor(pending_cursor), .after_cursor(pending_after), .cursor_is_last(pending_is_last),
      .head(pending_head), .empty(pending_empty)
  );
  linked_list finished_list (
      .clk, .rst,
      .append(finish), .append_node(finish_node),
      .remove(unlink), .remove_node(finished_cursor),
      .cursor(finished_cursor), .after_cursor(finished_after), .cursor_is_last(finished_is_last),
      .head(finished_head), .empty(finished_empty)
  );

  wire all_used = &used[accept_function];
  assert property (@(posedge clk) disable iff (rst) accept |-> !all_used)
  else $error("a new operation without a free slot");
endmodule
