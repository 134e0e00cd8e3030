// SPDX-License-Identifier: Apache-2.0
// What a channel controller has counted. Plain data, any thread.
#pragma once

#include <array>
#include <cstdint>

namespace spyre::model {

// Times are of the data bus. busy + all lost: from 0 to the end of the last run; what follows it is
// idle.
struct ChannelStatistics {
  uint64_t reads = 0, writes = 0;  // requests completed or held by the write queue
  uint64_t read_bytes = 0, write_bytes = 0;
  uint64_t forwarded = 0;  // reads answered from the write queue
  uint64_t row_hits = 0;
  uint64_t row_misses = 0;     // the bank had no open row
  uint64_t row_conflicts = 0;  // the bank had another row open
  uint64_t activates = 0;
  uint64_t refreshes = 0;  // commands
  uint64_t turnarounds = 0;
  uint64_t busy_ps = 0;             // data and check bytes
  uint64_t check_ps = 0;            // part of busy_ps: check bytes of in-line ECC
  uint64_t lost_row_ps = 0;         // waiting for precharge and activate
  uint64_t lost_bank_group_ps = 0;  // waiting for tCCD_L: only one bank group had requests
  uint64_t lost_turnaround_ps = 0;
  uint64_t lost_refresh_ps = 0;
  uint64_t idle_ps = 0;  // no request

  uint64_t requests() const { return reads + writes; }
  uint64_t bytes() const { return read_bytes + write_bytes; }

  // Counter by counter. Differences wrap around, so that one may be below zero until it is added.
  ChannelStatistics& operator+=(const ChannelStatistics& more);
  ChannelStatistics& operator-=(const ChannelStatistics& less);
  bool operator==(const ChannelStatistics& other) const;
};

inline constexpr std::array kChannelCounters = {&ChannelStatistics::reads,
                                                &ChannelStatistics::writes,
                                                &ChannelStatistics::read_bytes,
                                                &ChannelStatistics::write_bytes,
                                                &ChannelStatistics::forwarded,
                                                &ChannelStatistics::row_hits,
                                                &ChannelStatistics::row_misses,
                                                &ChannelStatistics::row_conflicts,
                                                &ChannelStatistics::activates,
                                                &ChannelStatistics::refreshes,
                                                &ChannelStatistics::turnarounds,
                                                &ChannelStatistics::busy_ps,
                                                &ChannelStatistics::check_ps,
                                                &ChannelStatistics::lost_row_ps,
                                                &ChannelStatistics::lost_bank_group_ps,
                                                &ChannelStatistics::lost_turnaround_ps,
                                                &ChannelStatistics::lost_refresh_ps,
                                                &ChannelStatistics::idle_ps};
static_assert(sizeof(ChannelStatistics) == kChannelCounters.size() * sizeof(uint64_t));

inline ChannelStatistics& ChannelStatistics::operator+=(const ChannelStatistics& more) {
  for (const auto counter : kChannelCounters) this->*counter += more.*counter;
  return *this;
}

inline ChannelStatistics& ChannelStatistics::operator-=(const ChannelStatistics& less) {
  for (const auto counter : kChannelCounters) this->*counter -= less.*counter;
  return *this;
}

inline bool ChannelStatistics::operator==(const ChannelStatistics& other) const {
  for (const auto counter : kChannelCounters) {
    if (this->*counter != other.*counter) return false;
  }
  return true;
}

}  // namespace spyre::model
