// SPDX-License-Identifier: Apache-2.0
// Loads weight blocks, one stick of weights (64 columns of one k) in a cycle, into the bank that the
// rows do not use, and hands each to the streamer. Commands wait at valid/ready; the first block of
// the next one follows the last of this one without a gap. Of a command that is `alone`, a block is
// loaded when the streamer is ready for it, in `load_cycles`.
//   read, read_address: a stick of weights; in the next cycle it is there, and load_* say where to.
//   block_valid/ready:  a block that is loaded, or gets its last stick with the next clock.
module pt_loader
  import spyre_pkg::*;
  import pt_pkg::*;
(
    input  logic     clk,
    input  logic     reset,
    input  logic     command_valid,
    output logic     command_ready,
    input  command_t command,
    output logic     read,
    output address_t read_address,
    output logic     load,
    output logic     load_bank,
    output k_t       load_k,
    output logic     load_zero,      // no such k: zeros
    output logic     block_valid,
    input  logic     block_ready,
    output block_t   block,
    output logic     idle
);
  localparam k_t LAST_K = k_t'(PT_CHUNK - 1);
  localparam address_t STICK = ENTRY_BYTES;

  typedef enum logic [1:0] {
    IDLE,
    WAITING,
    LOADING,
    LOADED
  } state_e;

  state_e state;
  command_t current;  // sticks: those left; b, sums: of this stick
  count_t chunk;
  address_t a;        // of this chunk
  logic bank, taken, last_chunk, last_block;
  k_t k;
  count_t cycle;  // of the load of this block
  logic loaded_k, last_cycle, streams;

  assign idle = state == IDLE;
  assign last_chunk = chunk == current.chunks - 1;
  assign last_block = last_chunk && current.sticks == 1;
  assign loaded_k = cycle > count_t'(LAST_K);  // the rest of an alone load
  assign last_cycle = cycle == (current.alone ? current.load_cycles - 1 : count_t'(LAST_K));
  assign block_valid = state == LOADED || (state == LOADING && last_cycle);
  assign streams = !block_ready || taken;
  assign taken = block_valid && block_ready;
  assign command_ready = idle || (taken && last_block);
  assign block = '{
          bank: bank,
          rows: current.rows,
          last_k: last_chunk ? current.last_k : LAST_K,
          add: current.accumulate || chunk != 0,
          a: a,
          sums: current.sums
      };
  assign read = state == LOADING && !loaded_k && k <= block.last_k;

  always_ff @(posedge clk) begin
    load <= state == LOADING && !loaded_k;
    load_bank <= bank;
    load_k <= k;
    load_zero <= !read;

    if (state == LOADING) begin
      k <= k + 1;
      cycle <= cycle + 1;
      if (!loaded_k) read_address <= read_address + STICK;
      if (last_cycle) state <= LOADED;
    end
    if (state == WAITING && block_ready) state <= LOADING;
    if (taken) begin
      bank  <= !bank;
      state <= current.alone ? WAITING : LOADING;
      k <= '0;
      cycle <= '0;
      chunk <= chunk + 1;
      a <= a + current.a_stride;
      if (last_chunk) begin
        current.sticks <= current.sticks - 1;
        chunk <= 0;
        a <= current.a;
        current.sums <= current.sums + current.sums_stride;
        current.b <= current.b + current.b_stride;
        read_address <= current.b + current.b_stride;
      end
      if (last_block) state <= IDLE;
    end
    if (command_valid && command_ready) begin
      state <= command.alone && streams ? WAITING : LOADING;
      current <= command;
      chunk <= 0;
      a <= command.a;
      read_address <= command.b;
    end
    if (reset) begin
      state <= IDLE;
      bank  <= 1'b0;
      k <= '0;
      cycle <= '0;
      load <= 1'b0;
    end
  end

  assert property (@(posedge clk) disable iff (reset) command_valid && !command_ready |=> command_valid && $stable(command))
  else $error("a command has changed that was not taken");
  assert property (@(posedge clk) disable iff (reset) block_valid && !block_ready |=> block_valid && $stable(block))
  else $error("a block has changed that was not taken");
endmodule
