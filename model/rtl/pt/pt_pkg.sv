// SPDX-License-Identifier: Apache-2.0
// Shapes and internal messages of the PT array. Sizes come from the contract.
package pt_pkg;
  import spyre_pkg::*;

  localparam int unsigned STICK_LANES = PT_COLUMNS * PT_LANES;  // n of a weight block
  localparam int unsigned PASSES = PT_CHUNK / PT_ROWS;          // of a row through a weight block
  // A sum passes the rows of a column in PT_ACCUMULATE_CYCLES steps, then it can be added to again.
  localparam int unsigned STEPS = PT_ACCUMULATE_CYCLES;
  localparam int unsigned STEP_ROWS = PT_ROWS / STEPS;
  // Rows of activations take turns in a column; a group has one slot for each.
  localparam int unsigned SLOTS = 2 * STEPS - 1;
  localparam int unsigned SUM_STICK_BYTES = STICK_LANES * 4;

  typedef logic [15:0] dlf_t;
  typedef logic [31:0] fp32_t;
  typedef logic [31:0] address_t;  // bytes
  typedef logic [31:0] count_t;
  typedef logic [$clog2(PASSES)-1:0] pass_t;
  typedef logic [$clog2(SLOTS)-1:0] slot_t;
  typedef logic [$clog2(STEPS)-1:0] extra_t;
  typedef logic [$clog2(PT_ROWS)-1:0] row_t;
  typedef logic [$clog2(PT_CHUNK)-1:0] k_t;

  // A MATMUL, or a part of one: blocks of `sticks` x `chunks`, chunks innermost.
  typedef struct packed {
    count_t   rows;          // of activations
    count_t   sticks;        // of 64 columns
    count_t   chunks;        // of 64 k
    k_t       last_k;        // the greatest k index of the last chunk
    logic     accumulate;    // the sums in memory are added to
    logic     alone;         // a block is loaded when no rows are under way
    count_t   load_cycles;   // of a block, if so
    address_t a, b, sums;    // first row of activations, first stick of weights, of sums
    address_t a_stride;      // from one chunk to the next
    address_t b_stride;      // from one stick of columns to the next
    address_t sums_stride;   // from one stick of columns to the next
  } command_t;

  // A weight block in the array, and the rows that shall meet it.
  typedef struct packed {
    logic     bank;
    count_t   rows;
    k_t       last_k;
    logic     add;   // to the sums in memory
    address_t a;     // of the first row
    address_t sums;  // of the first row
  } block_t;

  // What goes through the array with the activations of one pass.
  typedef struct packed {
    logic   bank;
    pass_t  pass;   // 0: sums start at zero
    extra_t extra;  // slots of the group beyond STEPS: how long sums wait to be added to again
  } wave_t;
endpackage
