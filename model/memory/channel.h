// One LPDDR5 channel: a data bus that requests take in turn, banks with an open row each, a write
// buffer that drains in batches, read/write turnaround and all-bank refresh. Prices whole runs
// inside one row in closed form. No SystemC process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/card/card_config.h"
#include "model/card/resource.h"

namespace spyre::model {

// Bus turnaround between the column commands of a read and a write.
inline uint64_t ReadToWritePs(const MemoryConfig& m) {
  return m.read_latency_ps + m.t_ccd_l_ps + m.t_rtw_gap_ps - m.write_latency_ps;
}
inline uint64_t WriteToReadPs(const MemoryConfig& m) {
  return m.write_latency_ps + m.t_ccd_l_ps + m.t_wtr_l_ps;
}

class MemoryChannel {
 public:
  MemoryChannel(int index, const CardConfig& config, trace::Recorder* recorder);

  // Prices `bytes` at channel-local address `address` (all inside one row), arriving at
  // `arrival_ps`. Returns when the last data beat has passed the bus; for a write that the buffer
  // takes, when it has arrived.
  uint64_t Access(uint64_t address, uint64_t bytes, bool write, uint64_t arrival_ps, uint64_t flow);

  UnitStatistics statistics() const;  // bytes include those that the write buffer holds
  uint64_t row_hits() const { return row_hits_; }
  uint64_t row_misses() const { return row_misses_; }

 private:
  struct Write {
    uint64_t address;
    uint64_t bytes;
    uint64_t flow;
  };
  struct Bank {
    uint64_t open_row = UINT64_MAX;
    uint64_t ready_ps = 0;  // earliest time of the next command to this bank
  };

  uint64_t Burst(uint64_t address, uint64_t bytes, bool write, uint64_t arrival_ps, uint64_t flow);

  const MemoryConfig& config_;
  const bool timed_;
  uint64_t bytes_per_us_;  // peak of this channel
  Resource bus_;
  std::vector<Bank> banks_;
  std::vector<Write> write_buffer_;
  uint64_t buffered_bytes_ = 0;
  bool last_write_ = false;
  uint64_t row_hits_ = 0;
  uint64_t row_misses_ = 0;
};

}  // namespace spyre::model
