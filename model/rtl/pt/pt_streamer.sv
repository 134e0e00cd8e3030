// SPDX-License-Identifier: Apache-2.0
// Sends the rows of a block through the array, one pass in a cycle. A row meets the block in PASSES
// passes that add to the same sums, so STEPS cycles lie between two of them: rows form groups and
// take turns, a slot each. A group has STEPS rows, the last one up to SLOTS; slots stay empty only
// in a block of fewer than STEPS rows. The next block follows without a gap.
//   issue:     a pass is issued; the other outputs tell of it
//   read:      it is the row's first pass: the stick of activations at a_address is read into `slot`
//   write:     it is the row's last one: its sums go to sums_address, added to those there if `add`
module pt_streamer
  import spyre_pkg::*;
  import pt_pkg::*;
(
    input  logic     clk,
    input  logic     reset,
    input  logic     block_valid,
    output logic     block_ready,
    input  block_t   block,
    output logic     read,
    output logic     write,
    output slot_t    slot,
    output wave_t    wave,
    output k_t       last_k,
    output logic     add,
    output address_t a_address,
    output address_t sums_address,
    output logic     idle
);
  localparam pass_t LAST_PASS = pass_t'(PASSES - 1);

  logic busy, full, last_slot, last_pass;
  block_t current;  // its rows, and addresses of the first, are those left, with this group
  slot_t slots;     // of this group
  count_t group;    // rows of this group
  pass_t pass;

  always_comb begin
    group = current.rows >= 2 * STEPS ? STEPS : current.rows;
    slots = group < STEPS ? slot_t'(STEPS) : slot_t'(group);
    last_slot = slot == slots - 1;
    last_pass = pass == LAST_PASS;
    full = busy && count_t'(slot) < group;
    read = full && pass == '0;
    write = full && last_pass;
    wave = '{bank: current.bank, pass: pass, extra: extra_t'(slots - slot_t'(STEPS))};
    last_k = current.last_k;
    add = current.add;
    a_address = current.a + count_t'(slot) * ENTRY_BYTES;
    sums_address = current.sums + count_t'(slot) * SUM_STICK_BYTES;
    block_ready = !busy || (last_slot && last_pass && current.rows == group);
    idle = !busy;
  end

  always_ff @(posedge clk) begin
    if (busy) begin
      slot <= last_slot ? '0 : slot + 1;
      if (last_slot) pass <= last_pass ? '0 : pass + 1;
      if (last_slot && last_pass) begin
        current.rows <= current.rows - group;
        current.a <= current.a + group * ENTRY_BYTES;
        current.sums <= current.sums + group * SUM_STICK_BYTES;
        busy <= current.rows != group;
      end
    end
    if (block_valid && block_ready) begin
      busy <= 1'b1;
      current <= block;
    end
    if (reset) begin
      busy <= 1'b0;
      slot <= '0;
      pass <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (reset) busy |-> slot < slots && count_t'(slots) >= group)
  else $error("a slot outside its group");
endmodule
