// SPDX-License-Identifier: Apache-2.0
// The one table of the card's parameters: unit, allowed range, what each means, and where its
// default comes from. The TOML reader, the effective-config dump and docs/configuration.md all walk
// it.
#pragma once

#include <string>
#include <vector>

#include "model/common/card_config.h"
#include "model/parameters/management_description.h"
#include "model/parameters/pcie_description.h"
#include "model/parameters/power_description.h"

namespace spyre::model {

// Visitor needs:
//   void Number(key, uint64_t& value, uint64_t min, uint64_t max, unit, description, source)
//   void Path(key, std::string& value, description)
//   void Text(key, std::string& value, description)
//   void Choice(key, std::string& value, const std::vector<std::string>& allowed, description,
//   source)
// Keys are relative to [card]. source: "public" (a documented or measured fact, docs/facts.md),
// "derived" (arithmetic on public facts), "JEDEC" (LPDDR5 standard), "fit" (to the public
// calibration; the description says to what), or "assumed" (not public; the description says why
// this value).
template <class Visitor>
void DescribeCard(CardConfig& c, Visitor& v) {
  v.Number("cores", c.cores, 1, 32, "cores", "AI cores present", "public");
  v.Number("num_vfs", c.num_vfs, 1, 16, "functions",
           "Virtual functions that the card has (TotalVFs), all enabled in VF mode; the Kubernetes "
           "operator creates 2",
           "public");
  v.Choice(
      "fidelity", c.fidelity, {"timed", "functional", "fast"},
      "timed: requests wait for each other on every shared resource; functional: latencies only; "
      "fast: as timed, but launches of times only are simulated until they repeat themselves, "
      "and launches of a program that was simulated before take the time that it took",
      "assumed");
  v.Choice("concurrency", c.concurrency, {"serial", "pipelined", "concurrent"},
           "serial: one control block at a time (today's hardware); pipelined: DMA in, compute, "
           "prepare and DMA out of different streams overlap; concurrent: that, and programs that "
           "need different partitions of the cores run side by side",
           "public");
  v.Number("partitions", c.partitions, 1, 8, "partitions",
           "concurrent: equal parts of the cores, of which a program takes as many as it needs; "
           "divides card.cores. Two kernels of 16 cores are the public example of what does not "
           "overlap on today's hardware",
           "assumed");

  v.Number("clock.core_mhz", c.clock.core_mhz, 1, 10000, "MHz",
           "Core clock; public figures range from 1.0 to 1.5 GHz", "assumed");
  v.Number("clock.ring_mhz", c.clock.ring_mhz, 1, 10000, "MHz",
           "Ring and memory-interface clock; 1.3 GHz in the same source as the 1.1 GHz core clock",
           "assumed");

  v.Number("core.lx_bytes", c.core.lx_bytes, 128 << 10, 2ull << 20, "bytes",
           "LX scratchpad of a core; programs can address 2 MiB", "public");
  v.Number("core.lx_reserved_bytes", c.core.lx_reserved_bytes, 64 << 10, 1ull << 20, "bytes",
           "Part of LX kept for program and debug data; bounds the program image", "public");
  v.Number("core.lx_port_bytes_per_cycle", c.core.lx_port_bytes_per_cycle, 1, 4096, "bytes/cycle",
           "LX port, all units together; public figures are 128 a core and 128 a corelet, and a "
           "pointwise kernel on one core needs more than 128",
           "fit");
  v.Number("core.outstanding_loads", c.core.outstanding_loads, 1, 256, "bursts",
           "Unicast loads a core may have in flight", "public");
  v.Number(
      "core.outstanding_multicasts", c.core.outstanding_multicasts, 1, 256, "bursts",
      "Multicast loads a core may have in flight; the public limit of 4 is for unicast, this is "
      "enough to hide the wait for the group",
      "assumed");
  v.Number("core.outstanding_stores", c.core.outstanding_stores, 1, 256, "bursts",
           "Stores a core may have in flight; taken equal to loads", "assumed");
  v.Number("core.corelets", c.core.corelets, 1, 8, "corelets", "Corelets of a core, sharing LX",
           "public");
  v.Number("core.pt_macs_per_cycle", c.core.pt_macs_per_cycle, 1, 65536, "MAC/cycle",
           "fp16 multiply-accumulates of one corelet's PT array: 8 x 8 elements x 8 lanes",
           "derived");
  v.Number("core.pt_block_load_cycles", c.core.pt_block_load_cycles, 0, 4096, "cycles",
           "Loading one weight block (64 sticks: 64 k x one stick of columns) into a PT array; "
           "overlaps the previous block's rows",
           "assumed");
  v.Number("core.pt_fill_drain_cycles", c.core.pt_fill_drain_cycles, 0, 4096, "cycles",
           "Filling and draining the array once per MATMUL: 8 + 8 elements deep plus the 4-cycle "
           "accumulate",
           "derived");
  v.Number("core.pt_accumulate_cycles", c.core.pt_accumulate_cycles, 1, 256, "cycles",
           "Until a sum in the array can be added to again; fewer rows than this leave it waiting",
           "assumed");
  v.Number("core.pt_accumulate_int_cycles", c.core.pt_accumulate_int_cycles, 1, 256, "cycles",
           "The same for SENINT8 and SENINT4", "assumed");
  v.Number("core.pt_rate_fp8", c.core.pt_rate_fp8, 1, 64, "x fp16",
           "Multiply-accumulates of SEN143_FP8 and SEN152_FP8 in a cycle, relative to fp16; the "
           "public figures of an ancestor chip at 4 cores give the same 2",
           "derived");
  v.Number("core.pt_rate_int8", c.core.pt_rate_int8, 1, 64, "x fp16",
           "The same for SENINT8; fits the card's public 300 TOPS from 1.15 GHz on", "assumed");
  v.Number("core.pt_rate_int4", c.core.pt_rate_int4, 1, 64, "x fp16",
           "The same for SENINT4; as on the ancestor chip", "derived");
  v.Number("core.vector_lanes", c.core.vector_lanes, 1, 4096, "elements/cycle",
           "fp16 lanes of one corelet's vector unit", "assumed");
  v.Number("core.vector_startup_cycles", c.core.vector_startup_cycles, 0, 4096, "cycles",
           "Pipeline start of one vector instruction; depth is not public", "assumed");
  v.Number("core.vector_simple_cost", c.core.vector_simple_cost, 1, 64, "passes",
           "Passes of add, multiply, compare, select, copy, floor, rounding and format conversion",
           "assumed");
  v.Number("core.vector_function_cost", c.core.vector_function_cost, 1, 64, "passes",
           "Passes of exp, log, gelu, silu, mish, softplus, sigmoid, tanh, sqrt, rsqrt, reciprocal "
           "and divide; a public simulator guesses 4",
           "assumed");
  v.Number(
      "core.vector_reduce_cost", c.core.vector_reduce_cost, 1, 64, "passes",
      "Passes of a reduction across the lanes of a stick; a fit to row reductions on one to four "
      "cores, about 16 GB/s a core; along rows it is a simple operation",
      "fit");
  v.Number(
      "core.vector_reduce_row_cycles", c.core.vector_reduce_row_cycles, 0, 10000, "cycles",
      "Rounding the result of such a reduction into one lane, each row: as long as a tree over "
      "64 lanes of six dependent steps, none of which hides another. A fit to row reductions "
      "of short and long rows on one core",
      "fit");
  v.Number("core.vector_transpose_cost", c.core.vector_transpose_cost, 1, 64, "passes",
           "Passes of a stick transpose, 64 sticks in and out; not public; at 2 it keeps pace with "
           "the LX port, and the public 116 GB/s of restickify through memory stay memory's",
           "assumed");
  v.Number("core.token_cycles", c.core.token_cycles, 0, 1024, "cycles",
           "From giving a token to a waiting unit going on", "assumed");
  v.Number("core.barrier_cycles", c.core.barrier_cycles, 0, 65536, "cycles",
           "From the last arrival at a barrier to release: about one trip round the ring",
           "assumed");
  v.Number("core.quantum_ns", c.core.quantum_ns, 1, 100000, "ns",
           "How far a unit may run ahead of the kernel between token operations; bounds reordering "
           "on the LX port",
           "assumed");

  v.Number("ring.bytes_per_cycle", c.ring.bytes_per_cycle, 1, 4096, "bytes/cycle",
           "Data ring, each direction", "public");
  v.Number("ring.psum_bytes_per_cycle", c.ring.psum_bytes_per_cycle, 1, 4096, "bytes/cycle",
           "Partial-sum ring, each direction", "assumed");
  v.Number("ring.hop_cycles", c.ring.hop_cycles, 0, 64, "cycles",
           "From one stop to the next; not public", "assumed");
  v.Number(
      "ring.link_percent", c.ring.link_percent, 1, 100, "%",
      "Share of a link's cycles that carry data, the rest are headers, credits and gaps; a fit "
      "to row reductions on 8 and 16 cores (which use one side of the ring) and to pointwise "
      "kernels with two inputs on few cores",
      "fit");
  v.Number("ring.detour_ns", c.ring.detour_ns, 0, 1000000, "ns",
           "Writes go the longer way round when it brings them to memory this much earlier; not "
           "public, about ten bursts",
           "assumed");
  v.Number("ring.retry_cycles", c.ring.retry_cycles, 0, 1000000, "cycles",
           "How much longer a link is busy with a transfer that it must send again, beside sending "
           "it: the receiver's answer on its way back; not public",
           "assumed");
  v.Number("ring.multicast_cohort", c.ring.multicast_cohort, 1, 32, "cores",
           "Members that a multicast serves at full rate", "public");
  v.Number(
      "ring.multicast_exponent_percent", c.ring.multicast_exponent_percent, 0, 400, "%",
      "Larger groups take (members / cohort) to this power longer on each link; the public cost "
      "model charges it on all traffic of the kernel",
      "public");

  v.Number("memory.capacity_gib", c.memory.capacity_gib, 1, 1024, "GiB", "LPDDR5 on the card",
           "public");
  v.Number("memory.ecc_gib", c.memory.ecc_gib, 0, 512, "GiB", "Part of it taken by in-line ECC",
           "public");
  v.Choice("memory.ecc", c.memory.ecc, {"inline", "none"},
           "inline: check bytes lie in the row of their data and pass the same bus; none: they are "
           "free. The public 16 of 128 GB speak for inline",
           "assumed");
  v.Number("memory.ecc_granule_bytes", c.memory.ecc_granule_bytes, 32, 4096, "bytes",
           "Data that one burst of check bytes covers: 256 with 32-byte bursts fills a 2 KiB row "
           "with 7 granules, the public 7/8",
           "derived");
  v.Number("memory.ecc_word_bytes", c.memory.ecc_word_bytes, 32, 4096, "bytes",
           "Data that is passed together with one burst of its check bytes: the public 128-byte "
           "word of the memory interface. With it reads reach the public 150 GB/s; whole granules "
           "of 256 bytes would reach 166",
           "assumed");
  v.Choice("memory.ecc_partial_write", c.memory.ecc_partial_write, {"read_first", "masked"},
           "A write of part of a granule changes part of its check bytes. read_first: the "
           "controller reads the old ones first; masked: it writes only the new ones. Not public; "
           "with read_first the sticks that long row reductions write one by one cost what the "
           "calibration charges for rows",
           "fit");
  v.Number("memory.ecc_correction_ns", c.memory.ecc_correction_ns, 0, 1000000, "ns",
           "How much longer a read takes whose single wrong bit is corrected: the word is decoded "
           "again and written back; not public, some cycles of a controller",
           "assumed");
  v.Flag("memory.ecc_scrub", c.memory.ecc_scrub,
         "A word that was corrected is written back, so that the next read finds it right",
         "assumed");
  v.Number("memory.channels", c.memory.channels, 1, 64, "channels",
           "16 x 16 bit x 6400 MT/s is the compiler's 204.8 GB/s", "derived");
  v.Number("memory.channel_bits", c.memory.channel_bits, 8, 64, "bits", "Width of a channel",
           "derived");
  v.Number("memory.transfer_mts", c.memory.transfer_mts, 100, 20000, "MT/s", "LPDDR5-6400",
           "derived");
  v.Number("memory.burst_length", c.memory.burst_length, 8, 64, "transfers",
           "Transfers of one column command; a burst fills the bus for tCCD_S", "JEDEC");
  v.Number("memory.clock_ps", c.memory.clock_ps, 1, 100000, "ps",
           "tCK, 800 MHz; commands start on it", "JEDEC");
  v.Number("memory.interleave_bytes", c.memory.interleave_bytes, 32, 65536, "bytes",
           "Consecutive bytes on one channel; 256 spreads a 4 KiB burst over all 16", "assumed");
  v.Number("memory.bank_groups", c.memory.bank_groups, 1, 8, "groups",
           "Bank groups of a channel, a power of two", "JEDEC");
  v.Number("memory.banks_per_group", c.memory.banks_per_group, 1, 8, "banks",
           "Banks of a group, a power of two", "JEDEC");
  v.Number("memory.page_bytes", c.memory.page_bytes, 256, 65536, "bytes",
           "Row of a bank, check bytes included", "JEDEC");
  v.Choice("memory.bank_mapping", c.memory.bank_mapping,
           {"row_bank_column", "group_interleave", "hash"},
           "row_bank_column: a row is filled before the next bank; group_interleave: blocks of "
           "interleave_bytes rotate over the bank groups; hash: that, and row bits permute the "
           "banks, so that power-of-two strides do not all meet one bank. Not public",
           "assumed");
  v.Number("memory.read_latency_ps", c.memory.read_latency_ps, 0, 1000000, "ps", "RL, 17 cycles",
           "JEDEC");
  v.Number("memory.write_latency_ps", c.memory.write_latency_ps, 0, 1000000, "ps", "WL, 9 cycles",
           "JEDEC");
  v.Number("memory.t_rcd_ps", c.memory.t_rcd_ps, 0, 1000000, "ps",
           "tRCD, activate to column command", "JEDEC");
  v.Number("memory.t_rp_pb_ps", c.memory.t_rp_pb_ps, 0, 1000000, "ps",
           "tRPpb, precharge of one bank to activate", "JEDEC");
  v.Number("memory.t_rp_ab_ps", c.memory.t_rp_ab_ps, 0, 1000000, "ps",
           "tRPab, precharge of all banks to refresh", "JEDEC");
  v.Number("memory.t_ras_ps", c.memory.t_ras_ps, 0, 1000000, "ps", "tRAS, activate to precharge",
           "JEDEC");
  v.Number("memory.t_rc_ps", c.memory.t_rc_ps, 0, 1000000, "ps",
           "tRC, activate to activate of a bank", "JEDEC");
  v.Number("memory.t_ccd_l_ps", c.memory.t_ccd_l_ps, 0, 1000000, "ps",
           "tCCD_L, column to column command in a bank group; one burst (no bank groups) or two",
           "JEDEC");
  v.Number("memory.t_rrd_ps", c.memory.t_rrd_ps, 0, 1000000, "ps",
           "tRRD, activate to activate of different banks", "JEDEC");
  v.Number("memory.t_faw_ps", c.memory.t_faw_ps, 0, 1000000, "ps",
           "tFAW, at most four activates in this time", "JEDEC");
  v.Number("memory.t_wr_ps", c.memory.t_wr_ps, 0, 1000000, "ps",
           "tWR, last write data to precharge", "JEDEC");
  v.Number("memory.t_wtr_s_ps", c.memory.t_wtr_s_ps, 0, 1000000, "ps",
           "tWTR_S, last write data to read in another bank group", "JEDEC");
  v.Number("memory.t_wtr_l_ps", c.memory.t_wtr_l_ps, 0, 1000000, "ps",
           "tWTR_L, last write data to read in the same bank group", "JEDEC");
  v.Number("memory.t_rtp_ps", c.memory.t_rtp_ps, 0, 1000000, "ps", "tRTP, read to precharge",
           "JEDEC");
  v.Number(
      "memory.t_rtw_gap_ps", c.memory.t_rtw_gap_ps, 0, 1000000, "ps",
      "Free bus between read data and write data; two clocks would do, this and the thresholds "
      "below are a fit to pointwise kernels with one and with two inputs",
      "fit");
  v.Choice("memory.refresh", c.memory.refresh, {"all_bank", "per_bank", "none"},
           "all_bank: the channel stops for tRFCab every tREFI; per_bank: pairs of banks in turn; "
           "which one Spyre uses is not public",
           "assumed");
  v.Number("memory.t_refi_ps", c.memory.t_refi_ps, 1000, 1000000000, "ps", "tREFI", "JEDEC");
  v.Number("memory.t_rfc_ab_ps", c.memory.t_rfc_ab_ps, 0, 10000000, "ps", "tRFCab, 16 Gb die",
           "JEDEC");
  v.Number("memory.t_rfc_pb_ps", c.memory.t_rfc_pb_ps, 0, 10000000, "ps", "tRFCpb, 16 Gb die",
           "JEDEC");
  v.Number("memory.t_pbr2pbr_ps", c.memory.t_pbr2pbr_ps, 0, 1000000, "ps",
           "tpbR2pbR, per-bank refresh to the next", "JEDEC");
  v.Number("memory.t_pbr2act_ps", c.memory.t_pbr2act_ps, 0, 1000000, "ps",
           "tpbR2ACT, per-bank refresh to activate of another bank", "JEDEC");
  v.Number("memory.read_queue", c.memory.read_queue, 1, 256, "requests",
           "Reads that a channel chooses among", "assumed");
  v.Number("memory.write_queue", c.memory.write_queue, 1, 256, "requests",
           "Writes that a channel holds", "assumed");
  v.Number("memory.write_high", c.memory.write_high, 1, 256, "requests",
           "Held writes at which the bus turns to writes", "fit");
  v.Number("memory.write_low", c.memory.write_low, 0, 255, "requests",
           "Held writes at which it turns back to waiting reads; a turn takes at most write_high - "
           "write_low writes. With 3 a turn, balanced streams run near the public 105 GB/s",
           "fit");
  v.Number(
      "memory.reads_per_turn", c.memory.reads_per_turn, 1, 256, "requests",
      "Reads that go, if they wait, before the bus turns to writes again. Two for each write "
      "of a turn, as in kernels with two inputs; with fewer, such kernels on few cores wait for "
      "reads",
      "fit");
  v.Number("memory.write_idle_ns", c.memory.write_idle_ns, 0, 100000, "ns",
           "Without reads for this long, held writes go below write_high too", "assumed");
  v.Number("memory.starvation_ns", c.memory.starvation_ns, 0, 1000000, "ns",
           "A request that waited longer goes before younger row hits", "assumed");
  v.Number("memory.controller_ns", c.memory.controller_ns, 0, 10000, "ns",
           "Memory interface, controller and PHY, each access; not public, fits kernels that few "
           "requests in flight hold back",
           "fit");

  DescribePcie(c.pcie, v);

  v.Number("dma.channels", c.dma.channels, 1, 64, "channels",
           "Channels of the DMA engine, each way; number not public", "assumed");
  v.Number("dma.outstanding_per_channel", c.dma.outstanding_per_channel, 1, 256, "requests",
           "Read requests in flight per channel: 4 x 16 x 4 KiB covers the round trip", "assumed");
  v.Number("dma.setup_ns", c.dma.setup_ns, 0, 100000, "ns", "Descriptor set-up of one operation",
           "assumed");

  v.Number("control.fetch_batch", c.control.fetch_batch, 1, 32, "entries",
           "Ring entries read in one PCIe request", "assumed");
  v.Number("control.decode_ns", c.control.decode_ns, 0, 100000, "ns",
           "CRC check and decode of an entry", "assumed");
  v.Number("control.dispatch_ns", c.control.dispatch_ns, 0, 100000, "ns",
           "Starting an operation on its engine", "assumed");
  v.Number("control.respond_ns", c.control.respond_ns, 0, 100000, "ns", "Building a response",
           "assumed");
  v.Number("control.operation_limit_us", c.control.operation_limit_us, 0, 4'000'000'000, "us",
           "Operations that run longer are stopped and answer TIMED_OUT, unless the PF has given "
           "their function a limit of its own; of a DMA, the time without progress; 0: no limit. "
           "Not public; a thousand times what the longest kernels of public models take",
           "assumed");
  v.Choice("control.fidelity", c.control.fidelity, {"timed", "rtl"},
           "Control-block processor: a timed model, or its RTL (model/rtl/control)", "assumed");
  v.Number("control.clock_mhz", c.control.clock_mhz, 1, 10000, "MHz",
           "RTL: clock of the control-block processor; not public, in the range of the core clock",
           "assumed");

  DescribeManagement(c.management, v);
  DescribePower(c.power, v);
  DescribeVpd(c.vpd, v);

  v.Choice("pt.fidelity", c.pt.fidelity, {"timed", "rtl"},
           "PT arrays: a timed model, or for the cores of rtl_cores the RTL of a corelet's array "
           "(model/rtl/pt), which computes SEN169_FP16 products lane by lane; the numbers are the "
           "same bits",
           "assumed");
  v.Number("pt.rtl_cores", c.pt.rtl_cores, 0, 0xFFFFFFFF, "mask",
           "Cores whose PT arrays are RTL, bit i for core i", "assumed");

  v.Number("fast.tolerance_percent", c.fast.tolerance_percent, 0, 100, "%",
           "fast: how far spans of a launch may differ that are taken to repeat each other",
           "assumed");
  v.Number("fast.steady_us", c.fast.steady_us, 1, 1000000, "us",
           "fast: the shortest of such spans, some refreshes of the memory; shorter launches are "
           "simulated whole",
           "assumed");
  v.Number("fast.samples", c.fast.samples, 1, 1000, "launches",
           "fast: launches of a program that are simulated before others repeat their mean time",
           "assumed");
  v.Number("fast.error_percent", c.fast.error_percent, 0, 100, "%",
           "fast: how far from timed a kernel's time may be, as reports say it; the largest error "
           "that calibrate finds, rounded up",
           "assumed");

  v.Number("mmu.map_entries", c.mmu.map_entries, 1, 1u << 24, "entries", "Mapping table of the PF",
           "assumed");
  v.Number("mmu.translate_cycles", c.mmu.translate_cycles, 0, 1024, "cycles",
           "Segment look-up of a core access", "assumed");
}

}  // namespace spyre::model
