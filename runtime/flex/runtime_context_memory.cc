// SPDX-License-Identifier: Apache-2.0
// The RuntimeContext's memory: handed out, checked, and freed when nothing can touch it any more.
#include "base/error.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::flex {

// In the trace, as an instant. Sticks of 128 bytes, so that every address of the card has room; the
// addresses are those that programs use: regions of 16 GiB, one behind the other.
void RuntimeContext::TraceMemory(const char* what, const DeviceHandle& handle, uint64_t bytes) {
  trace::Recorder* const recorder = options_.device.recorder;
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return;
  constexpr uint64_t kStick = 128, kRegionSticks = (16ull << 30) / kStick;
  const auto* const region = std::get_if<VFDeviceHandle>(&handle);
  const uint64_t sticks =
      RawOffset(handle) / kStick + (region != nullptr ? region->region_id * kRegionSticks : 0);
  const uint64_t now_ps = device_.transport().NowPs();
  recorder->Slice(trace::kHost, recorder->AddTrack("host", "device memory"), recorder->Intern(what),
                  now_ps, now_ps, 0, bytes, static_cast<uint32_t>(sticks));
}

DeviceHandle RuntimeContext::Allocate(uint64_t size_bytes, MemoryKind kind, uint32_t first_region) {
  const auto lock = Enter();
  Reclaim();
  for (;;) {
    try {
      const DeviceHandle handle = allocator_.Allocate(size_bytes, kind, first_region);
      TraceMemory("allocate", handle, size_bytes);
      return handle;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput || !WaitForFreed()) throw;
    }
  }
}

// Memory is short. True: some more is free now.
bool RuntimeContext::WaitForFreed() {
  const size_t before = allocator_.waiting();
  try {
    while (allocator_.waiting() == before) {
      if (before == 0 || scheduler_.InCallback()) return false;
      scheduler_.Progress();
      Reclaim();
    }
  } catch (const Error&) {
    return false;  // what it waits for cannot move
  }
  return true;
}

void RuntimeContext::Reclaim() {
  if (allocator_.waiting() != 0) allocator_.Reclaim(scheduler_.PassedCorrelation());
}

void RuntimeContext::Free(const DeviceHandle& handle) {
  const auto lock = Enter();
  const Allocation freed = allocator_.Retire(handle, scheduler_.last_correlation());
  if (hazards_) hazards_->Forget(freed.handle, freed.size_bytes);
  TraceMemory("free", freed.handle, freed.size_bytes);
  Reclaim();
}

std::optional<Allocation> RuntimeContext::FindAllocation(const DeviceHandle& handle) const {
  const auto lock = Enter();
  return allocator_.FindAllocation(handle);
}

void RuntimeContext::CheckMemory(const std::string& what, const DeviceHandle& handle,
                                 uint64_t size) const {
  if (!options_.bounds_check) return;
  const auto lock = Enter();
  const std::optional<Allocation> allocation = allocator_.FindAllocation(handle);
  if (!allocation) {
    throw BadInput("{}: {} bytes at {}: {}", what, size, ToString(handle),
                   allocator_.WhyNot(handle));
  }
  const uint64_t offset = RawOffset(handle) - RawOffset(allocation->handle);
  if (size > allocation->size_bytes - offset) {
    throw BadInput(
        "{}: {} bytes at {} are out of bounds: the {} allocation at {} has {} bytes, of which {} "
        "are left from there",
        what, size, ToString(handle), MemoryKindName(allocation->kind),
        ToString(allocation->handle), allocation->size_bytes, allocation->size_bytes - offset);
  }
}

std::string RuntimeContext::WhyNotAllocated(const DeviceHandle& handle) const {
  const auto lock = Enter();
  return allocator_.WhyNot(handle);
}

MemoryStatistics RuntimeContext::Statistics(MemoryKind kind) const {
  const auto lock = Enter();
  allocator_.Reclaim(scheduler_.PassedCorrelation());
  return allocator_.Statistics(kind);
}

}  // namespace spyre::flex
