#include "runtime/graph/byte_hazards.h"

namespace spyre::runtime {

void ByteHazards::Find(const Region& region, const TensorPlace& place, bool writes,
                       std::vector<TaskId>& tasks) const {
  const ByteRegion bytes(region, place);
  index_.Query(bytes.begin(), bytes.end(), [&](uint32_t place_of_kept) {
    const Kept& kept = kept_[place_of_kept];
    if (!writes && !kept.writes) return;
    const bool overlap = kept.region.tensor == region.tensor ? BoxesOverlap(kept.region, region)
                                                             : Overlap(kept.bytes, bytes);
    if (overlap) tasks.push_back(kept.task);
  });
}

void ByteHazards::Insert(uint32_t key, TaskId task, const Region& region, const TensorPlace& place,
                         bool writes) {
  const ByteRegion bytes(region, place);
  if (writes) {
    covered_.clear();
    index_.Query(bytes.begin(), bytes.end(), [&](uint32_t other) {
      const Kept& kept = kept_[other];
      const bool covers = kept.region.tensor == region.tensor
                              ? BoxCovers(region, kept.region)
                              : bytes.one_run() && bytes.begin() <= kept.bytes.begin() &&
                                    kept.bytes.end() <= bytes.end();
      if (covers) covered_.push_back(kept.key);
    });
    for (const uint32_t other : covered_) Erase(other);
  }
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(kept_.size()));
    kept_.emplace_back();
  }
  place_[key] = free_.back();
  free_.pop_back();
  kept_[place_[key]] = {task, key, writes, region, bytes};
  index_.Insert(place_[key], bytes.begin(), bytes.end());
}

void ByteHazards::Erase(uint32_t key) {
  if (place_[key] == kNone) return;
  index_.Erase(place_[key]);
  free_.push_back(place_[key]);
  place_[key] = kNone;
}

}  // namespace spyre::runtime
