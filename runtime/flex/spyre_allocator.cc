#include "runtime/flex/spyre_allocator.h"

#include <algorithm>

#include "model/contract/error.h"

namespace spyre::flex {
namespace {

constexpr uint8_t kTensorPermission = kPermissionRead | kPermissionWrite;
constexpr uint8_t kProgramPermission = kPermissionRead | kPermissionWrite | kPermissionExecute;

uint8_t PermissionOf(MemoryKind kind) {
  return kind == MemoryKind::kProgram ? kProgramPermission : kTensorPermission;
}

}  // namespace

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
  allocator.spaces_.push_back({MemoryKind::kTensor, 0, BlockSpace(0, tensor_limit)});
  allocator.spaces_.push_back(
      {MemoryKind::kProgram, 0, BlockSpace(tensor_limit, memory_bytes - tensor_limit)});
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
    allocator.spaces_.push_back({kind, region, BlockSpace(0, length)});
  }
  return allocator;
}

DeviceHandle SpyreAllocator::HandleAt(const Space& space, uint64_t offset) const {
  if (is_physical()) return PFDeviceHandle{offset};
  return VFDeviceHandle{space.region, offset};
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
  if (size_bytes == 0) throw BadInput("{} allocation of 0 bytes", MemoryKindName(kind));
  const uint64_t size = AlignUp(size_bytes, kStickBytes);
  if (size < size_bytes) {
    throw BadInput("{} allocation of {} bytes: larger than any card", MemoryKindName(kind),
                   size_bytes);
  }
  for (Space* space : SpacesFor(kind, first_region)) {
    const std::optional<uint64_t> offset = space->blocks.Take(size);
    if (!offset) continue;
    if (mapper_) {
      try {
        mapper_->Map(*offset, size, PermissionOf(kind));
      } catch (...) {
        space->blocks.Give(*offset);
        throw;
      }
    }
    Counters& counters = CountersOf(kind);
    ++counters.total_allocations;
    counters.used_bytes += size;
    counters.peak_bytes = std::max(counters.peak_bytes, counters.used_bytes);
    return HandleAt(*space, *offset);
  }
  const MemoryStatistics statistics = Statistics(kind);
  throw BadInput(
      "out of {} memory: {} bytes requested, {} of {} bytes free, largest free block {} bytes{}",
      MemoryKindName(kind), size, statistics.free_bytes, statistics.capacity_bytes,
      statistics.largest_free_bytes,
      statistics.capacity_bytes == 0 ? " (no region of this kind was assigned to the function)"
                                     : "");
}

void SpyreAllocator::Free(const DeviceHandle& handle) {
  const Space* space = SpaceOf(handle);
  if (space == nullptr) {
    throw BadInput("free of {}: no such memory in {} mode", ToString(handle),
                   is_physical() ? "PF" : "VF");
  }
  const uint64_t offset = RawOffset(handle);
  const auto block = space->blocks.Find(offset);
  if (!block) {
    throw BadInput("free of {}: nothing is allocated there (freed twice, or never allocated)",
                   ToString(handle));
  }
  if (block->first != offset) {
    throw BadInput("free of {}: inside the allocation of {} bytes that starts at {}",
                   ToString(handle), block->second, ToString(HandleAt(*space, block->first)));
  }
  if (mapper_) mapper_->Unmap(offset);
  CountersOf(space->kind).used_bytes -= block->second;
  spaces_[static_cast<size_t>(space - spaces_.data())].blocks.Give(offset);
}

std::optional<Allocation> SpyreAllocator::FindAllocation(const DeviceHandle& handle) const {
  const Space* space = SpaceOf(handle);
  if (space == nullptr) return std::nullopt;
  const auto block = space->blocks.Find(RawOffset(handle));
  if (!block) return std::nullopt;
  return Allocation{HandleAt(*space, block->first), block->second, space->kind};
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
    statistics.largest_free_bytes = std::max(statistics.largest_free_bytes, largest);
    statistics.live_allocations += space.blocks.blocks().size();
  }
  statistics.free_bytes = statistics.capacity_bytes - statistics.used_bytes;
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
      allocations.push_back({HandleAt(space, offset), size, space.kind});
    }
  }
  return allocations;
}

void SpyreAllocator::Remap() {
  if (!mapper_) return;
  for (const Allocation& allocation : Allocations()) {
    mapper_->Map(RawOffset(allocation.handle), allocation.size_bytes,
                 PermissionOf(allocation.kind));
  }
}

}  // namespace spyre::flex
