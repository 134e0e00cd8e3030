// SPDX-License-Identifier: Apache-2.0
// The management controller: core, SRAM, timer, and a bus to the registers outside. Addresses: spyre_pkg.
//
// Bus: `bus_valid` with address, write and wdata stable until a clock edge with `bus_ready`; rdata and error are
// sampled at that edge. mtime counts outside, so that it goes on while the clock stands still. rv32_core says what the
// debugger's ports do.
module controller (
  input  logic        clk,
  input  logic        reset,
  input  logic [31:0] start_pc,
  input  logic [63:0] mtime,
  output logic [63:0] mtimecmp,
  input  logic        external_interrupt,

  output logic        bus_valid,
  output logic        bus_write,
  output logic [31:0] bus_address,
  output logic [31:0] bus_wdata,
  input  logic        bus_ready,
  input  logic        bus_error,
  input  logic [31:0] bus_rdata,

  output logic        fetching,
  output logic        boundary,
  output logic        sleeping,
  output logic        asleep,
  output logic        retire,
  output logic [31:0] pc,

  input  logic        jump,
  input  logic        set_register,
  input  logic [4:0]  register_number,
  input  logic [31:0] register_value,
  input  logic        csr_read,
  input  logic [11:0] csr_number,
  output logic [31:0] csr_value,
  output logic        csr_found
);

  localparam int unsigned SRAM_WORDS = spyre_pkg::CONTROLLER_SRAM_BYTES / 4;
  localparam int unsigned SRAM_BITS = $clog2(SRAM_WORDS);

  logic        sram_enable, core_valid, core_ready, core_error, timer_interrupt, timer_error, to_timer, to_bus;
  logic [3:0]  sram_strobes;
  logic [31:0] sram_address, sram_wdata, sram_rdata, core_rdata, timer_rdata;

  rv32_core #(
    .SRAM_BASE(spyre_pkg::CONTROLLER_SRAM_BASE), .SRAM_BYTES(spyre_pkg::CONTROLLER_SRAM_BYTES)
  ) core (
    .clk, .reset, .start_pc, .jump, .sram_enable, .sram_strobes, .sram_address, .sram_wdata, .sram_rdata,
    .bus_valid(core_valid), .bus_write, .bus_address, .bus_wdata, .bus_ready(core_ready), .bus_error(core_error),
    .bus_rdata(core_rdata), .timer_interrupt, .external_interrupt, .mtime, .fetching, .boundary, .sleeping,
    .asleep, .retire, .pc, .set_register, .register_number, .register_value, .csr_read, .csr_number, .csr_value,
    .csr_found);

  rv32_sram #(.WORDS(SRAM_WORDS)) sram (.clk, .enable(sram_enable), .strobes(sram_strobes),
      .address(sram_address[SRAM_BITS+1:2]), .wdata(sram_wdata), .rdata(sram_rdata));

  rv32_timer timer (.clk, .reset, .valid(core_valid && to_timer), .write(bus_write), .offset(bus_address[15:0]),
      .wdata(bus_wdata), .rdata(timer_rdata), .error(timer_error), .mtime, .mtimecmp, .interrupt(timer_interrupt));

  // The registers of the controller's own bus share the top four bits of their addresses.
  always_comb begin
    to_timer = bus_address[31:16] == spyre_pkg::CONTROLLER_CLINT_BASE[31:16];
    to_bus = bus_address[31:28] == spyre_pkg::REG_MC_STATE[31:28];
    bus_valid = core_valid && to_bus;
    core_ready = to_bus ? bus_ready : 1'b1;
    core_rdata = to_bus ? bus_rdata : timer_rdata;
    if (to_bus) core_error = bus_error;
    else core_error = to_timer ? timer_error : 1'b1;
  end

  assert property (@(posedge clk) disable iff (reset || jump)
                   bus_valid && !bus_ready |=> bus_valid && $stable({bus_write, bus_address, bus_wdata}))
  else $error("an access has changed that was not answered");
  assert property (@(posedge clk) disable iff (reset) bus_ready |-> bus_valid)
  else $error("an answer to no access");

  logic unused_bits;
  assign unused_bits = &{1'b0, sram_address[31:SRAM_BITS+2], sram_address[1:0]};

endmodule
