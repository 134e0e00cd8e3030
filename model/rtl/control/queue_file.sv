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

    input logic accept,
    input function_t accept_function,
    input logic fetch_stop,
    input function_t fetch_stop_function,
    input logic [15:0] fetch_stop_status,

    input logic post,
    input function_t post_function,
    input logic write_stop,
    input function_t write_stop_function,

    output queue_t queues[MAX_FUNCTIONS],
    output logic [MAX_FUNCTIONS-1:0] fetchable,  // has entries to fetch and room to hold them
    output logic [MAX_FUNCTIONS-1:0] doorbell_ready,
    output logic [MAX_FUNCTIONS-1:0] error_raised
);
  always_comb begin
    for (int f = 0; f < int'(MAX_FUNCTIONS); ++f) begin
      doorbell_ready[f] = !queues[f].has_doorbell || queues[f].tail == queues[f].fetched[31:0];
      fetchable[f] = queues[f].enabled && !doorbell_ready[f] && queues[f].held < held_t'(HELD_OPERATIONS);
    end
  end

  logic overtaken;  // more responses taken than were posted: there will never be room again
  always_comb begin
    overtaken = queues[command.function_].enabled &&
                queues[command.function_].posted - command.index > queues[command.function_].response_entries;
  end

  always_ff @(posedge clk) begin
    error_raised <= '0;
    if (accept) queues[accept_function].fetched <= queues[accept_function].fetched + 1;
    if (post) queues[post_function].posted <= queues[post_function].posted + 1;
    if (accept && post && accept_function == post_function) begin
      queues[accept_function].held <= queues[accept_function].held;
    end else begin
      if (accept) queues[accept_function].held <= queues[accept_function].held + 1;
      if (post) queues[post_function].held <= queues[post_function].held - 1;
    end

    if (fetch_stop) begin
      queues[fetch_stop_function].enabled <= 1'b0;
      queues[fetch_stop_function].error <= fetch_stop_status;
      error_raised[fetch_stop_function] <= 1'b1;
    end
    if (write_stop) begin
      queues[write_stop_function].enabled <= 1'b0;
      queues[write_stop_function].error <= STATUS_HOST_FAULT;
      error_raised[write_stop_function] <= 1'b1;
    end

    if (command.set_queue) begin
      queues[command.function_].submission_base <= command.submission_base;
      queues[command.function_].submission_entries <= command.submission_entries;
      queues[command.function_].response_base <= command.response_base;
      queues[command.function_].response_entries <= command.response_entries;
      queues[command.function_].enabled <= command.enabled;
    end
    if (command.doorbell) begin
      queues[command.function_].has_doorbell <= 1'b1;
      queues[command.function_].tail <= command.index;
      queues[command.function_].queued_ps <= command.time_ps;
    end
    if (command.cancel_doorbell) queues[command.function_].has_doorbell <= 1'b0;
    if (command.consumed) begin
      queues[command.function_].response_head <= command.index;
      if (overtaken) begin
        queues[command.function_].enabled <= 1'b0;
        queues[command.function_].error <= STATUS_BAD_FIELD;
        error_raised[command.function_] <= 1'b1;
      end
    end
    if (command.clear_error) queues[command.function_].error <= STATUS_OK;
    if (command.reset) begin
      queues[command.function_] <= '0;
      error_raised[command.function_] <= 1'b0;
    end
    if (rst) begin
      for (int f = 0; f < int'(MAX_FUNCTIONS); ++f) queues[f] <= '0;
      error_raised <= '0;
    end
  end
endmodule
