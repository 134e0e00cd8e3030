// SPDX-License-Identifier: Apache-2.0
// The weight-stationary PT array of one corelet: PT_ROWS x PT_COLUMNS elements of PT_LANES SEN169_FP16
// multiply-accumulates with fp32 sums. It executes MATMUL (model/contract/program.h) on a memory that
// has four ports of one stick; addresses are bytes:
//   weights      read: data in the cycle after the address
//   activations  read: the same
//   sums         read (256 bytes): the same; and write, in the cycle of the address
// A command is taken when valid and ready; commands follow each other without a gap. From there to
// the last sum written: PT_CHUNK cycles for the first weight block; for each block PASSES cycles a
// row, at least those of STEPS rows and, but for the last block, at least PT_CHUNK (the next block is
// loaded meanwhile); and PT_FILL_DRAIN_CYCLES. With command_alone a block is loaded when the rows of
// the one before are through, in command_load_cycles: at least PT_CHUNK, more if others use the port.
module pt_array
  import spyre_pkg::*;
  import pt_pkg::*;
(
    input  logic clk,
    input  logic reset,
    output logic busy,

    input  logic     command_valid,
    output logic     command_ready,
    input  count_t   command_rows,
    input  count_t   command_sticks,
    input  count_t   command_chunks,
    input  k_t       command_last_k,
    input  logic     command_accumulate,
    input  logic     command_alone,
    input  count_t   command_load_cycles,
    input  address_t command_a,
    input  address_t command_b,
    input  address_t command_sums,
    input  address_t command_a_stride,
    input  address_t command_b_stride,
    input  address_t command_sums_stride,

    output logic                          weights_read,
    output address_t                      weights_address,
    input  dlf_t     [   STICK_LANES-1:0] weights_data,
    output logic                          activations_read,
    output address_t                      activations_address,
    input  dlf_t     [      PT_CHUNK-1:0] activations_data,
    output logic                          sums_read,
    output address_t                      sums_read_address,
    input  fp32_t    [   STICK_LANES-1:0] sums_read_data,
    output logic                          sums_write,
    output address_t                      sums_write_address,
    output fp32_t    [   STICK_LANES-1:0] sums_write_data
);
  // Cycles from the issue of a row's last pass: read, buffer, west edge; products and a column; the
  // way to the last column. Then the chunk's sums are there, and PT_ACCUMULATE_CYCLES later the result.
  localparam int unsigned CHUNK_SUMS = 3 + (1 + STEPS) + (PT_COLUMNS - 1);
  localparam int unsigned RESULT = CHUNK_SUMS + PT_ACCUMULATE_CYCLES;
  // With the cycle that takes the command.
  if (1 + RESULT != PT_FILL_DRAIN_CYCLES) begin : depth
    $error("the array's depth is not PT_FILL_DRAIN_CYCLES");
  end

  typedef struct packed {
    logic     add;
    address_t address;
  } destination_t;
  typedef struct packed {
    logic  read;
    slot_t slot;
    wave_t wave;
    k_t    last_k;
  } issue_t;

  // ---- weight blocks
  block_t block;
  logic block_valid, block_ready, loader_idle;
  logic load, load_bank, load_zero;
  k_t load_k;
  dlf_t [STICK_LANES-1:0] weights;

  pt_loader loader (
      .clk,
      .reset,
      .command_valid,
      .command_ready,
      .command('{
          rows: command_rows,
          sticks: command_sticks,
          chunks: command_chunks,
          last_k: command_last_k,
          accumulate: command_accumulate,
          alone: command_alone,
          load_cycles: command_load_cycles,
          a: command_a,
          b: command_b,
          sums: command_sums,
          a_stride: command_a_stride,
          b_stride: command_b_stride,
          sums_stride: command_sums_stride
      }),
      .read(weights_read),
      .read_address(weights_address),
      .load,
      .load_bank,
      .load_k,
      .load_zero,
      .block_valid,
      .block_ready,
      .block,
      .idle(loader_idle)
  );
  assign weights = load_zero ? '0 : weights_data;

  // ---- rows of activations
  issue_t issue, fetched;
  slot_t buffered_slot;
  wave_t buffered_wave;
  destination_t destination;
  logic write, streamer_idle;
  dlf_t [PT_CHUNK-1:0] buffer[SLOTS];
  dlf_t [PT_CHUNK-1:0] stick;

  pt_streamer streamer (
      .clk,
      .reset,
      .block_valid,
      .block_ready,
      .block,
      .read(issue.read),
      .write,
      .slot(issue.slot),
      .wave(issue.wave),
      .last_k(issue.last_k),
      .add(destination.add),
      .a_address(activations_address),
      .sums_address(destination.address),
      .idle(streamer_idle)
  );
  assign activations_read = issue.read;

  always_comb begin
    for (int unsigned k = 0; k < PT_CHUNK; ++k) begin
      stick[k] = k_t'(k) <= fetched.last_k ? activations_data[k] : '0;
    end
  end
  always_ff @(posedge clk) begin
    fetched <= issue;
    buffered_slot <= fetched.slot;
    buffered_wave <= fetched.wave;
    if (fetched.read) buffer[fetched.slot] <= stick;
  end

  // ---- the array; rows further down get their activations later
  wave_t [STEPS-1:0] wave[PT_COLUMNS+1];
  dlf_t [PT_ROWS-1:0] activation[PT_COLUMNS+1];
  dlf_t [PT_ROWS-1:0] selected;
  fp32_t [STICK_LANES-1:0] chunk;

  assign selected = buffer[buffered_slot][buffered_wave.pass*PT_ROWS+:PT_ROWS];
  for (genvar step = 0; step < STEPS; ++step) begin : west
    localparam int unsigned ROW = step * STEP_ROWS;
    pt_delay #(
        .WIDTH ($bits(wave_t) + STEP_ROWS * $bits(dlf_t)),
        .CYCLES(step + 1)
    ) skew (
        .clk,
        .in ({buffered_wave, selected[ROW+:STEP_ROWS]}),
        .out({wave[0][step], activation[0][ROW+:STEP_ROWS]})
    );
  end
  for (genvar i = 0; i < PT_COLUMNS; ++i) begin : columns
    fp32_t [PT_LANES-1:0] sum;
    pt_column column (
        .clk,
        .load,
        .load_bank,
        .load_pass(load_k[$bits(k_t)-1:$bits(row_t)]),
        .load_row(load_k[$bits(row_t)-1:0]),
        .load_weights(weights[i*PT_LANES+:PT_LANES]),
        .wave_in(wave[i]),
        .activation_in(activation[i]),
        .wave_out(wave[i+1]),
        .activation_out(activation[i+1]),
        .sum_out(sum)
    );
    if (i == PT_COLUMNS - 1) begin : last
      assign chunk[i*PT_LANES+:PT_LANES] = sum;
    end else begin : skewed
      pt_delay #(
          .WIDTH ($bits(sum)),
          .CYCLES(PT_COLUMNS - 1 - i)
      ) align (
          .clk,
          .in (sum),
          .out(chunk[i*PT_LANES+:PT_LANES])
      );
    end
  end

  // ---- sums of chunks to the sums in memory
  // By cycles since issue: passes, also empty slots, and those of them with sums to write.
  logic [RESULT:1] passing, writing;
  destination_t read_from;
  logic add;

  always_ff @(posedge clk) begin
    passing <= reset ? '0 : {passing[RESULT-1:1], !streamer_idle};
    writing <= reset ? '0 : {writing[RESULT-1:1], write};
    add <= read_from.add;
  end
  pt_delay #(
      .WIDTH ($bits(destination_t)),
      .CYCLES(CHUNK_SUMS - 1)
  ) to_read (
      .clk,
      .in (destination),
      .out(read_from)
  );
  pt_delay #(
      .WIDTH ($bits(address_t)),
      .CYCLES(RESULT - CHUNK_SUMS + 1)
  ) to_write (
      .clk,
      .in (read_from.address),
      .out(sums_write_address)
  );
  pt_accumulator accumulator (
      .clk,
      .chunk,
      .earlier(add ? sums_read_data : '0),
      .result(sums_write_data)
  );
  assign sums_read = writing[CHUNK_SUMS-1] && read_from.add;
  assign sums_read_address = read_from.address;
  assign sums_write = writing[RESULT];
  assign busy = !loader_idle || !streamer_idle || passing != '0;

  assert property (@(posedge clk) disable iff (reset) !busy |-> !weights_read && !activations_read && !sums_read && !sums_write)
  else $error("an array that is not busy uses its memory");
endmodule
