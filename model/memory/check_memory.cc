// SPDX-License-Identifier: Apache-2.0
#include "model/memory/check_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "model/memory/lpddr5_timing.h"

namespace spyre::model {
namespace {

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

void RequireAtLeast(const char* key, uint64_t value, const char* least_key, uint64_t least) {
  if (value >= least) return;
  throw BadInput("card.memory.{} = {} is below card.memory.{} = {}; make it at least {}", key,
                 value, least_key, least, least);
}

// Rates whose bursts take whole periods: the next slower and the next faster one.
std::string RatesNear(const MemoryConfig& m, double burst_ps) {
  std::string text;
  const auto fewer = static_cast<uint64_t>(burst_ps / static_cast<double>(m.clock_ps));
  for (const uint64_t periods : {fewer + 1, fewer}) {
    const uint64_t ps = periods * m.clock_ps;
    if (ps == 0 || m.burst_length * 1000000 % ps != 0) continue;
    text += fmt::format("{}{}", text.empty() ? "card.memory.transfer_mts = " : " or ",
                        m.burst_length * 1000000 / ps);
  }
  return text.empty() ? "change card.memory.clock_ps too" : text + " is possible";
}

void CheckBus(const MemoryConfig& m) {
  if (m.channels == 0) throw BadInput("card.memory.channels = 0; make it at least 1");
  if (m.channel_bits == 0 || m.channel_bits % 8 != 0) {
    throw BadInput("card.memory.channel_bits = {} is not a multiple of 8", m.channel_bits);
  }
  if (m.clock_ps == 0 || m.transfer_mts == 0)
    throw BadInput("card.memory.clock_ps and card.memory.transfer_mts must be at least 1");
  if (m.burst_length == 0 || m.burst_length * 1000000 % m.transfer_mts != 0 ||
      m.burst_length * 1000000 / m.transfer_mts % m.clock_ps != 0) {
    const double burst =
        static_cast<double>(m.burst_length) * 1e6 / static_cast<double>(m.transfer_mts);
    throw BadInput(
        "a burst of card.memory.burst_length = {} at card.memory.transfer_mts = {} takes {:.6g} "
        "ps, not a whole number of periods of card.memory.clock_ps = {}; {}",
        m.burst_length, m.transfer_mts, burst, m.clock_ps, RatesNear(m, burst));
  }
  const uint64_t burst_ps = m.burst_length * 1000000 / m.transfer_mts;
  if (m.t_ccd_l_ps != burst_ps && m.t_ccd_l_ps != 2 * burst_ps) {
    throw BadInput(
        "card.memory.t_ccd_l_ps = {0} must be one burst ({1} ps, no bank groups) or two ({2} ps) "
        "at card.memory.transfer_mts = {3}; for example --set card.memory.t_ccd_l_ps={2}",
        m.t_ccd_l_ps, burst_ps, 2 * burst_ps, m.transfer_mts);
  }
}

void CheckRows(const MemoryConfig& m) {
  for (const auto& [key, value] :
       {std::pair("bank_groups", m.bank_groups), std::pair("banks_per_group", m.banks_per_group)}) {
    if (!IsPowerOfTwo(value) || value > 8)
      throw BadInput("card.memory.{} = {} must be 1, 2, 4 or 8", key, value);
  }
  const uint64_t burst = BurstBytes(m);
  if (m.page_bytes == 0 || m.page_bytes % burst != 0) {
    throw BadInput("card.memory.page_bytes = {} is not a multiple of a burst of {} bytes",
                   m.page_bytes, burst);
  }
  if (m.interleave_bytes == 0 || m.interleave_bytes % 32 != 0) {
    throw BadInput("card.memory.interleave_bytes = {} is not a multiple of 32", m.interleave_bytes);
  }
  if (m.ecc == Ecc::kInline && (m.ecc_granule_bytes == 0 || m.ecc_granule_bytes % burst != 0)) {
    throw BadInput("card.memory.ecc_granule_bytes = {} is not a multiple of a burst of {} bytes",
                   m.ecc_granule_bytes, burst);
  }
  if (m.ecc == Ecc::kInline && (m.ecc_word_bytes < burst || m.ecc_word_bytes % burst != 0 ||
                                m.ecc_granule_bytes % m.ecc_word_bytes != 0)) {
    throw BadInput(
        "card.memory.ecc_word_bytes = {} is not a multiple of a burst of {} bytes that divides "
        "card.memory.ecc_granule_bytes = {}",
        m.ecc_word_bytes, burst, m.ecc_granule_bytes);
  }
  const uint64_t data = RowDataBytes(m);
  if (data == 0) {
    throw BadInput(
        "card.memory.page_bytes = {} does not hold card.memory.ecc_granule_bytes = {} and a burst "
        "of check bytes",
        m.page_bytes, m.ecc_granule_bytes);
  }
  if (m.interleave_bytes > data || data % m.interleave_bytes != 0) {
    throw BadInput(
        "card.memory.interleave_bytes = {} does not divide the {} bytes of data in a row "
        "(card.memory.page_bytes = {}, card.memory.ecc = \"{}\")",
        m.interleave_bytes, data, m.page_bytes, m.ecc == Ecc::kInline ? "inline" : "none");
  }
  if ((m.capacity_gib << 30) / m.channels / m.interleave_bytes > UINT32_MAX) {
    throw BadInput(
        "card.memory.capacity_gib = {} in card.memory.channels = {} has more than 2^32 blocks of "
        "card.memory.interleave_bytes = {} a channel; make the blocks larger",
        m.capacity_gib, m.channels, m.interleave_bytes);
  }
  if (m.ecc_gib >= m.capacity_gib) {
    throw BadInput(
        "card.memory.ecc_gib = {} leaves nothing of card.memory.capacity_gib = {}; make it smaller",
        m.ecc_gib, m.capacity_gib);
  }
  if ((m.capacity_gib - m.ecc_gib) * m.page_bytes > m.capacity_gib * data) {
    throw BadInput(
        "card.memory.ecc_gib = {} of card.memory.capacity_gib = {} is too little: in-line ECC "
        "takes {} of the {} bytes of a row; raise it or set card.memory.ecc = \"none\"",
        m.ecc_gib, m.capacity_gib, m.page_bytes - data, m.page_bytes);
  }
}

// A channel whose refreshes follow each other so closely that no row is read between them starves
// for ever. The longest way from a refresh that is due to the first data behind it: open rows have
// their time and are closed, rows of all banks that are about to be opened have their turn, the
// banks are refreshed, a row is opened, and the bus turns.
void CheckRefresh(const MemoryConfig& m) {
  const bool all = m.refresh == RefreshKind::kAllBank;
  const Lpddr5Timing timing(m);
  const uint64_t open = std::max({timing.ras, timing.write_to_precharge, timing.read_to_precharge});
  const uint64_t turn = std::max(timing.read_to_write, timing.write_to_read_l);
  const uint64_t refresh =
      all ? timing.rp_all + timing.refresh_all
          : timing.rp + std::max(timing.refresh_bank, timing.refresh_to_activate);
  const uint64_t banks = m.bank_groups * m.banks_per_group;
  const uint64_t activates = std::max(banks * timing.rrd, (banks + 3) / 4 * timing.faw);
  const uint64_t needed = open + refresh + activates + timing.rcd + turn;
  const uint64_t every = m.t_refi_ps / (all ? 1 : RefreshCommands(m));
  if (every > needed) return;
  const std::string keys =
      all ? fmt::format("card.memory.t_rfc_ab_ps = {}", m.t_rfc_ab_ps)
          : fmt::format("card.memory.t_rfc_pb_ps = {}, card.memory.t_pbr2act_ps = {}",
                        m.t_rfc_pb_ps, m.t_pbr2act_ps);
  throw BadInput(
      "card.memory.t_refi_ps = {} is a{} refresh every {} ps, but to close the rows, refresh ({}), "
      "open a row and turn the bus takes up to {} ps: nothing would ever be read; give more time "
      "than that",
      m.t_refi_ps, all ? "n all-bank" : " per-bank", every, keys, needed);
}

void CheckTimes(const MemoryConfig& m) {
  RequireAtLeast("t_ras_ps", m.t_ras_ps, "t_rcd_ps", m.t_rcd_ps);
  RequireAtLeast("t_rc_ps", m.t_rc_ps, "t_ras_ps", m.t_ras_ps);
  RequireAtLeast("t_rp_ab_ps", m.t_rp_ab_ps, "t_rp_pb_ps", m.t_rp_pb_ps);
  RequireAtLeast("t_faw_ps", m.t_faw_ps, "t_rrd_ps", m.t_rrd_ps);
  RequireAtLeast("t_wtr_l_ps", m.t_wtr_l_ps, "t_wtr_s_ps", m.t_wtr_s_ps);
  RequireAtLeast("read_latency_ps", m.read_latency_ps, "write_latency_ps", m.write_latency_ps);
  if (m.refresh == RefreshKind::kNone) return;
  if (m.refresh == RefreshKind::kPerBank && m.t_refi_ps / RefreshCommands(m) < m.t_pbr2pbr_ps) {
    throw BadInput(
        "card.memory.t_refi_ps = {} gives a per-bank refresh every {} ps, below "
        "card.memory.t_pbr2pbr_ps = {}",
        m.t_refi_ps, m.t_refi_ps / RefreshCommands(m), m.t_pbr2pbr_ps);
  }
  CheckRefresh(m);
}

void CheckQueues(const MemoryConfig& m) {
  if (m.read_queue == 0 || m.write_queue == 0)
    throw BadInput("card.memory.read_queue and card.memory.write_queue must be at least 1");
  if (m.write_high <= m.write_low) {
    throw BadInput("card.memory.write_high = {} is not above card.memory.write_low = {}",
                   m.write_high, m.write_low);
  }
  if (m.write_high > m.write_queue) {
    throw BadInput("card.memory.write_high = {} is above card.memory.write_queue = {}: no drain",
                   m.write_high, m.write_queue);
  }
}

}  // namespace

void CheckMemory(const MemoryConfig& memory) {
  CheckBus(memory);
  CheckRows(memory);
  CheckTimes(memory);
  CheckQueues(memory);
}

}  // namespace spyre::model
