// SPDX-License-Identifier: Apache-2.0
// Fetches entries: takes the functions in turn, checks the ring, reads a batch, and looks at its entries one by one: a
// control block of the PF by its CRC and fields, a message of a VF through the management controller.
//
// Host memory: read_valid for one cycle asks for read_entries entries at read_address; then entry_valid and the entries in
// order, each until entry_next, or read_failed for one cycle, or read_later: the host does not answer now, and the function
// is not fetchable until it does; then the read is asked for again. entries_drop: the rest of the batch is not wanted.
// Management controller: message_valid for one cycle, then message_done for one cycle; its answer, which comes at other
// ports, holds until the next request.
// A look at an entry ends decode_ps after the end of the one before it, or later if the CRC takes longer.
module entry_fetch
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic reset,  // of a function
    input function_t reset_function,
    input logic [63:0] now_ps,
    input logic serial,
    input logic [31:0] fetch_batch,
    input logic [63:0] decode_ps,

    // verilator lint_off UNUSEDSIGNAL
    input queue_t queue,  // of read_function; its response ring is only checked
    // verilator lint_on UNUSEDSIGNAL
    input logic [MAX_FUNCTIONS-1:0] fetchable,  // and not fenced

    output logic read_valid,
    output function_t read_function,
    output logic [63:0] read_address,
    output logic [31:0] read_entries,
    input logic entry_valid,
    input control_block_t entry,
    input logic read_failed,
    input logic read_later,
    output logic entry_next,
    output logic entries_drop,

    output logic message_valid,
    input logic message_done,
    input logic [15:0] message_status,
    input logic [63:0] message_fault,
    input logic [63:0] message_value,

    output logic stop,
    output logic [15:0] stop_status,

    output logic accept,
    output operation_t accept_operation,

    output logic quiet,
    output logic timer_valid,
    output logic [63:0] timer_ps
);
  typedef enum logic [2:0] {
    IDLE,
    CHECK,
    WAIT,
    CRC,
    LATENCY,
    MESSAGE,
    ACCEPT,
    STOP  // for one cycle: the stop is known in IDLE
  } state_e;
  state_e state;
  function_t function_, next_function;
  logic stale;  // the function was reset since
  logic first;  // entry of the batch
  logic [31:0] remaining;
  logic [63:0] since_ps;  // end of the entry before
  logic [31:0] crc;
  logic [CRC_STEP_BITS-1:0] step;

  assign read_function = function_;

  // The first function at or after next_function, in a circle, that has something.
  function_t chosen;
  logic [MAX_FUNCTIONS-1:0] from_next;
  always_comb begin
    from_next = fetchable & ('1 << next_function);
    chosen = function_t'(from_next != 0 ? lowest(64'(from_next)) : lowest(64'(fetchable)));
  end

  // The ring and the batch.
  logic sound;
  logic [31:0] waiting, slot, count;
  always_comb begin
    waiting = queue.tail - queue.fetched[31:0];
    slot = queue.fetched[31:0] & (queue.submission_entries - 1);
    sound = valid_entries(queue.submission_entries) && valid_entries(queue.response_entries) &&
            is_stick_aligned(queue.submission_base) && is_stick_aligned(queue.response_base) &&
            waiting <= queue.submission_entries &&
            queue.posted - queue.response_head <= queue.response_entries;
    count = waiting;
    if (count > fetch_batch) count = fetch_batch;
    if (count > queue.submission_entries - slot) count = queue.submission_entries - slot;
    if (count > HELD_OPERATIONS - 32'(queue.held)) count = HELD_OPERATIONS - 32'(queue.held);
  end

  // The entry.
  wire [31:0] crc_next = state == CRC ? crc_step(crc, entry, step) : '0;

  verdict_t verdict;
  logic [63:0] due;  // sequence number
  always_comb begin
    due = queue.fetched + 1;
    verdict = '0;
    accept_operation = '0;
    if (state == ACCEPT) begin
      if (function_ == 0) verdict = check_control_block(entry, ~crc == entry.crc);
      else verdict = '{status: message_status, fault_address: message_fault};
      if (verdict.status == STATUS_OK && entry.sequence_ != due) begin
        verdict = '{status: STATUS_BAD_SEQUENCE, fault_address: due};
      end
      // What is read here lies at the same place in a message.
      accept_operation = '{
          opcode: entry.opcode,
          flags: entry.flags,
          stream: entry.stream,
          value: function_ == 0 ? entry.value : message_value,
          number: due,
          correlation: entry.correlation,
          queued_ps: queue.queued_ps,
          fetched_ps: now_ps,
          status: verdict.status,
          fault_address: verdict.fault_address,
          engine: ENGINE_NONE
      };
      if (verdict.status == STATUS_OK) begin
        accept_operation.engine = engine_of(entry.opcode, !serial && (entry.flags & FLAG_PREPARE) != 0);
      end
    end
  end

  wire was_reset = reset && reset_function == function_;
  assign accept = state == ACCEPT && !stale && !was_reset;

  always_comb begin
    timer_valid = state == LATENCY;
    case (state)
      IDLE: quiet = fetchable == 0;
      WAIT: quiet = !entry_valid && !read_failed && !read_later;
      LATENCY: quiet = 1'b1;
      MESSAGE: quiet = !message_done;
      default: quiet = 1'b0;
    endcase
  end

  always_ff @(posedge clk) begin
    read_valid <= 1'b0;
    entry_next <= 1'b0;
    entries_drop <= 1'b0;
    message_valid <= 1'b0;
    stop <= 1'b0;
    if (was_reset) stale <= 1'b1;
    case (state)
      IDLE: begin
        function_ <= chosen;
        stale <= reset && reset_function == chosen;
        first <= 1'b1;
        if (fetchable != 0) state <= CHECK;
      end
      CHECK: begin
        next_function <= function_ == function_t'(MAX_FUNCTIONS - 1) ? '0 : function_ + 1'b1;
        read_address <= queue.submission_base + 64'(slot) * 64'(ENTRY_BYTES);
        read_entries <= count;
        remaining <= count;
        stop_status <= STATUS_BAD_FIELD;
        if (stale || was_reset || !fetchable[function_]) begin
          state <= IDLE;
        end else if (!sound) begin
          stop <= 1'b1;
          state <= STOP;
        end else begin
          read_valid <= 1'b1;
          state <= WAIT;
        end
      end
      WAIT: begin
        crc <= '1;
        step <= '0;
        timer_ps <= (first ? now_ps : since_ps) + decode_ps;
        if (read_failed) begin
          stop <= !stale && !was_reset;
          stop_status <= STATUS_HOST_FAULT;
          state <= STOP;
        end else if (read_later) begin
          state <= IDLE;
        end else if (entry_valid && (stale || was_reset)) begin
          entries_drop <= 1'b1;
          state <= IDLE;
        end else if (entry_valid) begin
          first <= 1'b0;
          state <= function_ == 0 ? CRC : LATENCY;
        end
      end
      CRC: begin
        crc <= crc_next;
        step <= step + 1'b1;
        if (step == '1) state <= LATENCY;
      end
      LATENCY: begin
        if (stale || was_reset) begin
          entries_drop <= 1'b1;
          state <= IDLE;
        end else if (now_ps >= timer_ps) begin
          message_valid <= function_ != 0;
          state <= function_ == 0 ? ACCEPT : MESSAGE;
        end
      end
      MESSAGE: if (message_done) state <= ACCEPT;
      ACCEPT: begin
        since_ps <= now_ps;
        if (accept) begin
          entry_next <= 1'b1;
          remaining <= remaining - 1;
          state <= remaining == 1 ? IDLE : WAIT;
        end else begin
          entries_drop <= 1'b1;
          state <= IDLE;
        end
      end
      default: state <= IDLE;
    endcase
    if (rst) begin
      state <= IDLE;
      function_ <= '0;
      next_function <= '0;
      stale <= 1'b0;
      read_valid <= 1'b0;
      entry_next <= 1'b0;
      entries_drop <= 1'b0;
      message_valid <= 1'b0;
      stop <= 1'b0;
    end
  end

  // The protocols, both sides.
  assert property (@(posedge clk) disable iff (rst) read_valid |-> state == WAIT && read_entries != 0)
  else $error("a read that is not waited for, or of no entries");
  assert property (@(posedge clk) disable iff (rst) read_failed |-> state == WAIT)
  else $error("the host fails a read that nobody waits for");
  assert property (@(posedge clk) disable iff (rst) read_later |-> state == WAIT && !entry_valid && !read_failed)
  else $error("the host puts off a read that nobody waits for");
  assert property (@(posedge clk) disable iff (rst) message_valid |-> state == MESSAGE)
  else $error("a message that is not waited for");
  assert property (@(posedge clk) disable iff (rst) message_done |-> state == MESSAGE)
  else $error("an answer to no message");
  assert property (@(posedge clk) disable iff (rst) !(entry_next && entries_drop))
  else $error("the next entry is wanted and not wanted");
  assert property (@(posedge clk) disable iff (rst)
                   entry_valid && $past(entry_valid) && !entry_next && !entries_drop |-> $stable(entry))
  else $error("an entry has changed that nobody has taken");
endmodule
