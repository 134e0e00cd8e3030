// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/flex_stream.h"

#include <utility>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "model/contract/memory_map.h"
#include "runtime/flex/peer_memory.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::flex {
namespace {

// One key for each program allocation; never 0.
uint64_t ExclusiveKey(const DeviceHandle& program) {
  const uint64_t region =
      IsPhysical(program) ? kRegions : std::get<VFDeviceHandle>(program).region_id;
  return (region + 1) << 48 | RawOffset(program);
}

}  // namespace

FlexStream::FlexStream(RuntimeContext& context, uint32_t stream_index)
    : context_(context), stream_index_(stream_index) {}

int FlexStream::priority() const { return stream_index_ >= kFirstHighPriorityStream ? -1 : 0; }

void FlexStream::CopyToDevice(const void* host_address, const DeviceHandle& device_handle,
                              uint64_t size, const OperationInfo& info) {
  // The device only reads it.
  Copy(Opcode::DMA_IN, "CopyToDevice", const_cast<void*>(host_address), device_handle, size, info);
}

void FlexStream::CopyFromDevice(void* host_address, const DeviceHandle& device_handle,
                                uint64_t size, const OperationInfo& info) {
  Copy(Opcode::DMA_OUT, "CopyFromDevice", host_address, device_handle, size, info);
}

std::optional<Allocation> FlexStream::CheckRange(const char* what, const DeviceHandle& handle,
                                                 uint64_t size) const {
  const std::optional<Allocation> allocation = context_.FindAllocation(handle);
  if (!context_.options().bounds_check) return allocation;
  if (size == 0) {
    throw BadInput("stream {}: {} of 0 bytes at {}", stream_index_, what, ToString(handle));
  }
  if (!IsStickAligned(RawOffset(handle)) || !IsStickAligned(size)) {
    throw BadInput(
        "stream {}: {} of {} bytes at {}: location and size must be multiples of {} bytes",
        stream_index_, what, size, ToString(handle), kStickBytes);
  }
  if (!allocation) {
    throw BadInput("stream {}: {} of {} bytes at {}: {}", stream_index_, what, size,
                   ToString(handle), context_.WhyNotAllocated(handle));
  }
  const uint64_t offset = RawOffset(handle) - RawOffset(allocation->handle);
  if (size > allocation->size_bytes - offset) {
    throw BadInput(
        "stream {}: {} of {} bytes at {} is out of bounds: the {} allocation at {} has {} bytes, "
        "of which {} are left from there",
        stream_index_, what, size, ToString(handle), MemoryKindName(allocation->kind),
        ToString(allocation->handle), allocation->size_bytes, allocation->size_bytes - offset);
  }
  return allocation;
}

ControlBlockRequest FlexStream::MakeRequest(Opcode opcode, const char* name,
                                            const OperationInfo& info) const {
  ControlBlockRequest request;
  request.opcode = opcode;
  if (info.name.empty()) {
    request.name = name;
  } else {
    request.name = info.name;
  }
  request.correction = info.correction;
  request.index_tensors = info.index_tensors;
  request.label = info.label;
  request.tag = info.tag;
  request.joined = info.joined;
  request.keep_alive = info.keep_alive;
  if (info.bulk && context_.options().timing_only) request.flags |= kFlagTimingOnly;
  if (info.prepare) request.flags |= kFlagPrepare;
  request.then = info.then;
  request.arguments = info.arguments;
  if (context_.tracks_hazards()) {
    request.touches =
        std::make_shared<const TouchedMemory>(TouchedMemory{info.accesses, info.launch});
  }
  return request;
}

void FlexStream::Copy(Opcode opcode, const char* name, void* host_address,
                      const DeviceHandle& handle, uint64_t size, const OperationInfo& info) {
  const auto lock = context_.Enter();
  CheckAlive(name);
  RuntimeContext::HostSlice slice(context_, stream_index_, name, size);
  if (host_address == nullptr) {
    throw BadInput("stream {}: {} of {} bytes at {}: the host address is null", stream_index_, name,
                   size, ToString(handle));
  }
  const auto allocation = CheckRange(name, handle, size);
  ControlBlockRequest request = MakeRequest(opcode, name, info);
  request.location = handle;
  request.size_bytes = size;
  if (allocation && allocation->kind == MemoryKind::kProgram && !info.ordered) {
    request.exclusive_key = ExclusiveKey(allocation->handle);
  }
  driver::Device& device = context_.device();
  request.host_address = device.MapHost(host_address, size);
  request.unmap = true;
  const driver::IoAddress mapped = request.host_address;
  try {
    slice.set_flow(Enqueue(std::move(request)));
  } catch (...) {
    device.UnmapHost(mapped);
    throw;
  }
}

void FlexStream::CopyToPeer(const DeviceHandle& device_handle, const PeerMemory& peer,
                            uint64_t offset, uint64_t size, const OperationInfo& info) {
  CopyPeer(Opcode::DMA_OUT, "CopyToPeer", peer, offset, device_handle, size, info);
}

void FlexStream::CopyFromPeer(const PeerMemory& peer, uint64_t offset,
                              const DeviceHandle& device_handle, uint64_t size,
                              const OperationInfo& info) {
  CopyPeer(Opcode::DMA_IN, "CopyFromPeer", peer, offset, device_handle, size, info);
}

