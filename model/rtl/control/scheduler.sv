// SPDX-License-Identifier: Apache-2.0
// Chooses what runs: walks the pending operations from the oldest, one a cycle, and starts the first that may start: no
// older one of its stream, a free engine, its event reached or failed, no barrier or fence that holds it. Operations without an engine
// end here at once. Also takes note of ended operations and keeps events and failed streams.
module scheduler
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic reset,  // of a function
    input function_t reset_function,
    input logic [63:0] now_ps,
    input logic serial,

    input logic accept,  // there is something new
    output logic [MAX_FUNCTIONS-1:0] purging,

    output node_t cursor,  // in the pending list
    // A part of the struct is of use here.
    // verilator lint_off UNUSEDSIGNAL
    input operation_t operation,
    // verilator lint_on UNUSEDSIGNAL
    input logic blocked,
    input node_t after,
    input logic is_last,
    input node_t head,
    input logic empty,
    output logic take,
    output logic finish,
    output node_t finish_node,
    output outcome_t finish_outcome,

    input logic [ENGINES-1:0] engine_busy,
    input node_t engine_node[ENGINES],
    input logic [31:0] engine_stream[ENGINES],
    input logic [ENGINES-1:0] engine_stale,
    input logic [ENGINES-1:0] engine_ended,
    input outcome_t engine_outcome[ENGINES],
    output logic [ENGINES-1:0] engine_load,
    output logic [ENGINES-1:0] engine_release,

    output logic quiet
);
  typedef enum logic [3:0] {
    IDLE,
    PURGE,
    NOTE,
    WALK,
    FAILED,
    EVENT,
    COMMIT,
    SIGNAL,
    RETIRE,
    MARK
  } state_e;
  state_e state;
  logic dirty;  // something may have become eligible
  logic [MAX_FUNCTIONS-1:0] older, held_back;  // functions: with older operations; behind a barrier
  logic [MAX_FUNCTIONS-1:0] all_failed;
  logic failed;  // the stream of the operation at hand
  logic event_failed;  // the operation at hand waits for what will not come
  logic [ENGINE_BITS-1:0] engine;  // whose end is noted
  node_t node;
  logic [31:0] stream;
  outcome_t outcome;

  // ---- the operation at the cursor
  logic barrier, stream_free, engine_free, alone, candidate, refused;
  function_t at;
  always_comb begin
    at = cursor.function_;
    refused = operation.status != STATUS_OK;
    barrier = !refused && (operation.opcode == OPCODE_FENCE || (operation.flags & FLAG_BARRIER) != 0);
    stream_free = !blocked;
    engine_free = 1'b1;
    for (int e = 0; e < int'(ENGINES); ++e) begin
      if (engine_busy[e] && engine_node[e].function_ == at && engine_stream[e] == operation.stream) stream_free = 1'b0;
      if (engine_busy[e] && 32'(operation.engine) == e) engine_free = 1'b0;
    end
    alone = !barrier || !older[at];
    candidate = stream_free && engine_free && alone && !held_back[at];
  end
  wire waits = !refused && operation.opcode == OPCODE_EVENT_WAIT;
  wire has_engine = operation.engine != ENGINE_NONE;

  logic [MAX_FUNCTIONS-1:0] running;  // functions
  always_comb begin
    running = '0;
    for (int e = 0; e < int'(ENGINES); ++e) if (engine_busy[e]) running[engine_node[e].function_] = 1'b1;
  end

  // ---- events and failed streams
  logic event_reached, event_poisoned, failed_done, failed_found, failed_full;
  logic [MAX_FUNCTIONS-1:0] any_failed;
  event_file events (
      .clk, .clear(reset), .clear_function(reset_function),
      .function_(state == SIGNAL ? node.function_ : at), .event_(event_t'(state == SIGNAL ? signalled : operation.value)),
      .reached(event_reached), .poisoned(event_poisoned),
      .signal(state == SIGNAL && outcome.status == STATUS_OK), .poison(state == SIGNAL && outcome.status != STATUS_OK)
  );
  value_set #(.SLOTS(HELD_OPERATIONS), .WIDTH(32)) failed_streams (
      .clk, .rst, .clear(reset), .clear_function(reset_function),
      .request(state == FAILED || state == MARK), .insert(state == MARK),
      .function_(state == MARK ? node.function_ : at), .value(state == MARK ? stream : operation.stream),
      .done(failed_done), .found(failed_found), .full(failed_full), .any(any_failed)
  );
  logic [63:0] signalled;

  // ---- what the state does now
  // A reset ends every walk; what is done for one operation ends only with its own function.
  wire walking = state == IDLE || state == PURGE || state == NOTE || state == WALK || state == FAILED || state == EVENT;
  wire interrupted = reset && (walking || reset_function == (state == COMMIT ? at : node.function_));
  always_comb begin
    take = !interrupted && (state == COMMIT || (state == PURGE && purging[at]));
    engine_load = '0;
    for (int e = 0; e < int'(ENGINES); ++e) begin
      engine_load[e] = take && state == COMMIT && !failed && 32'(operation.engine) == e;
      engine_release[e] = !interrupted && state == NOTE && 32'(engine) == e;
    end
    finish = !interrupted && state == RETIRE;
    finish_node = node;
    finish_outcome = outcome;
    quiet = state == IDLE && purging == 0 && engine_ended == 0 && (!dirty || (serial && engine_busy != 0));
  end

  always_ff @(posedge clk) begin
    if (accept) dirty <= 1'b1;
    if (interrupted) begin
      state <= IDLE;
    end else begin
      case (state)
        IDLE: begin
          cursor <= head;
          older <= running;
          held_back <= '0;
          failed <= 1'b0;
          event_failed <= 1'b0;
          for (int e = int'(ENGINES) - 1; e >= 0; --e) if (engine_ended[e]) engine <= ENGINE_BITS'(e);
          if (purging != 0) begin
            if (empty) purging <= '0;
            else state <= PURGE;
          end else if (engine_ended != 0) begin
            state <= NOTE;
          end else if (dirty && !(serial && engine_busy != 0)) begin
            dirty <= accept;
            if (!empty) state <= WALK;
          end
        end
        PURGE: begin
          cursor <= after;
          if (is_last) begin
            purging <= '0;
            state <= IDLE;
          end
        end
        NOTE: begin
          dirty <= 1'b1;
          node <= engine_node[engine];
          stream <= engine_stream[engine];
          outcome <= engine_outcome[engine];
          state <= engine_stale[engine] ? IDLE : RETIRE;
        end
        WALK: begin
          if (candidate && any_failed[at]) begin
            state <= FAILED;
          end else if (candidate) begin
            state <= waits ? EVENT : COMMIT;
          end else begin
            pass_over();
          end
        end
        FAILED: begin
          if (failed_done) begin
            failed <= failed_found || all_failed[at];
            state <= waits && !failed_found && !all_failed[at] ? EVENT : COMMIT;
          end
        end
        EVENT: begin
          event_failed <= !event_reached;
          if (event_reached || event_poisoned) state <= COMMIT;
          else pass_over();
        end
        COMMIT: begin
          node <= cursor;
          stream <= operation.stream;
          signalled <= operation.value;
          outcome <= '0;
          outcome.started_ps <= now_ps;
          outcome.finished_ps <= now_ps;
          outcome.status <= operation.status;
          outcome.fault_address <= operation.fault_address;
          if (failed && !refused) begin
            outcome.status <= STATUS_ABORTED;
          end else if (event_failed) begin
            outcome.status <= STATUS_EVENT_FAILED;
            outcome.fault_address <= operation.value;
          end
          outcome.fault_core <= NO_CORE;
          dirty <= 1'b1;
          if (has_engine && !failed) state <= IDLE;
          else if (operation.opcode == OPCODE_EVENT_SIGNAL && !refused) state <= SIGNAL;
          else state <= RETIRE;
        end
        SIGNAL: state <= RETIRE;
        RETIRE: state <= outcome.status == STATUS_OK ? IDLE : MARK;
        MARK: begin
          if (failed_done) begin
            if (failed_full) all_failed[node.function_] <= 1'b1;
            state <= IDLE;
          end
        end
        default: state <= IDLE;
      endcase
    end
    if (reset) begin
      purging[reset_function] <= 1'b1;
      all_failed[reset_function] <= 1'b0;
      dirty <= 1'b1;
    end
    if (rst) begin
      state <= IDLE;
      dirty <= 1'b0;
      purging <= '0;
      all_failed <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) state <= MARK)
  else $error("no such state");
  assert property (@(posedge clk) disable iff (rst) $onehot0(engine_load) && (engine_load & engine_busy) == 0)
  else $error("an operation for several engines, or for one at work");
  assert property (@(posedge clk) disable iff (rst) $onehot0(engine_release) && (engine_release & ~engine_ended) == 0)
  else $error("several engines are released, or one that has not ended");
  assert property (@(posedge clk) disable iff (rst) !(take && finish))
  else $error("one operation is taken, another ends");

  // The operation at the cursor does not start now.
  task pass_over();
    older[at] <= 1'b1;
    if (barrier) held_back[at] <= 1'b1;
    failed <= 1'b0;
    event_failed <= 1'b0;
    cursor <= after;
    state <= is_last ? IDLE : WALK;
  endtask
endmodule
