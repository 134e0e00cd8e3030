// SPDX-License-Identifier: Apache-2.0
#include "model/card/check_card.h"

#include <contract/registers.h>

#include "base/error.h"
#include "base/ranges.h"
#include "model/common/clock.h"
#include "model/common/elf_image.h"
#include "model/contract/memory_map.h"
#include "model/memory/check_memory.h"

namespace spyre::model {

namespace {

void CheckPcie(const PcieConfig& pcie) {
  const auto power_of_two = [](const char* key, uint64_t value) {
    if (value == 0 || (value & (value - 1)) != 0)
      throw BadInput("{} = {} is not a power of two", key, value);
  };
  power_of_two("card.pcie.lanes", pcie.lanes);
  const auto size_of_pcie = [&](const char* key, uint64_t bytes) {
    power_of_two(key, bytes);
    if (bytes < 128 || bytes > 4096)
      throw BadInput("{} = {}; PCI Express has 128 to 4096", key, bytes);
  };
  size_of_pcie("card.pcie.max_payload_bytes", pcie.max_payload_bytes);
  size_of_pcie("card.pcie.max_read_request_bytes", pcie.max_read_request_bytes);
  power_of_two("card.pcie.read_completion_boundary_bytes", pcie.read_completion_boundary_bytes);
  if (pcie.rate_mts != 8000 && pcie.rate_mts != 16000 && pcie.rate_mts != 32000) {
    throw BadInput("card.pcie.rate_mts = {} is not a rate of 128b/130b; use 8000, 16000 or 32000",
                   pcie.rate_mts);
  }
  const auto holds_a_packet = [&](const char* key, uint64_t credits) {
    if (credits * 16 >= pcie.max_payload_bytes) return;
    throw BadInput("{} = {} x 16 bytes hold no packet of card.pcie.max_payload_bytes = {}", key,
                   credits, pcie.max_payload_bytes);
  };
  holds_a_packet("card.pcie.host_posted_data", pcie.host_posted_data);
  holds_a_packet("card.pcie.card_posted_data", pcie.card_posted_data);
  if (pcie.completion_buffer_bytes < pcie.max_read_request_bytes) {
    throw BadInput(
        "card.pcie.completion_buffer_bytes = {} has no room for a read of "
        "card.pcie.max_read_request_bytes = {}",
        pcie.completion_buffer_bytes, pcie.max_read_request_bytes);
  }
}

// The timed model prices what the RTL does, so both have one size.
void CheckPt(const CardConfig& config) {
  if (config.pt.fidelity != BlockFidelity::kRtl) return;
  const auto is_of_rtl = [](const char* key, uint64_t value, uint64_t rtl) {
    if (value == rtl) return;
    throw BadInput("{} = {}: the RTL of the PT array (card.pt.fidelity = \"rtl\") has {}", key,
                   value, rtl);
  };
  const CoreConfig& core = config.core;
  is_of_rtl("card.core.pt_macs_per_cycle", core.pt_macs_per_cycle, kPtRows * kPtColumns * kPtLanes);
  is_of_rtl("card.core.pt_block_load_cycles", core.pt_block_load_cycles, kPtChunk);
  is_of_rtl("card.core.pt_accumulate_cycles", core.pt_accumulate_cycles, kPtAccumulateCycles);
  is_of_rtl("card.core.pt_fill_drain_cycles", core.pt_fill_drain_cycles, kPtFillDrainCycles);
  if ((config.pt.rtl_cores & ((1ull << config.cores) - 1)) == 0) {
    throw BadInput(
        "card.pt.rtl_cores = {:#x} names none of the {} cores; bit i is core i, or say "
        "card.pt.fidelity = \"timed\"",
        config.pt.rtl_cores, config.cores);
  }
}

void CheckPower(const PowerConfig& power) {
  const uint64_t least_mw = power.idle_mw + power.busy_mw;
  if (power.throttle == Throttle::kNone || power.limit_mw > least_mw) return;
  throw BadInput(
      "card.power.limit_mw = {}: card.power.idle_mw and busy_mw alone are {}, which no slower "
      "clock "
      "saves; give more, or card.power.throttle = \"none\"",
      power.limit_mw, least_mw);
}

// PCI Local Bus specification, "VPD Definitions": ASCII, and a length in a byte.
void CheckVpd(const VpdConfig& vpd) {
  const auto check = [](const char* key, const std::string& text) {
    constexpr size_t kMost = 32;
    const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!text.empty() && text.size() <= kMost && AllFit(text, printable)) return;
    throw BadInput("{} = \"{}\": give 1 to {} printable ASCII characters", key, text, kMost);
  };
  check("card.vpd.part_number", vpd.part_number);
  check("card.vpd.serial_number", vpd.serial_number);
}

}  // namespace

void CheckCard(const CardConfig& config) {
  const auto check_clock = [](const char* key, uint64_t mhz) {
    if (Clock::Representable(mhz)) return;
    throw BadInput("{} = {} MHz is not a clock that picoseconds can count; give 1 to 10000", key,
                   mhz);
  };
  check_clock("card.clock.core_mhz", config.clock.core_mhz);
  check_clock("card.clock.ring_mhz", config.clock.ring_mhz);
  CheckMemory(config.memory);
  if (config.core.lx_reserved_bytes + kLxReservedBytes > config.core.lx_bytes) {
    throw BadInput(
        "card.core.lx_reserved_bytes = {} leaves less than {} of card.core.lx_bytes = {}; make it "
        "smaller",
        config.core.lx_reserved_bytes, kLxReservedBytes, config.core.lx_bytes);
  }
  CheckPcie(config.pcie);
  CheckPt(config);
  CheckPower(config.power);
  CheckVpd(config.vpd);
  if (config.fidelity == Fidelity::kFast && config.concurrency != Concurrency::kSerial) {
    throw BadInput(
        "card.fidelity = \"fast\" knows a launch by itself, and needs card.concurrency = "
        "\"serial\"; on other hardware launches share memory with what runs beside them");
  }
  if (config.concurrent() && config.cores % config.partitions != 0) {
    throw BadInput(
        "card.partitions = {} does not divide card.cores = {}; partitions are of equal size",
        config.partitions, config.cores);
  }
  // Also where the firmware is host code: a mistyped file is better known before it is needed.
  if (!config.management.firmware.empty()) FlattenElf(ReadElf(config.management.firmware));
}

}  // namespace spyre::model
