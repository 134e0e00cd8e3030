// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/spyre_allocator.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::flex {
namespace {

constexpr uint8_t kTensorPermission = kPermissionRead | kPermissionWrite;
constexpr uint8_t kProgramPermission = kPermissionRead | kPermissionWrite | kPermissionExecute;

uint8_t PermissionOf(MemoryKind kind) {
  return kind == MemoryKind::kProgram ? kProgramPermission : kTensorPermission;
}

// Ids of allocations are unique in the process: the high bits are those of the allocator.
constexpr int kAllocatorShift = 40;

uint64_t FirstId() {
  static std::atomic<uint64_t> allocators{0};
  return (++allocators << kAllocatorShift) + 1;
}

}  // namespace

SpyreAllocator::SpyreAllocator() : next_id_(FirstId()) {}

const char* MemoryKindName(MemoryKind kind) {
  return kind == MemoryKind::kProgram ? "program" : "tensor";
}

SpyreAllocator SpyreAllocator::Physical(uint64_t memory_bytes, uint64_t program_bytes,
                                        DeviceMapper& mapper) {
  if (!IsStickAligned(memory_bytes) || memory_bytes < 4 * kStickBytes) {
    throw BadInput("device memory of {} bytes: a multiple of {} bytes is expected", memory_bytes,
                   kStickBytes);
  }
  if (memory_bytes <= program_bytes) program_bytes = memory_bytes / 4;
  program_bytes = AlignUp(program_bytes, kStickBytes);
  const uint64_t program_start = memory_bytes - program_bytes;
  const uint64_t tensor_limit = std::min(program_start, kProgramBase);
  SpyreAllocator allocator;
  allocator.mapper_ = &mapper;
  allocator.spaces_.push_back({MemoryKind::kTensor, 0, BlockSpace(0, tensor_limit), {}});
  allocator.spaces_.push_back(
      {MemoryKind::kProgram, 0, BlockSpace(tensor_limit, memory_bytes - tensor_limit), {}});
  return allocator;
}

SpyreAllocator SpyreAllocator::Regions(const std::array<uint64_t, kRegions>& region_bytes) {
  SpyreAllocator allocator;
  for (uint32_t region = 0; region < kRegions; ++region) {
    if (region_bytes[region] > kSegmentBytes) {
      throw BadInput("region {} has {} bytes; a segment shows at most {}", region,
                     region_bytes[region], kSegmentBytes);
    }
    const uint64_t length = region_bytes[region] / kStickBytes * kStickBytes;
    const MemoryKind kind = region == kProgramSegment ? MemoryKind::kProgram : MemoryKind::kTensor;
    allocator.spaces_.push_back({kind, region, BlockSpace(0, length), {}});
  }
  return allocator;
}

DeviceHandle SpyreAllocator::HandleAt(const Space& space, uint64_t offset) const {
  const auto known = space.ids.find(offset);
  return HandleAt(space, offset, known == space.ids.end() ? 0 : known->second);
}

DeviceHandle SpyreAllocator::HandleAt(const Space& space, uint64_t offset, uint64_t id) const {
  if (is_physical()) return PFDeviceHandle{offset, id};
  return VFDeviceHandle{space.region, offset, id};
}

const SpyreAllocator::Space* SpyreAllocator::SpaceOf(const DeviceHandle& handle) const {
  if (IsPhysical(handle) != is_physical()) return nullptr;
  if (const auto* vf = std::get_if<VFDeviceHandle>(&handle)) {
    return vf->region_id < spaces_.size() ? &spaces_[vf->region_id] : nullptr;
  }
  const uint64_t address = RawOffset(handle);
  for (const Space& space : spaces_) {
    if (address - space.blocks.base() < space.blocks.length()) return &space;
  }
  return nullptr;
}

// Spaces with memory of this kind, in the order in which they are tried.
std::vector<SpyreAllocator::Space*> SpyreAllocator::SpacesFor(MemoryKind kind,
                                                              uint32_t first_region) {
  std::vector<Space*> spaces;
  for (Space& space : spaces_) {
    if (space.kind == kind && space.blocks.length() > 0) spaces.push_back(&space);
  }
  if (!spaces.empty()) {
    std::rotate(spaces.begin(),
                spaces.begin() + static_cast<ptrdiff_t>(first_region % spaces.size()),
                spaces.end());
  }
  return spaces;
}