void FlexStream::CopyPeer(Opcode opcode, const char* name, const PeerMemory& peer, uint64_t offset,
                          const DeviceHandle& handle, uint64_t size, const OperationInfo& info) {
  const auto lock = context_.Enter();
  CheckAlive(name);
  RuntimeContext::HostSlice slice(context_, stream_index_, name, size);
  CheckRange(name, handle, size);
  if (size > peer.size_bytes() || offset > peer.size_bytes() - size) {
    throw BadInput(
        "stream {}: {} of {} bytes at {} of the memory of card {}, of which {} are mapped",
        stream_index_, name, size, offset, peer.card(), peer.size_bytes());
  }
  ControlBlockRequest request = MakeRequest(opcode, name, info);
  request.location = handle;
  request.size_bytes = size;
  request.host_address = peer.address() + offset;
  slice.set_flow(Enqueue(std::move(request)));
}

void FlexStream::Fill(const DeviceHandle& device_handle, uint64_t size, uint64_t pattern,
                      const OperationInfo& info) {
  const auto lock = context_.Enter();
  CheckAlive("Fill");
  RuntimeContext::HostSlice slice(context_, stream_index_, "Fill", size);
  CheckRange("Fill", device_handle, size);
  ControlBlockRequest request = MakeRequest(Opcode::DMA_FILL, "Fill", info);
  request.location = device_handle;
  request.size_bytes = size;
  request.value = pattern;
  slice.set_flow(Enqueue(std::move(request)));
}

void FlexStream::Launch(const DeviceHandle& device_handle, const OperationInfo& info) {
  const auto lock = context_.Enter();
  CheckAlive("Launch");
  RuntimeContext::HostSlice slice(context_, stream_index_, "Launch");
  ControlBlockRequest request = MakeRequest(Opcode::COMPUTE, "Launch", info);
  const auto allocation = context_.FindAllocation(device_handle);
  if (allocation &&
      (allocation->kind == MemoryKind::kProgram || !context_.options().bounds_check)) {
    request.program = allocation->handle;
    request.program_bytes = allocation->size_bytes;
    request.program_offset = RawOffset(device_handle) - RawOffset(allocation->handle);
    if (!info.ordered) request.exclusive_key = ExclusiveKey(allocation->handle);
  } else if (context_.options().bounds_check) {
    throw BadInput("stream {}: Launch of {}: {}", stream_index_, ToString(device_handle),
                   allocation ? fmt::format("it is in the tensor allocation of {} bytes at {}; "
                                            "programs are launched from program memory",
                                            allocation->size_bytes, ToString(allocation->handle))
                              : context_.WhyNotAllocated(device_handle));
  } else {
    request.program = device_handle;
    request.program_bytes = kStickBytes;
  }
  if (context_.options().bounds_check && !IsStickAligned(RawOffset(device_handle))) {
    throw BadInput("stream {}: Launch of {}: a binary starts at a multiple of {} bytes",
                   stream_index_, ToString(device_handle), kStickBytes);
  }
  slice.set_flow(Enqueue(std::move(request)));
}

uint64_t FlexStream::Enqueue(ControlBlockRequest&& request) {
  Capture* capture = context_.capture_.get();
  if (capture != nullptr && capture->Takes(stream_index_, request)) {
    capture->Add(stream_index_, std::move(request));
    return 0;
  }
  return context_.QueueOperation(stream_index_, std::move(request));
}

void FlexStream::CheckAlive(const char* what) const {
  if (destroyed_) throw BadInput("stream {} was destroyed: {} refused", stream_index_, what);
}

void FlexStream::CheckMaySynchronize(const char* what) const {
  CheckAlive(what);
  if (context_.capture_ && context_.capture_->Has(stream_index_)) {
    throw BadInput("stream {}: {} while it is captured", stream_index_, what);
  }
}

void FlexStream::EnqueueEvent(Opcode opcode, const char* what, const Event& event) {
  CheckAlive(what);
  RuntimeContext::HostSlice slice(context_, stream_index_, what);
  const std::string use = fmt::format("stream {}: {} of", stream_index_, what);
  event.CheckContext(context_, use);
  event.CheckUsable(use);
  EventState& state = *event.state_;
  if (opcode == Opcode::EVENT_SIGNAL && state.status != EventStatus::kUnrecorded) {
    throw BadInput("{} event '{}': stream {} records it already, and an event is recorded once",
                   use, state.name, state.stream);
  }
  ControlBlockRequest request;
  request.opcode = opcode;
  request.name = state.name;
  request.event = event.state_;
  slice.set_flow(Enqueue(std::move(request)));
}

void FlexStream::Record(const Event& event) {
  const auto lock = context_.Enter();
  EnqueueEvent(Opcode::EVENT_SIGNAL, "Record", event);
}

void FlexStream::Wait(const Event& event) {
  const auto lock = context_.Enter();
  EnqueueEvent(Opcode::EVENT_WAIT, "Wait", event);
}

void FlexStream::Callback(std::function<void()> function) {
  const auto lock = context_.Enter();
  CheckAlive("Callback");
  const RuntimeContext::HostSlice slice(context_, stream_index_, "Callback");
  if (!function) throw BadInput("stream {}: Callback of an empty function", stream_index_);
  ControlBlockRequest request;
  request.callback = std::move(function);
  Enqueue(std::move(request));
}

void FlexStream::Synchronize() {
  {
    const auto lock = context_.Enter();
    CheckMaySynchronize("Synchronize");
  }
  context_.SynchronizeStream(stream_index_);
  context_.ChargeSynchronise();
}

bool FlexStream::Query() const {
  const auto lock = context_.Enter();
  CheckMaySynchronize("Query");
  const bool idle = context_.PollFor([this] { return context_.scheduler().Idle(stream_index_); });
  if (idle && context_.hazards_ != nullptr) context_.hazards_->ToldIdle(stream_index_);
  return idle;
}

}  // namespace spyre::flex
