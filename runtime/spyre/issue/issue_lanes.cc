// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/issue/issue_lanes.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace spyre::runtime {

IssueLanes::~IssueLanes() {
  for (const Lane& lane : lanes_) {
    const uint32_t index = lane.stream.flex_stream().stream_index();
    if (lane.own && context_.HasStream(index)) context_.DestroyStream(index);
  }
}

size_t IssueLanes::AddOwn() {
  std::array<bool, flex::kLastStream + 1> in_use;
  for (uint32_t index = 0; index < in_use.size(); ++index) {
    in_use[index] = context_.HasStream(index);
  }
  SpyreStream stream(context_);
  const uint32_t index = stream.flex_stream().stream_index();
  if (in_use[index]) return AddShared(index);  // there are no more
  lanes_.push_back({stream, true});
  return lanes_.size() - 1;
}

size_t IssueLanes::AddShared(uint32_t stream) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane].stream.flex_stream().stream_index() == stream) return lane;
  }
  lanes_.push_back({SpyreStream(context_, context_.Stream(stream)), false});
  return lanes_.size() - 1;
}

bool IssueLanes::failed(size_t lane) const {
  return context_.ErrorOf(lanes_[lane].stream.flex_stream().stream_index()).has_value();
}

bool IssueLanes::Waits(size_t lane, const LanePlace& place) const {
  if (place.lane == lane) return true;
  const std::vector<uint64_t>& reached = lanes_[lane].reached;
  return place.lane < reached.size() && reached[place.lane] >= place.position;
}

void IssueLanes::Wait(size_t lane, const LanePlace& place, const flex::Event& event,
                      uint64_t covers) {
  if (Waits(lane, place)) return;
  lanes_[lane].stream.flex_stream().Wait(event);
  std::vector<uint64_t>& reached = lanes_[lane].reached;
  if (reached.size() <= place.lane) reached.resize(place.lane + 1, 0);
  reached[place.lane] = std::max(place.position, covers);
  ++waits_;
}

}  // namespace spyre::runtime
