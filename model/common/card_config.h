// SPDX-License-Identifier: Apache-2.0
// Every parameter of the card, with its default. Units, ranges, meanings and sources are in
// card_description.h. Plain data; a card copies its configuration at construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/common/fault_spec.h"

namespace spyre::model {

// Choices. The enumerators stand in the order of their names in card_description.h.
enum class Fidelity : uint8_t { kTimed, kFunctional, kFast };
enum class Concurrency : uint8_t { kSerial, kPipelined, kConcurrent };
enum class BlockFidelity : uint8_t { kTimed, kRtl };
enum class ManagementFidelity : uint8_t { kBehavioural, kRtl };
enum class Ecc : uint8_t { kInline, kNone };
enum class EccPartialWrite : uint8_t { kReadFirst, kMasked };
enum class BankMapping : uint8_t { kRowBankColumn, kGroupInterleave, kHash };
enum class RefreshKind : uint8_t { kAllBank, kPerBank, kNone };
enum class Throttle : uint8_t { kNone, kClock };

struct ClockConfig {
  uint64_t core_mhz = 1100;
  uint64_t ring_mhz = 1300;
};
struct CoreConfig {
  uint64_t lx_bytes = 2ull << 20;
  uint64_t lx_reserved_bytes = 64ull << 10;
  uint64_t lx_port_bytes_per_cycle = 256;
  uint64_t outstanding_loads = 4;
  uint64_t outstanding_multicasts = 8;
  uint64_t outstanding_stores = 4;
  uint64_t corelets = 2;
  uint64_t pt_macs_per_cycle = 512;
  uint64_t pt_block_load_cycles = 64;
  uint64_t pt_fill_drain_cycles = 20;
  uint64_t pt_accumulate_cycles = 4;
  uint64_t pt_accumulate_int_cycles = 2;
  uint64_t pt_rate_fp8 = 2;
  uint64_t pt_rate_int8 = 4;
  uint64_t pt_rate_int4 = 8;
  uint64_t vector_lanes = 64;
  uint64_t vector_startup_cycles = 12;
  uint64_t vector_simple_cost = 1;
  uint64_t vector_function_cost = 4;
  uint64_t vector_reduce_cost = 16;
  uint64_t vector_reduce_row_cycles = 50;
  uint64_t vector_transpose_cost = 2;
  uint64_t token_cycles = 2;
  uint64_t barrier_cycles = 64;
  uint64_t quantum_ns = 1000;
};
struct RingConfig {
  uint64_t bytes_per_cycle = 128;
  uint64_t psum_bytes_per_cycle = 32;
  uint64_t hop_cycles = 2;
  uint64_t link_percent = 52;
  uint64_t detour_ns = 500;
  uint64_t retry_cycles = 32;
  uint64_t multicast_cohort = 8;
  uint64_t multicast_exponent_percent = 75;
};
struct MemoryConfig {
  uint64_t capacity_gib = 128;
  uint64_t ecc_gib = 16;
  Ecc ecc = Ecc::kInline;
  uint64_t ecc_granule_bytes = 256;
  uint64_t ecc_word_bytes = 128;
  EccPartialWrite ecc_partial_write = EccPartialWrite::kReadFirst;
  uint64_t ecc_correction_ns = 20;
  bool ecc_scrub = true;
  uint64_t channels = 16;
  uint64_t channel_bits = 16;
  uint64_t transfer_mts = 6400;
  uint64_t burst_length = 16;
  uint64_t clock_ps = 1250;
  uint64_t interleave_bytes = 256;
  uint64_t bank_groups = 4;
  uint64_t banks_per_group = 4;
  uint64_t page_bytes = 2048;
  BankMapping bank_mapping = BankMapping::kHash;
  uint64_t read_latency_ps = 21250;
  uint64_t write_latency_ps = 11250;
  uint64_t t_rcd_ps = 18750;
  uint64_t t_rp_pb_ps = 18750;
  uint64_t t_rp_ab_ps = 21250;
  uint64_t t_ras_ps = 42500;
  uint64_t t_rc_ps = 61250;
  uint64_t t_ccd_l_ps = 5000;
  uint64_t t_rrd_ps = 5000;
  uint64_t t_faw_ps = 20000;
  uint64_t t_wr_ps = 35000;
  uint64_t t_wtr_s_ps = 6250;
  uint64_t t_wtr_l_ps = 12500;
  uint64_t t_rtp_ps = 10000;
  uint64_t t_rtw_gap_ps = 16250;
  RefreshKind refresh = RefreshKind::kAllBank;
  uint64_t t_refi_ps = 3906000;
  uint64_t t_rfc_ab_ps = 280000;
  uint64_t t_rfc_pb_ps = 140000;
  uint64_t t_pbr2pbr_ps = 90000;
  uint64_t t_pbr2act_ps = 7500;
  uint64_t read_queue = 32;
  uint64_t write_queue = 32;
  uint64_t write_high = 16;
  uint64_t write_low = 13;
  uint64_t reads_per_turn = 6;
  uint64_t write_idle_ns = 100;
  uint64_t starvation_ns = 1000;
  uint64_t controller_ns = 70;
};
struct PcieConfig {
  uint64_t lanes = 16;
  uint64_t rate_mts = 32000;
  uint64_t max_payload_bytes = 512;
  uint64_t max_read_request_bytes = 4096;
  uint64_t read_retries = 1;
  uint64_t read_completion_boundary_bytes = 64;
  uint64_t framing_bytes = 8;
  uint64_t header_bytes = 16;
  uint64_t completion_header_bytes = 12;
  uint64_t dllp_bytes = 8;
  uint64_t one_way_ns = 250;
  uint64_t register_ns = 50;
  uint64_t host_memory_ns = 150;
  uint64_t host_memory_bytes_per_us = 200000;
  uint64_t tags = 768;
  uint64_t completion_buffer_bytes = 262144;
  uint64_t credit_return_ns = 300;
  uint64_t host_posted_headers = 128;
  uint64_t host_posted_data = 4096;
  uint64_t host_nonposted_headers = 128;
  uint64_t card_posted_headers = 64;
  uint64_t card_posted_data = 256;
  uint64_t card_nonposted_headers = 32;
};
struct DmaConfig {
  uint64_t channels = 4;
  uint64_t outstanding_per_channel = 16;
  uint64_t setup_ns = 100;
};
struct ControlConfig {
  BlockFidelity fidelity = BlockFidelity::kTimed;
  uint64_t clock_mhz = 1000;
  uint64_t fetch_batch = 16;
  uint64_t decode_ns = 50;
  uint64_t dispatch_ns = 200;
  uint64_t respond_ns = 50;
  uint64_t operation_limit_us = 1'000'000;
};
struct ManagementConfig {
  ManagementFidelity fidelity = ManagementFidelity::kBehavioural;
  uint64_t clock_mhz = 500;
  uint64_t scrub_bytes_per_us = 102400;
  uint64_t message_ns = 300;
  std::string firmware;
  uint64_t boot_deadline_us = 10000;
  std::string flash;
  uint64_t flash_erase_us = 45000;
  uint64_t flash_program_us = 400;
  uint64_t flash_read_mbps = 50;
  uint64_t trial_boots = 2;
};
struct PtConfig {
  BlockFidelity fidelity = BlockFidelity::kTimed;
  uint64_t rtl_cores = 1;
};
struct MmuConfig {
  uint64_t map_entries = 65536;
  uint64_t translate_cycles = 4;
};

// Energies in femtojoules: 1000 are a picojoule.
struct PowerConfig {
  uint64_t idle_mw = 19000;
  uint64_t busy_mw = 7000;
  uint64_t mac_fj = 800;
  uint64_t vector_byte_fj = 600;
  uint64_t lx_byte_fj = 500;
  uint64_t ring_byte_fj = 800;
  uint64_t memory_byte_fj = 40000;
  uint64_t pcie_byte_fj = 45000;
  uint64_t ambient_c = 25;
  uint64_t thermal_mk_per_w = 310;
  uint64_t time_constant_us = 30000000;
  Throttle throttle = Throttle::kNone;
  uint64_t limit_mw = 75000;
  uint64_t limit_c = 95;
  uint64_t interval_us = 100;
  uint64_t least_percent = 40;
};
struct VpdConfig {
  std::string part_number = "SPYRE-SIM";
  std::string serial_number = "SIM000000001";
};

struct FastConfig {
  uint64_t tolerance_percent = 1;
  uint64_t steady_us = 10;
  uint64_t samples = 2;
  uint64_t error_percent = 4;
};

struct CardConfig {
  uint64_t cores = 32;
  uint64_t num_vfs = 2;
  Fidelity fidelity = Fidelity::kTimed;
  Concurrency concurrency = Concurrency::kSerial;
  uint64_t partitions = 2;
  ClockConfig clock;
  CoreConfig core;
  RingConfig ring;
  MemoryConfig memory;
  PcieConfig pcie;
  DmaConfig dma;
  ControlConfig control;
  ManagementConfig management;
  PtConfig pt;
  MmuConfig mmu;
  PowerConfig power;
  VpdConfig vpd;
  FastConfig fast;
  std::vector<FaultSpec> faults;  // [[fault]] of a configuration

  bool serial() const { return concurrency == Concurrency::kSerial; }
  bool concurrent() const { return concurrency == Concurrency::kConcurrent; }
  bool timed() const { return fidelity != Fidelity::kFunctional; }
  uint64_t usable_bytes() const { return (memory.capacity_gib - memory.ecc_gib) << 30; }
  uint64_t lx_usable_bytes() const { return core.lx_bytes - core.lx_reserved_bytes; }
};

}  // namespace spyre::model
