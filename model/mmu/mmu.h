// SPDX-License-Identifier: Apache-2.0
// Address translation and protection: which physical memory each function may touch.
//
// PF: operations carry physical addresses; every access must lie in one range of the mapping table,
// which software fills
//   through the MAP_* registers (one range per allocation). Segments 0..6 map the device virtual
//   space one to one.
// VF: memory is up to eight regions, assigned by the PF through the management controller. Segment
// i (0..6) is region i. Both: segment 7 is the running program's allocation.
// The leave to access memory is a Grant (grant.h), and comes from here alone. Kernel thread only.
// No time here: callers charge it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "model/common/card_config.h"
#include "model/contract/control_block.h"
#include "model/contract/memory_map.h"
#include "model/mmu/grant.h"

namespace spyre::model {

struct PhysicalRange {
  uint64_t base = 0;
  uint64_t length = 0;  // 0: nothing is mapped
  uint8_t permission = 0;
};
using SegmentTable = std::array<PhysicalRange, kSegments>;

struct Translation {
  Status status = Status::OK;
  Grant grant;  // of nothing if the status is not OK
};

class Mmu {
 public:
  // Values of MAP_STATUS.
  enum class MapResult : uint32_t {
    kDone = 0,
    kOverlap = 1,
    kBadRange = 2,
    kNoMapping = 3,
    kTableFull = 4
  };

  explicit Mmu(const CardConfig& config);

  MapResult Map(const PhysicalRange& range);
  MapResult Unmap(uint64_t base);
  void UnmapAll();

  // The management controller's: what it sets is its to answer for. Functions or regions that the
  // card does not have are ignored.
  void SetRegion(unsigned function, unsigned region, const PhysicalRange& range);
  // Whoever uses the function from now on is somebody else: it has been reset. The same when a
  // region is taken away or moved.
  void NewTenant(unsigned function);
  uint64_t tenant(unsigned function) const { return tenants_[function]; }  // changes with the user
  void OnNewTenant(std::function<void(unsigned function)> hook) {
    on_new_tenant_ = std::move(hook);
  }
  void SetCores(unsigned function, uint32_t mask);  // that its programs may use
  uint32_t cores(unsigned function) const { return cores_[function]; }
  const PhysicalRange& region(unsigned function, unsigned region) const {
    return regions_[function][region];
  }

  // Bytes that the function may use: mapped ranges of the PF, regions of a VF. And the most that
  // they have been for this user. Of all functions together: since the beginning, or RestartPeak.
  struct Reserved {
    uint64_t bytes = 0;
    uint64_t peak_bytes = 0;
  };
  const Reserved& reserved(unsigned function) const { return reserved_[function]; }
  const Reserved& all_reserved() const { return all_reserved_; }
  void RestartPeak() { all_reserved_.peak_bytes = all_reserved_.bytes; }

  // May `function` access [physical, physical + bytes)? permission: kPermission* bits, all needed.
  Status CheckPhysical(unsigned function, uint64_t physical, uint64_t bytes,
                       uint8_t permission) const;
  // The same, with the leave to do it.
  Translation Ask(unsigned function, uint64_t physical, uint64_t bytes, uint8_t permission) const;
  // A function's own segment table, with segment 7 bound to `program`.
  SegmentTable Segments(unsigned function, const PhysicalRange& program) const;
  // Device virtual to physical for a core access of `function`, checked all the way.
  Translation Translate(unsigned function, const SegmentTable& segments, uint64_t address,
                        uint64_t bytes, uint8_t permission) const;

 private:
  bool InMemory(const PhysicalRange& range) const;
  void Reserve(unsigned function, uint64_t more_bytes, uint64_t less_bytes);

  const uint64_t memory_bytes_;
  const uint64_t map_entries_;
  std::map<uint64_t, PhysicalRange> mappings_;                // PF, by base
  std::vector<std::array<PhysicalRange, kRegions>> regions_;  // by function
  std::vector<uint32_t> cores_;                               // by function
  std::vector<uint64_t> tenants_;                             // by function
  std::vector<Reserved> reserved_;                            // by function
  Reserved all_reserved_;
  std::function<void(unsigned)> on_new_tenant_;
  uint64_t withdrawals_ = 0;  // how often something was taken away: older grants do not stand
};

}  // namespace spyre::model
