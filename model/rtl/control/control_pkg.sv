// SPDX-License-Identifier: Apache-2.0
// Types and functions that the modules of the control-block processor share.
package control_pkg;
  import spyre_pkg::*;

  localparam int unsigned ENTRY_BITS = 8 * ENTRY_BYTES;
  localparam int unsigned FUNCTION_BITS = $clog2(MAX_FUNCTIONS);
  localparam int unsigned SLOT_BITS = $clog2(HELD_OPERATIONS);
  // A port is what one operation at a time is at work in: the DMA engine for a function, in and out; a part of the cores;
  // the service core.
  localparam int unsigned DMA_OUT_PORT = MAX_FUNCTIONS;
  localparam int unsigned COMPUTE_PORT = 2 * MAX_FUNCTIONS;
  localparam int unsigned PREPARE_PORT = COMPUTE_PORT + MAX_PARTITIONS;
  localparam int unsigned PORTS = PREPARE_PORT + 1;
  localparam int unsigned PORT_BITS = $clog2(PORTS);
  localparam int unsigned COST_BITS = 17;
  // A CRC takes 64 bits a cycle; the last step has 32, as the CRC itself is not part of it.
  localparam int unsigned CRC_STEPS = ENTRY_BITS / 64;
  localparam int unsigned CRC_STEP_BITS = $clog2(CRC_STEPS);

  typedef logic [FUNCTION_BITS-1:0] function_t;
  typedef logic [SLOT_BITS-1:0] slot_t;
  typedef logic [SLOT_BITS:0] held_t;  // a count of operations
  typedef logic [PORT_BITS-1:0] port_t;
  typedef logic [$clog2(MAX_PARTITIONS+1)-1:0] programs_t;  // a count of them
  typedef logic [COST_BITS-1:0] cost_t;  // of a function's time: 65536 / weight

  // Where a held operation lies in the tables.
  typedef struct packed {
    function_t function_;
    slot_t slot;
  } node_t;
  localparam int unsigned NODES = 1 << $bits(node_t);

  typedef enum logic [2:0] {
    ENGINE_DMA_IN,
    ENGINE_DMA_OUT,
    ENGINE_COMPUTE,
    ENGINE_PREPARE,  // a COMPUTE on the service core; serial hardware has none
    ENGINE_NONE      // done by the control processor itself
  } engine_e;

  // `value` of an event operation: the slot, and where its counter has to be.
  localparam int unsigned EVENT_BITS = $clog2(EVENT_SLOTS);
  typedef struct packed {
    logic [63-EVENT_BITS:0] counter;
    logic [EVENT_BITS-1:0] slot;
  } event_t;

  // What software and the card do to one function's queue, one bit a kind, at most one kind a cycle.
  typedef struct packed {
    logic set_queue;
    logic doorbell;
    logic cancel_doorbell;
    logic consumed;
    logic clear_error;
    logic reset;
    function_t function_;
    logic [63:0] submission_base;  // set_queue
    logic [31:0] submission_entries;
    logic [63:0] response_base;
    logic [31:0] response_entries;
    logic enabled;
    logic [31:0] index;    // doorbell: tail; consumed: response head
    logic [63:0] time_ps;  // doorbell: its arrival
  } command_t;

  // Rings of one function.
  typedef struct packed {
    logic [63:0] submission_base;
    logic [31:0] submission_entries;
    logic [63:0] response_base;
    logic [31:0] response_entries;
    logic [31:0] tail;       // of the doorbell at hand
    logic [63:0] queued_ps;  // its arrival
    logic [31:0] response_head;
    logic [63:0] fetched;    // entries accepted in this life; the low half is SQ_HEAD
    logic [31:0] posted;     // responses, RQ_TAIL
    held_t held;
    logic [15:0] error;      // status_e; 0 none
  } queue_t;

  // An operation from its acceptance to its response.
  typedef struct packed {
    logic [7:0] opcode;
    logic [15:0] flags;
    logic [31:0] stream;
    logic [63:0] value;
    logic [63:0] number;  // its sequence number as it should be
    logic [63:0] correlation;
    logic [63:0] queued_ps;
    logic [63:0] fetched_ps;
    logic [15:0] status;  // of the entry; not OK: refused
    logic [63:0] fault_address;
    engine_e engine;
  } operation_t;

  // How it went.
  typedef struct packed {
    logic [63:0] started_ps;
    logic [63:0] finished_ps;
    logic [15:0] status;
    logic [63:0] fault_address;
    logic [15:0] fault_core;
    logic [63:0] bytes_read;
    logic [63:0] bytes_written;
    logic [63:0] macs;
  } outcome_t;

  function automatic logic [31:0] crc_bits(logic [31:0] crc, logic [31:0] data);
    logic [31:0] c;
    c = crc ^ data;
    for (int i = 0; i < 32; ++i) c = (c >> 1) ^ (c[0] ? CRC32C_POLYNOMIAL : 32'd0);
    return c;
  endfunction

  // The CRC after step `step` of CRC_STEPS over an entry: 64 bits each, of the last the first half, behind which the
  // CRC itself stands.
  function automatic logic [31:0] crc_step(logic [31:0] crc, logic [ENTRY_BITS-1:0] entry, logic [CRC_STEP_BITS-1:0] step);
    logic [63:0] data;
    logic [31:0] half;
    data = entry[64*32'(step)+:64];
    half = crc_bits(crc, data[31:0]);
    return step == '1 ? half : crc_bits(half, data[63:32]);
  endfunction

  // Entries of a ring: a power of two, 2 to 65536.
  function automatic logic valid_entries(logic [31:0] entries);
    return entries >= 2 && entries <= 65536 && (entries & (entries - 1)) == 0;
  endfunction

  function automatic logic is_stick_aligned(logic [63:0] address);
    return address % 64'(ENTRY_BYTES) == 0;
  endfunction

  function automatic engine_e engine_of(logic [7:0] opcode, logic prepare);
    case (opcode)
      OPCODE_DMA_IN, OPCODE_DMA_FILL: return ENGINE_DMA_IN;
      OPCODE_DMA_OUT: return ENGINE_DMA_OUT;
      OPCODE_COMPUTE: return prepare ? ENGINE_PREPARE : ENGINE_COMPUTE;
      default: return ENGINE_NONE;
    endcase
  endfunction

  // Of a function in the DMA engine.
  function automatic port_t in_port(function_t function_);
    return port_t'(function_);
  endfunction
  function automatic port_t out_port(function_t function_);
    return port_t'(DMA_OUT_PORT + 32'(function_));
  endfunction

  function automatic logic stands_before(logic [63:0] turn, logic [63:0] other);
    return $signed(turn - other) < 0;
  endfunction

  function automatic logic is_defined(logic [7:0] opcode);
    case (opcode)
      OPCODE_NOP, OPCODE_DMA_IN, OPCODE_DMA_OUT, OPCODE_DMA_FILL, OPCODE_COMPUTE, OPCODE_FENCE,
      OPCODE_EVENT_SIGNAL, OPCODE_EVENT_WAIT, OPCODE_TIMESTAMP: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  // Byte offset of the field, of whole bytes, whose bits are the only ones set in `ones`.
  function automatic logic [63:0] offset_of(logic [ENTRY_BITS-1:0] ones);
    for (int unsigned i = 0; i < ENTRY_BYTES; ++i) if (ones[8*i]) return 64'(i);
    return 64'd0;
  endfunction

  typedef struct packed {
    logic [15:0] status;
    logic [63:0] fault_address;
  } verdict_t;

  // Number of the lowest bit that is set.
  function automatic logic [5:0] lowest(logic [63:0] bits);
    logic [63:0] one;
    one = bits & -bits;
    return {
      |(one & 64'hFFFFFFFF_00000000), |(one & 64'hFFFF0000_FFFF0000), |(one & 64'hFF00FF00_FF00FF00),
      |(one & 64'hF0F0F0F0_F0F0F0F0), |(one & 64'hCCCCCCCC_CCCCCCCC), |(one & 64'hAAAAAAAA_AAAAAAAA)
    };
  endfunction

  localparam control_block_t AT_FLAGS = '{flags: '1, default: '0};
  localparam control_block_t AT_FUNCTION = '{function_: '1, default: '0};
  localparam control_block_t AT_RESERVED0 = '{reserved0: '1, default: '0};
  localparam control_block_t AT_RESERVED1 = '{reserved1: '1, default: '0};
  localparam logic [63:0] FLAGS_OFFSET = offset_of(AT_FLAGS);
  localparam logic [63:0] FUNCTION_OFFSET = offset_of(AT_FUNCTION);
  localparam logic [63:0] RESERVED0_OFFSET = offset_of(AT_RESERVED0);
  localparam logic [63:0] RESERVED1_OFFSET = offset_of(AT_RESERVED1);
  localparam logic [15:0] DEFINED_FLAGS = FLAG_INTERRUPT | FLAG_BARRIER | FLAG_TIMING_ONLY | FLAG_PREPARE;

  // A control block of the PF, given whether its CRC is right.
  // The fields of the operation itself may have any value.
  // verilator lint_off UNUSEDSIGNAL
  function automatic verdict_t check_control_block(control_block_t block, logic crc_good);
  // verilator lint_on UNUSEDSIGNAL
    verdict_t verdict;
    verdict = '{status: STATUS_OK, fault_address: '0};
    if (block.magic != CONTROL_BLOCK_MAGIC || block.version != LAYOUT_VERSION) begin
      verdict.status = STATUS_BAD_VERSION;
    end else if (!crc_good) begin
      verdict.status = STATUS_BAD_CRC;
    end else if (!is_defined(block.opcode)) begin
      verdict.status = STATUS_BAD_OPCODE;
    end else if ((block.flags & ~DEFINED_FLAGS) != 0) begin
      verdict = '{status: STATUS_BAD_FIELD, fault_address: FLAGS_OFFSET};
    end else if (block.reserved0 != 0) begin
      verdict = '{status: STATUS_BAD_FIELD, fault_address: RESERVED0_OFFSET};
    end else if (block.reserved1 != 0) begin
      verdict = '{status: STATUS_BAD_FIELD, fault_address: RESERVED1_OFFSET};
      for (int i = 8; i >= 0; --i) begin
        if (block.reserved1[i] != 0) verdict.fault_address = RESERVED1_OFFSET + 64'(4 * i);
      end
    end else if (block.function_ != 0) begin
      verdict = '{status: STATUS_BAD_FIELD, fault_address: FUNCTION_OFFSET};
    end
    return verdict;
  endfunction

endpackage
