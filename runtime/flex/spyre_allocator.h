// SPDX-License-Identifier: Apache-2.0
// SpyreAllocator: device memory, handed out as DeviceHandles, in one of two modes (the runtime
// RFC).
//
// PF mode: first fit over physical memory. Tensors lie below the tensor limit (at most 7 x 16 GiB,
// so that segments 0 to 6 map them identically), programs above it. Every allocation is mapped on
// the card through a DeviceMapper. VF mode: blocks are carved from the function's regions; tensors
// from regions 0 to 6 in order, programs from region 7, whose segment is the program segment.
//
// Owner: RuntimeContext. Threads: calls are serialised by it. Sizes in bytes, rounded up to 128.
// Freed neighbours coalesce. Memory that outstanding work may still touch is freed in two steps: it
// is retired, and handed out again when the caller says that the work has passed. Errors:
// Error(kBadInput) for size 0, exhaustion, double free, unknown handle; they name the sizes and the
// largest free block.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/contract/memory_map.h"
#include "runtime/flex/block_space.h"
#include "runtime/flex/device_handle.h"

namespace spyre::flex {

enum class MemoryKind { kTensor, kProgram };
const char* MemoryKindName(MemoryKind kind);  // "tensor", "program"

struct Allocation {
  DeviceHandle handle;  // its first byte
  uint64_t size_bytes = 0;
  MemoryKind kind = MemoryKind::kTensor;
  uint64_t id = 0;  // unique in the process, never used again
};

struct MemoryStatistics {
  uint64_t capacity_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t peak_bytes = 0;          // most ever used at once
  uint64_t largest_free_bytes = 0;  // the largest allocation that would succeed
  uint64_t live_allocations = 0;
  uint64_t total_allocations = 0;  // ever made
  // Freed, but not handed out again before work that was enqueued earlier has passed; neither used
  // nor free.
  uint64_t waiting_bytes = 0;
  uint64_t waiting_allocations = 0;
  // 1 - largest free block of each region, added up / free bytes; 0 when nothing is free
  double fragmentation = 0;
};

// Maps PF allocations on the card; an interface so that the allocator can be tested without one.
class DeviceMapper {
 public:
  virtual ~DeviceMapper() = default;
  virtual void Map(uint64_t physical, uint64_t length, uint8_t permission) = 0;
  virtual void Unmap(uint64_t physical) = 0;
};

class SpyreAllocator {
 public:
  static constexpr uint64_t kDefaultProgramBytes = 12ull << 30;

  // PF mode over memory_bytes of device memory, of which the top program_bytes are for programs (a
  // quarter of memory if it has no more than that). `mapper` is not owned.
  static SpyreAllocator Physical(uint64_t memory_bytes, uint64_t program_bytes,
                                 DeviceMapper& mapper);
  // VF mode over regions of these lengths.
  static SpyreAllocator Regions(const std::array<uint64_t, kRegions>& region_bytes);

  // `first_region`: VF mode, which of the tensor regions that have memory is tried first, counted
  // round; the others follow.
  DeviceHandle Allocate(uint64_t size_bytes, MemoryKind kind = MemoryKind::kTensor,
                        uint32_t first_region = 0);
  void Free(const DeviceHandle& handle) { Release(Retire(handle, 0)); }
  // Ends the allocation; its memory is handed out again after Reclaim of `ticket`. Returns which.
  Allocation Retire(const DeviceHandle& handle, uint64_t ticket);
  // What was retired with tickets up to `passed` is free.
  void Reclaim(uint64_t passed);
  size_t waiting() const { return retired_.size(); }  // allocations retired, and not free
  // The allocation that contains the location, if there is one, and if the handle was made for it.
  std::optional<Allocation> FindAllocation(const DeviceHandle& handle) const;
  // Why FindAllocation finds none: "its memory was freed", ...
  std::string WhyNot(const DeviceHandle& handle) const;

  bool is_physical() const { return mapper_ != nullptr; }
  MemoryStatistics Statistics(MemoryKind kind) const;
  std::vector<Allocation> Allocations() const;
  // Maps every allocation again, after a reset made the card forget (PF mode). What was retired is
  // free: nothing is outstanding.
  void Remap();

 private:
  struct Space {
    MemoryKind kind;
    uint32_t region;  // VF mode
    BlockSpace blocks;
    std::map<uint64_t, uint64_t> ids;  // start of a block -> Allocation::id
  };
  struct Retired {
    size_t space;
    uint64_t offset;
    uint64_t size;
    uint64_t ticket;
  };
  struct Counters {
    uint64_t used_bytes = 0;
    uint64_t peak_bytes = 0;
    uint64_t total_allocations = 0;
  };

  std::vector<Space*> SpacesFor(MemoryKind kind, uint32_t first_region);
  SpyreAllocator();
  void Release(const Allocation& retired);
  void Give(const Retired& block);
  DeviceHandle HandleAt(const Space& space, uint64_t offset) const;
  DeviceHandle HandleAt(const Space& space, uint64_t offset, uint64_t id) const;
  const Space* SpaceOf(const DeviceHandle& handle) const;
  Counters& CountersOf(MemoryKind kind) { return counters_[kind == MemoryKind::kProgram]; }

  DeviceMapper* mapper_ = nullptr;  // PF mode only
  std::vector<Space> spaces_;       // in the order in which they are tried
  std::array<Counters, 2> counters_{};
  std::vector<Retired> retired_;  // by ticket
  uint64_t next_id_;              // the high bits are the allocator's
};

}  // namespace spyre::flex
