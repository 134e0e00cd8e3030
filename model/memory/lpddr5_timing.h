// SPDX-License-Identifier: Apache-2.0
// The times between commands of an LPDDR5 channel, worked out once from the card's parameters, and
// the cost of a run of bursts. Every time is rounded up to whole clock periods, as a controller
// counts them, so that commands stay on the clock. Plain data, any thread. Figures: JESD209-5B
// (LPDDR5-6400, bank-group mode, BL16, x16).
#pragma once

#include <cstdint>

#include "model/common/card_config.h"
#include "model/common/divisor.h"

namespace spyre::model {

// Bytes of one column command.
inline uint64_t BurstBytes(const MemoryConfig& m) { return m.burst_length * m.channel_bits / 8; }

// Data in a row: with in-line ECC, as many granules as fit together with a burst of check bytes
// each.
inline uint64_t RowDataBytes(const MemoryConfig& m) {
  if (m.ecc != Ecc::kInline) return m.page_bytes;
  return m.page_bytes / (m.ecc_granule_bytes + BurstBytes(m)) * m.ecc_granule_bytes;
}

// Per-bank refresh commands in tREFI: LPDDR5 refreshes the same bank of two groups at once.
inline uint64_t RefreshCommands(const MemoryConfig& m) {
  const uint64_t banks = m.bank_groups * m.banks_per_group;
  return banks > 1 ? banks / 2 : 1;
}

struct Lpddr5Timing {
  explicit Lpddr5Timing(const MemoryConfig& m);

  Divisor clock;
  uint64_t ccd_s, ccd_l;  // column to column, other and same bank group
  uint64_t rcd, rp, rp_all, ras, rc, rrd, faw;
  // From the last column command of one kind to ...
  uint64_t read_done, write_done;             // ... the last data beat
  uint64_t read_to_write;                     // ... the first column command of the other kind
  uint64_t write_to_read_s, write_to_read_l;  // (other and same bank group)
  uint64_t read_to_precharge, write_to_precharge;
  uint64_t refresh_interval, refresh_all, refresh_bank, refresh_to_activate;
  Divisor burst_bytes;
  bool has_check_bursts;  // in-line ECC, with as many bytes in a word
  Divisor ecc_word_bytes;
  bool merges_writes;  // writes of part of a block of these bytes read its check bytes first
  Divisor merged_bytes;
  Divisor ccd_l_slots;  // ccd_l

  uint64_t RoundUp(uint64_t ps) const { return clock.RoundedUp(ps) * clock.value(); }
  // Bursts of data at `column` of a row: every burst that it touches.
  uint32_t DataBursts(uint32_t column, uint32_t bytes) const {
    return Touched(burst_bytes, column, bytes);
  }
  // Bursts of check bytes: one for every ECC word touched; the controller keeps none from one word
  // to the next.
  uint32_t CheckBursts(uint32_t column, uint32_t bytes) const {
    return has_check_bursts ? Touched(ecc_word_bytes, column, bytes) : 0;
  }
  // Whether a write changes part of a burst of check bytes and the rest must be read for it. With
  // masked writes (SECDED over 8 bytes needs no other data) that is never so.
  bool ReadsCheckFirst(uint32_t column, uint32_t bytes) const {
    return merges_writes &&
           (merged_bytes.Divide(column).rest != 0 || merged_bytes.Divide(bytes).rest != 0);
  }
  // Latency of an access to an idle channel with closed rows, for callers that model no queues.
  uint64_t UnloadedPs(uint32_t bytes, bool write) const {
    const uint64_t bursts = DataBursts(0, bytes) + CheckBursts(0, bytes);
    return rcd + (bursts - 1) * ccd_l + (write ? write_done : read_done);
  }

 private:
  // How many blocks of so many bytes have a byte of [column, column + bytes).
  static uint32_t Touched(const Divisor& block, uint32_t column, uint32_t bytes) {
    return static_cast<uint32_t>(block.Quotient(column + bytes - 1) - block.Quotient(column) + 1);
  }
};

}  // namespace spyre::model