DeviceHandle SpyreAllocator::Allocate(uint64_t size_bytes, MemoryKind kind, uint32_t first_region) {
  if (size_bytes == 0)
    throw BadInput("{} allocation of 0 bytes", MemoryKindName(kind))
        .Subject(MemoryKindName(kind))
        .Value(0);
  const uint64_t size = AlignUp(size_bytes, kStickBytes);
  if (size < size_bytes) {
    throw BadInput("{} allocation of {} bytes: larger than any card", MemoryKindName(kind),
                   size_bytes)
        .Subject(MemoryKindName(kind))
        .Value(size_bytes);
  }
  for (Space* space : SpacesFor(kind, first_region)) {
    const std::optional<uint64_t> offset = space->blocks.Take(size);
    if (!offset) continue;
    if (mapper_) {
      try {
        mapper_->Map(*offset, size, PermissionOf(kind));
      } catch (...) {
        space->blocks.Retire(*offset);
        space->blocks.Give(*offset, size);
        throw;
      }
    }
    space->ids[*offset] = next_id_++;
    Counters& counters = CountersOf(kind);
    ++counters.total_allocations;
    counters.used_bytes += size;
    counters.peak_bytes = std::max(counters.peak_bytes, counters.used_bytes);
    return HandleAt(*space, *offset);
  }
  const MemoryStatistics statistics = Statistics(kind);
  throw BadInput(
      "out of {} memory: {} bytes requested, {} of {} bytes free, largest free block {} bytes{}{}",
      MemoryKindName(kind), size, statistics.free_bytes, statistics.capacity_bytes,
      statistics.largest_free_bytes,
      statistics.waiting_bytes == 0
          ? ""
          : fmt::format(", {} bytes were freed and wait for work that was enqueued before",
                        statistics.waiting_bytes),
      statistics.capacity_bytes == 0 ? " (no region of this kind was assigned to the function)"
                                     : "")
      .Subject(MemoryKindName(kind))
      .Value(size)
      .Remedy(fmt::format("{} bytes at most", statistics.largest_free_bytes));
}

Allocation SpyreAllocator::Retire(const DeviceHandle& handle, uint64_t ticket) {
  const Space* found = SpaceOf(handle);
  if (found == nullptr) {
    throw BadInput("free of {}: no such memory in {} mode", ToString(handle),
                   is_physical() ? "PF" : "VF")
        .Subject(ToString(handle));
  }
  const auto index = static_cast<size_t>(found - spaces_.data());
  Space& space = spaces_[index];
  const uint64_t offset = RawOffset(handle);
  const auto block = space.blocks.Find(offset);
  if (!block || (AllocationOf(handle) != 0 && AllocationOf(handle) != space.ids.at(block->first))) {
    throw BadInput("free of {}: {} (freed twice, or never allocated)", ToString(handle),
                   WhyNot(handle))
        .Subject(ToString(handle));
  }
  if (block->first != offset) {
    throw BadInput("free of {}: inside the allocation of {} bytes that starts at {}",
                   ToString(handle), block->second, ToString(HandleAt(space, block->first)))
        .Subject(ToString(handle))
        .Remedy(ToString(HandleAt(space, block->first)));
  }
  const Allocation allocation{HandleAt(space, offset), block->second, space.kind,
                              space.ids.at(offset)};
  space.blocks.Retire(offset);
  space.ids.erase(offset);
  CountersOf(space.kind).used_bytes -= allocation.size_bytes;
  retired_.push_back({index, offset, allocation.size_bytes, ticket});
  return allocation;
}

void SpyreAllocator::Release(const Allocation& retired) {
  const auto is_it = [&](const Retired& block) {
    return block.offset == RawOffset(retired.handle) &&
           SpaceOf(retired.handle) == &spaces_[block.space];
  };
  const auto at = FindIf(retired_, is_it);
  const Retired block = *at;
  retired_.erase(at);
  Give(block);
}

