// SPDX-License-Identifier: Apache-2.0
#include "cosim/memory_study/memory_run.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/memory/address_map.h"

namespace spyre::cosim {
namespace {

using model::ChannelController;
using model::ChannelStatistics;

class Run {
 public:
  Run(const model::MemoryConfig& config, MemoryTraffic& traffic, const MemoryLoad& load)
      : map_(config), controller_ps_(config.controller_ns * 1000), traffic_(traffic), load_(load) {
    result_.peak_gbps =
        static_cast<double>(config.channels * config.channel_bits * config.transfer_mts) / 8e3;
    result_.channels.resize(config.channels);
    next_.assign(config.channels, UINT64_MAX);
    channels_.reserve(config.channels);
    for (uint64_t i = 0; i < config.channels; ++i) channels_.emplace_back(config);
  }

  MemoryResult Go() {
    Start();
    for (;;) {
      const auto channel =
          static_cast<size_t>(std::min_element(next_.begin(), next_.end()) - next_.begin());
      const uint64_t next = next_[channel];
      if (coming_ && coming_ps_ <= next) {
        Issue(0, *coming_, coming_ps_);
        Fetch();
        continue;
      }
      if (next == UINT64_MAX) break;
      Step(channel, next);
    }
    for (size_t i = 0; i < channels_.size(); ++i) {
      result_.channels[i].statistics = channels_[i].statistics();
      const ChannelStatistics& s = result_.channels[i].statistics;
      result_.elapsed_ps =
          std::max(result_.elapsed_ps, s.busy_ps + s.lost_row_ps + s.lost_bank_group_ps +
                                           s.lost_turnaround_ps + s.lost_refresh_ps + s.idle_ps);
    }
    for (MemoryUnitResult& channel : result_.channels) {
      ChannelStatistics& s = channel.statistics;
      // What follows a channel's last run is idle too.
      s.idle_ps = result_.elapsed_ps - (s.busy_ps + s.lost_row_ps + s.lost_bank_group_ps +
                                        s.lost_turnaround_ps + s.lost_refresh_ps);
      result_.all.statistics += s;
    }
    return std::move(result_);
  }

 private:
  struct Flight {
    uint64_t issued_ps, done_ps;
    uint64_t pieces;
    size_t stream;
    bool write;
  };

  void Start() {
    const auto first = traffic_.Next(0);
    open_loop_ = load_.rate > 0 || (first && first->arrival_ps);
    if (open_loop_) {
      Take(first);
      return;
    }
    for (uint64_t i = 0; i < load_.outstanding; ++i) {
      for (size_t stream = 0; stream < traffic_.streams(); ++stream) {
        const auto access = i == 0 && stream == 0 ? first : traffic_.Next(stream);
        if (access) Issue(stream, *access, 0);
      }
    }
  }

  // Streams of an open loop come in turn.
  void Fetch() {
    turn_ = (turn_ + 1) % traffic_.streams();
    Take(traffic_.Next(turn_));
  }
  void Take(const std::optional<MemoryAccess>& access) {
    coming_ = access;
    if (!access) return;
    if (access->arrival_ps && load_.rate == 0) {
      coming_ps_ = *access->arrival_ps;
    } else {
      const double bytes_per_ps = result_.peak_gbps * 1e-3 * load_.rate;
      coming_ps_ = std::max(
          coming_ps_,
          static_cast<uint64_t>(std::llround(static_cast<double>(sent_bytes_) / bytes_per_ps)));
    }
    sent_bytes_ += access->bytes;
  }

  void Issue(size_t stream, const MemoryAccess& access, uint64_t now) {
    uint64_t id = flights_.size();
    if (free_.empty()) {
      flights_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    Flight& flight = flights_[id];
    flight = {now, 0, 0, stream, access.write};
    map_.ForEachPiece(access.address, access.bytes,
                      [&](const model::ChannelAddress& at, uint32_t bytes) {
                        ++flight.pieces;
                        ChannelController& channel = channels_[at.channel];
                        channel.Submit({id, now + controller_ps_, at.address, bytes, access.write});
                        next_[at.channel] = channel.NextDecisionPs();
                      });
    ++result_.requests;
  }

  void Step(size_t channel, uint64_t now) {
    done_.clear();
    channels_[channel].Advance(now, done_);
    next_[channel] = channels_[channel].NextDecisionPs();
    for (const model::MemoryCompletion& completion : done_) {
      Flight& flight = flights_[completion.id];
      flight.done_ps = std::max(flight.done_ps, completion.done_ps);
      result_.elapsed_ps = std::max(result_.elapsed_ps, completion.done_ps);
      Count(result_.channels[channel], flight.write, completion.done_ps - flight.issued_ps);
      if (--flight.pieces > 0) continue;
      const Flight finished = flight;
      free_.push_back(completion.id);
      Count(result_.all, finished.write, finished.done_ps - finished.issued_ps);
      if (open_loop_) continue;
      if (const auto access = traffic_.Next(finished.stream))
        Issue(finished.stream, *access, finished.done_ps);
    }
  }
  static void Count(MemoryUnitResult& unit, bool write, uint64_t latency_ps) {
    (write ? unit.writes : unit.reads).Add(latency_ps);
  }

  const model::AddressMap map_;
  const uint64_t controller_ps_;
  MemoryTraffic& traffic_;
  const MemoryLoad load_;
  std::vector<ChannelController> channels_;
  std::vector<uint64_t> next_;  // of each channel
  std::vector<Flight> flights_;
  std::vector<uint64_t> free_;  // places in flights_
  std::vector<model::MemoryCompletion> done_;
  bool open_loop_ = false;
  std::optional<MemoryAccess> coming_;  // of an open loop
  uint64_t coming_ps_ = 0;
  uint64_t sent_bytes_ = 0;
  size_t turn_ = 0;
  MemoryResult result_;
};

}  // namespace

MemoryResult RunMemory(const model::MemoryConfig& config, MemoryTraffic& traffic,
                       const MemoryLoad& load) {
  return Run(config, traffic, load).Go();
}

}  // namespace spyre::cosim
