// SPDX-License-Identifier: Apache-2.0
// Answers: walks the finished operations from the oldest for one whose function has room in its response ring, seals its
// response, and posts it respond_ps after it was chosen. Protocol: write_valid for one cycle with the response and its
// address, both held; then write_done for one cycle with whether the host took it.
module responder
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic reset,  // of a function
    input function_t reset_function,
    input logic [63:0] now_ps,
    input logic [63:0] respond_ps,

    // verilator lint_off UNUSEDSIGNAL
    input queue_t queue,  // of the cursor's function; its submission ring is none of this
    // verilator lint_on UNUSEDSIGNAL
    input logic ring_changed,  // there may be room
    input logic finish,        // there is something new
    output logic [MAX_FUNCTIONS-1:0] purging,

    output node_t cursor,  // in the finished list
    // A part of the struct is of use here.
    // verilator lint_off UNUSEDSIGNAL
    input operation_t operation,
    // verilator lint_on UNUSEDSIGNAL
    input outcome_t outcome,
    input node_t after,
    input logic is_last,
    input node_t head,
    input logic empty,
    output logic unlink,
    output logic post,

    output logic write_valid,
    output logic [63:0] write_address,
    output response_t response,
    input logic write_done,
    input logic write_ok,
    output logic write_stop,
    output logic [MAX_FUNCTIONS-1:0] response_raised,

    output logic quiet,
    output logic timer_valid,
    output logic [63:0] timer_ps
);
  typedef enum logic [2:0] {
    IDLE,
    PURGE,
    WALK,
    CRC,
    LATENCY,
    WRITE
  } state_e;
  state_e state;
  logic dirty;
  logic in_a_row;  // since_ps is when the last response left, and this one was waiting for it
  logic [63:0] since_ps;
  logic [CRC_STEP_BITS-1:0] step;
  logic [31:0] crc;
  logic raises;

  function_t at;
  assign at = cursor.function_;
  wire room = valid_entries(queue.response_entries) && queue.posted - queue.response_head < queue.response_entries;
  wire [31:0] slot = queue.posted & (queue.response_entries - 1);
  wire [63:0] post_ps = (in_a_row ? since_ps : now_ps) + respond_ps;

  wire [31:0] crc_next = state == CRC ? crc_step(crc, response, step) : '0;

  wire walking = state == IDLE || state == PURGE || state == WALK;
  wire interrupted = reset && (walking || reset_function == at);
  wire due = state == LATENCY && now_ps >= timer_ps && !interrupted;
  assign post = due && room;
  assign unlink = post || (state == PURGE && purging[at] && !interrupted);
  assign timer_valid = state == LATENCY;
  assign write_stop = state == WRITE && write_done && !write_ok && !interrupted;

  always_comb begin
    case (state)
      IDLE: quiet = purging == 0 && !dirty;
      LATENCY: quiet = 1'b1;
      WRITE: quiet = !write_done;
      default: quiet = 1'b0;
    endcase
  end

  always_ff @(posedge clk) begin
    write_valid <= 1'b0;
    response_raised <= '0;
    if (finish || ring_changed) dirty <= 1'b1;
    if (interrupted) begin
      state <= IDLE;
      in_a_row <= 1'b0;
    end else begin
      case (state)
        IDLE: begin
          cursor <= head;
          if (purging != 0) begin
            if (empty) purging <= '0;
            else state <= PURGE;
          end else if (dirty) begin
            dirty <= finish || ring_changed;
            if (!empty) state <= WALK;
            else in_a_row <= 1'b0;
          end
        end
        PURGE: begin
          cursor <= after;
          if (is_last) begin
            purging <= '0;
            state <= IDLE;
          end
        end
        WALK: begin
          cursor <= room ? cursor : after;
          timer_ps <= post_ps;
          step <= '0;
          crc <= '1;
          response <= '{
              magic: RESPONSE_MAGIC,
              version: LAYOUT_VERSION,
              opcode: operation.opcode,
              status: outcome.status,
              fault_core: outcome.fault_core,
              stream: operation.stream,
              phase: (queue.posted & queue.response_entries) == 0 ? 32'd1 : 32'd0,
              sequence_: operation.number,
              fault_address: outcome.fault_address,
              queued_ps: operation.queued_ps,
              fetched_ps: operation.fetched_ps,
              started_ps: outcome.started_ps,
              finished_ps: outcome.finished_ps,
              posted_ps: post_ps,
              device_bytes_read: outcome.bytes_read,
              device_bytes_written: outcome.bytes_written,
              macs: outcome.macs,
              correlation: operation.correlation,
              reserved0: '0,
              crc: '0
          };
          raises <= (operation.flags & FLAG_INTERRUPT) != 0 || outcome.status != STATUS_OK;
          if (room) begin
            state <= CRC;
          end else if (ring_changed) begin
            state <= IDLE;  // older ones may have room now
          end else if (is_last) begin
            in_a_row <= 1'b0;
            state <= IDLE;
          end
        end
        CRC: begin
          crc <= crc_next;
          step <= step + 1'b1;
          if (step == '1) begin
            response.crc <= ~crc_next;
            state <= LATENCY;
          end
        end
        LATENCY: begin
          if (due) begin
            dirty <= 1'b1;
            in_a_row <= post;
            since_ps <= timer_ps;
            write_valid <= post;
            write_address <= queue.response_base + 64'(slot) * 64'(ENTRY_BYTES);
            state <= post ? WRITE : IDLE;
          end
        end
        WRITE: begin
          if (write_done) begin
            response_raised[at] <= write_ok && raises;
            state <= IDLE;
          end
        end
        default: state <= IDLE;
      endcase
    end
    if (reset) begin
      purging[reset_function] <= 1'b1;
      dirty <= 1'b1;
    end
    if (rst) begin
      state <= IDLE;
      dirty <= 1'b0;
      in_a_row <= 1'b0;
      purging <= '0;
      write_valid <= 1'b0;
      response_raised <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) state <= WRITE)
  else $error("no such state");
  assert property (@(posedge clk) disable iff (rst) write_valid |-> state == WRITE)
  else $error("a write that is not waited for");
  assert property (@(posedge clk) disable iff (rst) write_done |-> state == WRITE)
  else $error("the end of no write");
  assert property (@(posedge clk) disable iff (rst) state == WRITE && $past(state) == WRITE |-> $stable(response))
  else $error("a response has changed while it is written");
  assert property (@(posedge clk) disable iff (rst) $onehot0(response_raised))
  else $error("one response raises several interrupts");
endmodule
