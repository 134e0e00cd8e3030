// SPDX-License-Identifier: Apache-2.0
// What multicasts have brought to the LX of many cores, kept once. A multicast leaves one snapshot
// of its data and a note in each LX that a range "is" that snapshot; the bytes themselves are
// copied only when somebody needs them in place. Matmuls never do: they read weights from the
// snapshot.
//
// FunctionalQueue owns it, and calls it in the order of work on the thread that does the work;
// ranges are host addresses. Who touches LX directly settles or drops the range before.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/common/lx_range.h"
#include "model/contract/memory_map.h"

namespace spyre::model {

class LxSnapshots {
 public:
  static constexpr uint64_t kLeastBytes = 512;  // a shorter range is copied sooner than noted
  static constexpr uint64_t kMostBytes = kMaxBurstBytes;
  static constexpr int kNoLx = -1;

  struct Snapshot {
    alignas(64) std::array<uint8_t, kMostBytes> bytes;
    uint32_t references = 0;  // notes, and whoever holds it
    uint32_t members = 0;     // of the multicast
  };
  // A place in a snapshot; {null, null}: the bytes asked for are not all in one.
  struct Place {
    Snapshot* snapshot = nullptr;
    const uint8_t* at = nullptr;
  };

  // [base, base + bytes) is an LX. LXs are numbered from 0 in order of their addresses. Before any
  // work.
  void AddLx(uint8_t* base, uint64_t bytes);
  size_t count() const { return lxs_.size(); }
  int LxOf(const uint8_t* at) const;  // its number, or kNoLx

  // The bytes of `range` are in place after this, and may be read and written there.
  void Settle(const LxRange& range);
  // As Settle, for a range whose bytes are about to be replaced: those need not be in place.
  void Drop(const LxRange& range);
  // Copies `bytes` settled bytes. The caller holds the snapshot until Release.
  Snapshot* Take(const uint8_t* from, uint64_t bytes, uint32_t members);
  // `range`, inside LX number `lx`, now is the first bytes of `snapshot`; kLeastBytes or more.
  void Note(int lx, const LxRange& range, Snapshot* snapshot);
  Place Find(const uint8_t* at, uint64_t bytes) const;
  static void Hold(Snapshot* snapshot) { ++snapshot->references; }
  void Release(Snapshot* snapshot);

 private:
  // Notes do not overlap and are at least a granule long, so one at most begins in each.
  static constexpr uint64_t kGranule = kLeastBytes;
  struct Slot {
    Snapshot* snapshot = nullptr;  // null: no note begins here
    uint32_t offset = 0;           // in the LX
    uint32_t bytes = 0;
  };
  struct Lx {
    uint8_t* base;
    uint64_t bytes;
    uint64_t notes = 0;
    std::vector<Slot> slots;  // by granule in which the note begins; empty until the first note
  };

  void Clear(Lx& lx, const LxRange& range, bool replaced);

  std::vector<Lx> lxs_;  // by address
  std::vector<std::unique_ptr<Snapshot>> all_;
  std::vector<Snapshot*> free_;  // the last one released first: it is in a cache
};

}  // namespace spyre::model
