// SPDX-License-Identifier: Apache-2.0
#include "model/common/lx_snapshots.h"

#include <algorithm>
#include <cstring>

namespace spyre::model {

void LxSnapshots::AddLx(uint8_t* base, uint64_t bytes) {
  const auto behind = std::upper_bound(
      lxs_.begin(), lxs_.end(), base, [](const uint8_t* at, const Lx& lx) { return at < lx.base; });
  lxs_.insert(behind, Lx{base, bytes, 0, {}});
}

int LxSnapshots::LxOf(const uint8_t* at) const {
  const auto behind = std::upper_bound(
      lxs_.begin(), lxs_.end(), at, [](const uint8_t* it, const Lx& lx) { return it < lx.base; });
  if (behind == lxs_.begin()) return kNoLx;
  const auto lx = behind - 1;
  return at < lx->base + lx->bytes ? static_cast<int>(lx - lxs_.begin()) : kNoLx;
}

void LxSnapshots::Settle(const LxRange& range) {
  const int number = LxOf(range.at);
  if (number != kNoLx) Clear(lxs_[static_cast<size_t>(number)], range, false);
}

void LxSnapshots::Drop(const LxRange& range) {
  const int number = LxOf(range.at);
  if (number != kNoLx) Clear(lxs_[static_cast<size_t>(number)], range, true);
}

void LxSnapshots::Clear(Lx& lx, const LxRange& range, bool replaced) {
  if (lx.notes == 0 || range.bytes == 0) return;
  const auto begin = static_cast<uint64_t>(range.at - lx.base);
  const uint64_t end = std::min(begin + range.bytes, lx.bytes);
  const uint64_t first = begin - std::min(begin, kMostBytes - 1);
  for (uint64_t granule = first / kGranule; granule <= (end - 1) / kGranule; ++granule) {
    Slot& slot = lx.slots[granule];
    if (slot.snapshot == nullptr || slot.offset >= end || slot.offset + slot.bytes <= begin)
      continue;
    if (!replaced || slot.offset < begin || slot.offset + slot.bytes > end)
      std::memcpy(lx.base + slot.offset, slot.snapshot->bytes.data(), slot.bytes);
    Release(slot.snapshot);
    slot.snapshot = nullptr;
    --lx.notes;
  }
}

LxSnapshots::Snapshot* LxSnapshots::Take(const uint8_t* from, uint64_t bytes, uint32_t members) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Snapshot>());
    free_.push_back(all_.back().get());
  }
  Snapshot* const snapshot = free_.back();
  free_.pop_back();
  std::memcpy(snapshot->bytes.data(), from, bytes);
  snapshot->references = 1;
  snapshot->members = members;
  return snapshot;
}

void LxSnapshots::Note(int number, const LxRange& range, Snapshot* snapshot) {
  Lx& lx = lxs_[static_cast<size_t>(number)];
  if (lx.slots.empty()) lx.slots.resize((lx.bytes + kGranule - 1) / kGranule);
  const auto offset = static_cast<uint64_t>(range.at - lx.base);
  Slot& slot = lx.slots[offset / kGranule];
  Hold(snapshot);
  if (slot.snapshot != nullptr && slot.offset == offset && slot.bytes == range.bytes) {
    // The next data for the same place: notes do not overlap, so there is no other to look for.
    Release(slot.snapshot);
    slot.snapshot = snapshot;
    return;
  }
  Clear(lx, range, true);
  slot = {snapshot, static_cast<uint32_t>(offset), static_cast<uint32_t>(range.bytes)};
  ++lx.notes;
}

LxSnapshots::Place LxSnapshots::Find(const uint8_t* at, uint64_t bytes) const {
  const int number = LxOf(at);
  if (number == kNoLx) return {};
  const Lx& lx = lxs_[static_cast<size_t>(number)];
  if (lx.notes == 0) return {};
  const auto begin = static_cast<uint64_t>(at - lx.base);
  const uint64_t last = begin / kGranule;
  for (uint64_t back = 0; back <= std::min(last, kMostBytes / kGranule); ++back) {
    const Slot& slot = lx.slots[last - back];
    if (slot.snapshot == nullptr || slot.offset > begin) continue;
    if (slot.offset + slot.bytes < begin + bytes) return {};
    return {slot.snapshot, slot.snapshot->bytes.data() + (begin - slot.offset)};
  }
  return {};
}

void LxSnapshots::Release(Snapshot* snapshot) {
  if (--snapshot->references == 0) free_.push_back(snapshot);
}

}  // namespace spyre::model
