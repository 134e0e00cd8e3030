// SPDX-License-Identifier: Apache-2.0
// Chooses what runs: walks the pending operations from the oldest, one a cycle, and starts the first that may start: no
// older one of its stream, a free engine, its event reached or failed, no barrier or fence that holds it. Operations without
// an engine end here at once. While several functions have something pending, the walk goes to the end for what they take
// turns for (a pool: the cores, on serial hardware the whole card; the service core), and starts the first operation of the
// function whose turn it is. Also takes note of ended operations and keeps events and failed streams.
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
    input programs_t compute_ports,
    input cost_t cost[MAX_FUNCTIONS],
    input programs_t most_programs[MAX_FUNCTIONS],

    input logic accept,  // there is something new
    input function_t accept_function,
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

    input logic [PORTS-1:0] port_busy,
    input node_t port_node[PORTS],
    input logic [31:0] port_stream[PORTS],
    input logic [PORTS-1:0] port_stale,
    input logic [PORTS-1:0] port_ended,
    input outcome_t port_outcome[PORTS],
    output logic port_load,  // of the node at the cursor
    output port_t load_port,
    output logic port_release,
    output port_t release_port,

    output logic quiet
);
  typedef enum logic [3:0] {
    IDLE,
    PURGE,
    NOTE,
    WALK,
    PICK,
    PLACE,
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
  logic [MAX_FUNCTIONS-1:0] met;  // functions of which one may start
  logic [MAX_FUNCTIONS-1:0] all_failed;
  logic failed;  // the stream of the operation at hand
  logic event_failed;  // the operation at hand waits for what will not come
  node_t node;
  logic [31:0] stream;
  outcome_t outcome;

  // ---- what is at work
  logic [MAX_FUNCTIONS-1:0] running;  // functions
  always_comb begin
    running = port_busy[MAX_FUNCTIONS-1:0] | port_busy[COMPUTE_PORT-1:DMA_OUT_PORT];
    for (int p = int'(COMPUTE_PORT); p < int'(PORTS); ++p) if (port_busy[p]) running[port_node[p].function_] = 1'b1;
  end
  wire only_copies = port_busy[PORTS-1:COMPUTE_PORT] == 0;

  // ---- the operation at the cursor
  port_t compute_port;  // the lowest that is free
  programs_t programs;  // of its function at work
  logic compute_free, compute_place;
  always_comb begin
    compute_port = port_t'(COMPUTE_PORT);
    compute_free = 1'b0;
    programs = '0;
    for (int p = int'(MAX_PARTITIONS) - 1; p >= 0; --p) begin
      if (port_busy[int'(COMPUTE_PORT)+p]) begin
        if (port_node[int'(COMPUTE_PORT)+p].function_ == cursor.function_) programs += 1'b1;
      end else if (p < 32'(compute_ports)) begin
        compute_port = port_t'(int'(COMPUTE_PORT) + p);
        compute_free = 1'b1;
      end
    end
  end
  localparam int unsigned POOLS = 2;
  logic barrier, stream_free, alone, ready, place, pooled, prepares, refused;
  function_t at;
  always_comb begin
    at = cursor.function_;
    refused = operation.status != STATUS_OK;
    barrier = !refused && (operation.opcode == OPCODE_FENCE || (operation.flags & FLAG_BARRIER) != 0);
    stream_free = !blocked;
    if (port_busy[in_port(at)] && port_stream[in_port(at)] == operation.stream) stream_free = 1'b0;
    if (port_busy[out_port(at)] && port_stream[out_port(at)] == operation.stream) stream_free = 1'b0;
    for (int p = int'(COMPUTE_PORT); p < int'(PORTS); ++p) begin
      if (port_busy[p] && port_node[p].function_ == at && port_stream[p] == operation.stream) stream_free = 1'b0;
    end
    alone = !barrier || !older[at];
    ready = stream_free && alone && !held_back[at];
    case (operation.engine)
      ENGINE_DMA_IN: load_port = in_port(at);
      ENGINE_DMA_OUT: load_port = out_port(at);
      ENGINE_PREPARE: load_port = port_t'(PREPARE_PORT);
      default: load_port = compute_port;
    endcase
    compute_place = compute_free && programs < most_programs[at];
    // Copies of other functions do not keep what is not a program waiting on serial hardware.
    if (serial) place = port_busy == 0 || (operation.engine != ENGINE_COMPUTE && only_copies && !running[at]);
    else if (operation.engine == ENGINE_COMPUTE) place = compute_place;
    else place = operation.engine == ENGINE_NONE || !port_busy[load_port];
    prepares = operation.engine == ENGINE_PREPARE;
    pooled = operation.engine == ENGINE_COMPUTE || prepares || (serial && operation.engine != ENGINE_NONE);
  end
  wire waits = !refused && operation.opcode == OPCODE_EVENT_WAIT;
  wire has_engine = operation.engine != ENGINE_NONE;

  // ---- functions and their turns
  held_t pending_of[MAX_FUNCTIONS];
  logic [MAX_FUNCTIONS-1:0] pending;  // functions that have some
  wire several = (pending & (pending - 1'b1)) != 0;
  wire may_walk = !serial || port_busy == 0 || (only_copies && (pending & ~running) != 0);
  logic [63:0] turns[POOLS];
  wire [63:0] turn = turns[prepares];
  logic [POOLS-1:0] chosen;  // the walk has come by one that may start when it has a place
  logic [63:0] chosen_turn[POOLS];
  node_t chosen_node[POOLS];
  logic pool;  // at hand in PICK and PLACE
  function_t ended_function;
  logic [63:0] ended_ps;
  assign ended_function = port_node[release_port].function_;
  assign ended_ps = port_outcome[release_port].finished_ps - port_outcome[release_port].started_ps;
  for (genvar p = 0; p < int'(POOLS); ++p) begin : g_pool
    wire mine = p == 1 ? 32'(release_port) == PREPARE_PORT : serial || (32'(release_port) >= COMPUTE_PORT && 32'(release_port) < PREPARE_PORT);
    fair_share share (
        .clk, .rst, .function_(at), .turn(turns[p]), .begin_(port_load && pooled && 32'(prepares) == p),
        .use_(port_release && mine), .user(ended_function), .used_ps(ended_ps), .cost(cost[ended_function])
    );
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
  wire walking = state == IDLE || state == PURGE || state == NOTE || state == WALK || state == PICK || state == PLACE ||
      state == FAILED || state == EVENT;
  wire interrupted = reset && (walking || reset_function == (state == COMMIT ? at : node.function_));
  always_comb begin
    take = !interrupted && (state == COMMIT || (state == PURGE && purging[at]));
    port_load = take && state == COMMIT && !failed && has_engine;
    port_release = !interrupted && state == NOTE;
    finish = !interrupted && state == RETIRE;
    finish_node = node;
    finish_outcome = outcome;
    quiet = state == IDLE && purging == 0 && port_ended == 0 && (!dirty || !may_walk);
  end

  wire begins = take && state == COMMIT;
  always_ff @(posedge clk) begin
    if (accept) dirty <= 1'b1;
    if (accept && !(begins && at == accept_function)) begin
      pending_of[accept_function] <= pending_of[accept_function] + 1'b1;
      pending[accept_function] <= 1'b1;
    end
    if (begins && !(accept && at == accept_function)) begin
      pending_of[at] <= pending_of[at] - 1'b1;
      pending[at] <= pending_of[at] != 1;
    end
    if (interrupted) begin
      state <= IDLE;
    end else begin
      case (state)
        IDLE: begin
          cursor <= head;
          older <= running;
          held_back <= '0;
          met <= '0;
          failed <= 1'b0;
          event_failed <= 1'b0;
          chosen <= '0;
          release_port <= port_t'(lowest(64'(port_ended)));
          if (purging != 0) begin
            if (empty) purging <= '0;
            else state <= PURGE;
          end else if (port_ended != 0) begin
            state <= NOTE;
          end else if (dirty && may_walk) begin
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
          node <= port_node[release_port];
          stream <= port_stream[release_port];
          outcome <= port_outcome[release_port];
          state <= port_stale[release_port] ? IDLE : RETIRE;
        end
        WALK: begin
          // Serial hardware keeps the order of a function also where its first operation has no turn yet.
          if (serial && ready && !waits) met[at] <= 1'b1;
          // A function that has its turn, as something of it is at work, keeps no other one waiting. On serial hardware a
          // program does, as it needs the whole card.
          if (serial && met[at]) begin
            pass_over();
          end else if (ready && pooled && several && (serial ? !running[at] : place)) begin
            if (!chosen[prepares] || stands_before(turn, chosen_turn[prepares])) begin
              chosen[prepares] <= 1'b1;
              chosen_turn[prepares] <= turn;
              chosen_node[prepares] <= cursor;
            end
            pass_over();
          end else if (ready && place && any_failed[at]) begin
            state <= FAILED;
          end else if (ready && place) begin
            state <= waits ? EVENT : COMMIT;
          end else begin
            pass_over();
          end
        end
        // Behind the walk: those whose turn it is, if they have a place.
        PICK: begin
          cursor <= chosen_node[pool];
          if (chosen[pool]) state <= PLACE;
          else if (pool == 1'b0) pool <= 1'b1;
          else state <= IDLE;
        end
        PLACE: begin
          pool <= 1'b1;
          if (place) state <= any_failed[at] ? FAILED : COMMIT;
          else state <= pool == 1'b0 ? PICK : IDLE;
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
      pending_of[reset_function] <= '0;
      pending[reset_function] <= 1'b0;
      all_failed[reset_function] <= 1'b0;
      dirty <= 1'b1;
    end
    if (rst) begin
      state <= IDLE;
      dirty <= 1'b0;
      pending <= '0;
      purging <= '0;
      all_failed <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) state <= MARK)
  else $error("no such state");
  assert property (@(posedge clk) disable iff (rst) !(take && finish))
  else $error("one operation is taken, another ends");

  // The operation at the cursor does not start now.
  task pass_over();
    older[at] <= 1'b1;
    if (barrier) held_back[at] <= 1'b1;
    failed <= 1'b0;
    event_failed <= 1'b0;
    pool <= 1'b0;
    cursor <= after;
    state <= !is_last ? WALK : several ? PICK : IDLE;
  endtask
endmodule