void SpyreAllocator::Give(const Retired& block) {
  spaces_[block.space].blocks.Give(block.offset, block.size);
  if (mapper_) mapper_->Unmap(block.offset);
}

void SpyreAllocator::Reclaim(uint64_t passed) {
  const auto waits = [passed](const Retired& block) { return block.ticket > passed; };
  const auto first = FindIf(retired_, waits);
  const std::vector<Retired> free(retired_.begin(), first);
  retired_.erase(retired_.begin(), first);
  for (const Retired& block : free) Give(block);
}

std::optional<Allocation> SpyreAllocator::FindAllocation(const DeviceHandle& handle) const {
  const Space* space = SpaceOf(handle);
  if (space == nullptr) return std::nullopt;
  const auto block = space->blocks.Find(RawOffset(handle));
  if (!block) return std::nullopt;
  const uint64_t id = space->ids.at(block->first);
  if (AllocationOf(handle) != 0 && AllocationOf(handle) != id) return std::nullopt;
  return Allocation{HandleAt(*space, block->first, id), block->second, space->kind, id};
}

std::string SpyreAllocator::WhyNot(const DeviceHandle& handle) const {
  if (IsPhysical(handle) != is_physical()) {
    return is_physical() ? "it is a location of a virtual function, and this is the physical one"
                         : "it is a location of the physical function, and this is a virtual one";
  }
  const uint64_t id = AllocationOf(handle);
  if (id >> kAllocatorShift != next_id_ >> kAllocatorShift && id != 0) {
    return "it belongs to another context, or to one that was closed";
  }
  const auto lives = [id](const Space& space) {
    return AnyFits(space.ids, [id](const auto& block) { return block.second == id; });
  };
  if (id != 0 && NoneFits(spaces_, lives)) return "its memory was freed";
  const Space* space = SpaceOf(handle);
  if (space != nullptr && space->blocks.Find(RawOffset(handle))) {
    return "it lies in another allocation than the one that it was made for";
  }
  return "nothing is allocated there";
}

MemoryStatistics SpyreAllocator::Statistics(MemoryKind kind) const {
  MemoryStatistics statistics;
  uint64_t largest_sum = 0;  // regions are separate by design: that alone is not fragmentation
  for (const Space& space : spaces_) {
    if (space.kind != kind) continue;
    const uint64_t largest = space.blocks.LargestFree();
    largest_sum += largest;
    statistics.capacity_bytes += space.blocks.length();
    statistics.used_bytes += space.blocks.used();
    statistics.waiting_bytes += space.blocks.retired();
    statistics.largest_free_bytes = std::max(statistics.largest_free_bytes, largest);
    statistics.live_allocations += space.blocks.blocks().size();
  }
  for (const Retired& block : retired_) {
    if (spaces_[block.space].kind == kind) ++statistics.waiting_allocations;
  }
  statistics.free_bytes =
      statistics.capacity_bytes - statistics.used_bytes - statistics.waiting_bytes;
  const Counters& counters = counters_[kind == MemoryKind::kProgram];
  statistics.peak_bytes = counters.peak_bytes;
  statistics.total_allocations = counters.total_allocations;
  if (statistics.free_bytes > 0) {
    statistics.fragmentation =
        1.0 - static_cast<double>(largest_sum) / static_cast<double>(statistics.free_bytes);
  }
  return statistics;
}

std::vector<Allocation> SpyreAllocator::Allocations() const {
  std::vector<Allocation> allocations;
  for (const Space& space : spaces_) {
    for (const auto& [offset, size] : space.blocks.blocks()) {
      allocations.push_back({HandleAt(space, offset), size, space.kind, space.ids.at(offset)});
    }
  }
  return allocations;
}

void SpyreAllocator::Remap() {
  // The card has forgotten their mappings.
  for (const Retired& block : retired_) spaces_[block.space].blocks.Give(block.offset, block.size);
  retired_.clear();
  if (!mapper_) return;
  for (const Allocation& allocation : Allocations()) {
    mapper_->Map(RawOffset(allocation.handle), allocation.size_bytes,
                 PermissionOf(allocation.kind));
  }
}

}  // namespace spyre::flex
