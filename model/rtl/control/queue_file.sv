// SPDX-License-Identifier: Apache-2.0
// The rings of all functions: registers as software has set them, the doorbell at hand, how far fetch and responses
// have come, and errors. A doorbell waits outside until doorbell_ready: entries of the one before are all fetched.
// A stop closes the queue with a reason; error_raised is high for one cycle then.
module queue_file
  import spyre_pkg::*;
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input command_t command,

    input logic accept,  // of fetch_function, as fetch_stop
    input logic fetch_stop,
    input logic [15:0] fetch_stop_status,

    input logic post,  // of respond_function, as write_stop
    input logic write_stop,

    input function_t fetch_function,
    output queue_t fetch_queue,
    input function_t respond_function,
    output queue_t respond_queue,
    output logic [31:0] submission_head[MAX_FUNCTIONS],
    output logic [31:0] response_tail[MAX_FUNCTIONS],
    output logic [15:0] error[MAX_FUNCTIONS],
    output logic [MAX_FUNCTIONS-1:0] fetchable,  // has entries to fetch and room to hold them
    output logic [MAX_FUNCTIONS-1:0] doorbell_ready,
    output logic [MAX_FUNCTIONS-1:0] error_raised
);
  queue_t queues[MAX_FUNCTIONS];
  assign fetch_queue = queues[fetch_function];
  assign respond_queue = queues[respond_function];
  always_comb begin
    for (int f = 0; f < int'(MAX_FUNCTIONS); ++f) begin
      submission_head[f] = queues[f].fetched[31:0];
      response_tail[f] = queues[f].posted;
      error[f] = queues[f].error;
    end
  end

  logic [MAX_FUNCTIONS-1:0] enabled, full;  // full: holds as much as it may
  assign fetchable = enabled & ~doorbell_ready & ~full;

  wire [31:0] fetched = queues[command.function_].fetched[31:0] +
      32'(accept && fetch_function == command.function_);
  logic overtaken;  // more responses taken than were posted: there will never be room again
  always_comb begin
    overtaken = enabled[command.function_] &&
                queues[command.function_].posted - command.index > queues[command.function_].response_entries;
  end

  always_ff @(posedge clk) begin
    error_raised <= '0;
    if (accept) begin
      queues[fetch_function].fetched <= queues[fetch_function].fetched + 1;
      if (queues[fetch_function].tail == queues[fetch_function].fetched[31:0] + 1) begin
        doorbell_ready[fetch_function] <= 1'b1;
      end
    end
    if (post) queues[respond_function].posted <= queues[respond_function].posted + 1;
    if (accept && post && fetch_function == respond_function) begin
      queues[fetch_function].held <= queues[fetch_function].held;
    end else begin
      if (accept) begin
        queues[fetch_function].held <= queues[fetch_function].held + 1;
        full[fetch_function] <= queues[fetch_function].held == held_t'(HELD_OPERATIONS - 1);
      end
      if (post) begin
        queues[respond_function].held <= queues[respond_function].held - 1;
        full[respond_function] <= 1'b0;
      end
    end

    if (fetch_stop) begin
      enabled[fetch_function] <= 1'b0;
      queues[fetch_function].error <= fetch_stop_status;
      error_raised[fetch_function] <= 1'b1;
    end
    if (write_stop) begin
      enabled[respond_function] <= 1'b0;
      queues[respond_function].error <= STATUS_HOST_FAULT;
      error_raised[respond_function] <= 1'b1;
    end

    if (command.set_queue) begin
      queues[command.function_].submission_base <= command.submission_base;
      queues[command.function_].submission_entries <= command.submission_entries;
      queues[command.function_].response_base <= command.response_base;
      queues[command.function_].response_entries <= command.response_entries;
      enabled[command.function_] <= command.enabled;
    end
    if (command.doorbell) begin
      doorbell_ready[command.function_] <= command.index == fetched;
      queues[command.function_].tail <= command.index;
      queues[command.function_].queued_ps <= command.time_ps;
    end
    if (command.cancel_doorbell) doorbell_ready[command.function_] <= 1'b1;
    if (command.consumed) begin
      queues[command.function_].response_head <= command.index;
      if (overtaken) begin
        enabled[command.function_] <= 1'b0;
        queues[command.function_].error <= STATUS_BAD_FIELD;
        error_raised[command.function_] <= 1'b1;
      end
    end
    if (command.clear_error) queues[command.function_].error <= STATUS_OK;
    if (command.reset) begin
      queues[command.function_] <= '0;
      enabled[command.function_] <= 1'b0;
      full[command.function_] <= 1'b0;
      doorbell_ready[command.function_] <= 1'b1;
      error_raised[command.function_] <= 1'b0;
    end
    if (rst) error_raised <= '0;
  end

  assert property (@(posedge clk) disable iff (rst) accept |-> 32'(fetch_queue.held) < HELD_OPERATIONS)
  else $error("a function holds more operations than it may");
  assert property (@(posedge clk) disable iff (rst) post |-> respond_queue.held != 0)
  else $error("a response to no operation");
  assert property (@(posedge clk) disable iff (rst) command.doorbell |-> doorbell_ready[command.function_])
  else $error("a doorbell before the one before it is done with");
endmodule
