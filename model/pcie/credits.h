// SPDX-License-Identifier: Apache-2.0
// Credits of one class at one receiver: a packet takes one header and some data credits, and they
// come back when the receiver has passed the packet on. A sender without enough waits for the
// oldest to return. Also the tags and completion buffer of a reader, which are the same thing.
// PcieLink uses it. Kernel thread only; times are picoseconds; never waits itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace spyre::model {

class CreditPool {
 public:
  CreditPool(uint64_t headers, uint64_t data) : headers_(headers), data_(data) {}

  // The first time from `earliest_ps` on at which one header and `data` credits are there; `data`
  // is at most what the pool has in all. Forgets what has come back by then.
  uint64_t WaitFor(uint64_t earliest_ps, uint64_t data) {
    uint64_t time = earliest_ps;
    while (taken_.size() >= headers_ || data_taken_ + data > data_) {
      time = std::max(time, taken_.front().returned_ps);
      data_taken_ -= taken_.front().data;
      taken_.pop_front();
    }
    return time;
  }
  // Takes them; they return at `returned_ps`, or with older ones that return later: credits come
  // back in the order of the packets.
  void Take(uint64_t data, uint64_t returned_ps) {
    if (!taken_.empty()) returned_ps = std::max(returned_ps, taken_.back().returned_ps);
    taken_.push_back({returned_ps, data});
    data_taken_ += data;
  }

 private:
  struct Taken {
    uint64_t returned_ps;
    uint64_t data;
  };
  const uint64_t headers_;
  const uint64_t data_;
  uint64_t data_taken_ = 0;
  std::deque<Taken> taken_;
};

}  // namespace spyre::model
