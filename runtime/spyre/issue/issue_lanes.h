// SPDX-License-Identifier: Apache-2.0
// The streams of an issuer: who waits for whom. Used by the issuers only.
//
// A lane is a stream and how many tasks it was given; a place is a task on it, counted from 1.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/flex/event.h"
#include "runtime/spyre/spyre_stream.h"

namespace spyre::runtime {

struct LanePlace {
  size_t lane = 0;
  uint64_t position = 0;
};

class IssueLanes {
 public:
  explicit IssueLanes(flex::RuntimeContext& context) : context_(context) {}
  ~IssueLanes();  // its own streams end when their work has
  IssueLanes(const IssueLanes&) = delete;
  IssueLanes& operator=(const IssueLanes&) = delete;

  size_t AddOwn();                    // a new stream of the context
  size_t AddShared(uint32_t stream);  // that of the context with this index; once each
  size_t size() const { return lanes_.size(); }
  const SpyreStream& stream(size_t lane) const { return lanes_[lane].stream; }
  SpyreStream& stream(size_t lane) { return lanes_[lane].stream; }
  bool failed(size_t lane) const;

  LanePlace Advance(size_t lane) { return {lane, ++lanes_[lane].position}; }
  uint64_t position(size_t lane) const { return lanes_[lane].position; }
  // `lane` goes on when `place` has been reached; `event` is recorded there, or later on its lane
  // at position `covers`. No-op on the same lane, or if it waits for as much already.
  void Wait(size_t lane, const LanePlace& place, const flex::Event& event, uint64_t covers);
  bool Waits(size_t lane, const LanePlace& place) const;  // already, or on the same lane
  uint64_t waits() const { return waits_; }

 private:
  struct Lane {
    SpyreStream stream;
    bool own;
    uint64_t position = 0;
    std::vector<uint64_t> reached{};  // by lane: what this one has waited for
  };

  flex::RuntimeContext& context_;
  std::vector<Lane> lanes_;
  uint64_t waits_ = 0;
};

}  // namespace spyre::runtime
