#include "model/memory/channel.h"

#include <fmt/format.h>

namespace spyre::model {

MemoryChannel::MemoryChannel(int index, const CardConfig& config, trace::Recorder* recorder)
    : config_(config.memory),
      timed_(config.timed()),
      bytes_per_us_(config.memory.transfer_mts * config.memory.channel_bits / 8),
      bus_(fmt::format("memory.channel{:02}", index), config.timed()),
      banks_(config.memory.bank_groups * config.memory.banks_per_group) {
  bus_.TraceTo(recorder, trace::kMemory, "memory", fmt::format("channel {:02}", index), "burst");
}

uint64_t MemoryChannel::Access(uint64_t address, uint64_t bytes, bool write, uint64_t arrival_ps,
                               uint64_t flow) {
  if (!write || !timed_) return Burst(address, bytes, write, arrival_ps, flow);
  // Writes gather until the buffer is full and then go together, so that the bus turns round
  // seldom.
  write_buffer_.push_back({address, bytes, flow});
  buffered_bytes_ += bytes;
  if (buffered_bytes_ < config_.write_buffer_bytes) return arrival_ps;
  uint64_t done = arrival_ps;
  for (const Write& held : write_buffer_) {
    done = Burst(held.address, held.bytes, true, arrival_ps, held.flow);
  }
  write_buffer_.clear();
  buffered_bytes_ = 0;
  return done;
}

UnitStatistics MemoryChannel::statistics() const {
  UnitStatistics all = bus_.statistics();
  all.bytes += buffered_bytes_;
  return all;
}

uint64_t MemoryChannel::Burst(uint64_t address, uint64_t bytes, bool write, uint64_t arrival_ps,
                              uint64_t flow) {
  const uint64_t row = address / config_.page_bytes;
  // Consecutive rows of a channel lie in different banks, so that a stream opens the next row while
  // it reads this one.
  Bank& bank = banks_[row % banks_.size()];
  const uint64_t data_ps = (bytes * 1000000 + bytes_per_us_ - 1) / bytes_per_us_;
  uint64_t column_ready = arrival_ps;
  if (bank.open_row == row) {
    ++row_hits_;
  } else {
    ++row_misses_;
    const uint64_t prepare =
        (bank.open_row == UINT64_MAX ? 0 : config_.t_rp_pb_ps) + config_.t_rcd_ps;
    column_ready = (timed_ ? std::max(arrival_ps, bank.ready_ps) : arrival_ps) + prepare;
    bank.open_row = row;
  }
  const uint64_t ready = column_ready + config_.read_latency_ps;
  uint64_t start = ready;
  if (timed_) {
    const uint64_t with_open_row = std::max(arrival_ps + config_.read_latency_ps, bus_.free_ps());
    bus_.CountLoss(Loss::kRowMiss, start - std::min(start, with_open_row));
    start = std::max(start, bus_.free_ps());
    if (write != last_write_) {
      const uint64_t turned =
          bus_.free_ps() + (write ? ReadToWritePs(config_) : WriteToReadPs(config_));
      bus_.CountLoss(Loss::kTurnaround, turned - std::min(start, turned));
      start = std::max(start, turned);
      last_write_ = write;
    }
    // All-bank refresh at the start of every interval holds the bus.
    const uint64_t interval = config_.t_refi_ps;
    const uint64_t into = start % interval;
    if (into < config_.t_rfc_ab_ps) {
      bus_.CountLoss(Loss::kRefresh, config_.t_rfc_ab_ps - into);
      start += config_.t_rfc_ab_ps - into;
    }
  }
  start = bus_.Reserve(start, data_ps, bytes, flow);
  bus_.CountWait(start - ready);
  bank.ready_ps = start + data_ps;
  return start + data_ps;
}

}  // namespace spyre::model
