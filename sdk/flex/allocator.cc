// SPDX-License-Identifier: Apache-2.0
#include <libaiupti/aiupti_runtime_cbid.h>

#include <flex/flex.hpp>
#include <utility>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "runtime/flex/runtime_context.h"
#include "sdk/flex/activities.h"
#include "sdk/flex/platform.h"

namespace flex {

using spyre::BadInput;
using spyre::sdk::Platform;

CompositeAddress FlexAllocator::allocate(size_t bytes, const AllocationDirective& directive) {
  for (const int domain : directive.domains) {
    if (domain != 0)
      throw BadInput("memory of domain {} is asked for; the card has domain 0", domain);
  }
  if (directive.alignment.value_or(1) > spyre::kStickBytes) {
    throw BadInput("memory aligned to {} bytes is asked for; it is aligned to {}",
                   *directive.alignment, spyre::kStickBytes);
  }
  const activity::HostCall call(AIUPTI_RUNTIME_TRACE_CBID_MALLOC, bytes);
  Platform& platform = Platform::Get();
  const auto kind = directive.type == MemoryType::Program ? spyre::flex::MemoryKind::kProgram
                                                          : spyre::flex::MemoryKind::kTensor;
  const auto take = [&] { return platform.context().Allocate(bytes, kind); };
  spyre::flex::DeviceHandle handle;
  try {
    handle = take();
  } catch (const spyre::Error& error) {
    if (error.kind() != spyre::ErrorKind::kBadInput) throw;
    std::unique_lock<std::mutex> lock(mutex_);
    if (callbacks_.empty()) throw;
    // Others may register while a callback has let go of the lock.
    const std::vector<MemoryPressureCallback> callbacks = callbacks_;
    for (const MemoryPressureCallback& callback : callbacks) callback(lock);
    handle = take();
  }
  const size_t size = spyre::AlignUp(bytes, spyre::kStickBytes);
  const auto note = [address = ToDeviceVirtual(handle), size](bool freed) {
    activity::Recorder::Get().Note(activity::Memory{freed, address, size});
  };
  note(false);
  const std::shared_ptr<void> owner(nullptr, [handle, note](void*) {
    Platform::Free(handle);
    note(true);
  });
  return {Chunk(Platform::AddressOf(handle), size, 0), owner};
}

uint64_t FlexAllocator::compositeAddressToDmva(const CompositeAddress& address) const {
  const Chunk& chunk = Platform::ChunkOf(&address, "a device virtual address");
  return ToDeviceVirtual(Platform::Get().HandleOf(chunk));
}

void FlexAllocator::registerMemoryPressureCallback(MemoryPressureCallback callback) {
  if (!callback) throw BadInput("a memory pressure callback without a function");
  const std::lock_guard<std::mutex> lock(mutex_);
  callbacks_.push_back(std::move(callback));
}

}  // namespace flex
