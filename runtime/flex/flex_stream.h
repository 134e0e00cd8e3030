// SPDX-License-Identifier: Apache-2.0
// FlexStream: an ordered, asynchronous queue of primitive operations on the device (the runtime
// RFC). It knows copies, fills and launches by DeviceHandle; it knows no Operations, tensors or
// tiling.
//
// Made and owned by RuntimeContext. Threads: any; every call takes the runtime's lock. All methods
// return at once, except Synchronize. Operations of one stream run in order; between streams no
// order is promised. Sizes and offsets in bytes, multiples of 128.
//
// The default stream is a stream as any other: it waits for no other one and no other one for it,
// unlike the legacy default stream of CUDA. Order between streams is made by events (event.h).
//
// Errors: Error(kBadInput), and nothing is enqueued, for a location outside every allocation, a
// copy past the end of one, a misaligned location or size, a null host address, an event that
// cannot be used, and for every use after RuntimeContext::DestroyStream. Error(kDeviceFault) when
// the stream is in error: the first failure is sticky, later operations are refused or dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/flex/control_block_request.h"
#include "runtime/flex/device_handle.h"
#include "runtime/flex/event.h"
#include "runtime/flex/hazard.h"
#include "runtime/flex/spyre_allocator.h"

namespace spyre::flex {

class PeerMemory;
class RuntimeContext;

// What the caller may say about an operation. All optional.
struct OperationInfo {
  std::string name;  // launches: name of the program, for trace and report
  std::shared_ptr<const std::vector<std::string>> index_tensors;  // launches: as INDEX_RANGE counts
  std::string label;        // the caller's own, copied to CompletedOperation
  uint64_t tag = 0;         // likewise
  bool bulk = false;        // tensor data: not moved in a timing-only run
  bool correction = false;  // launches: a program that prepares another one, no kernel itself
  bool prepare = false;     // launches: of core 0 alone, on the card's prepare engine if it has one
  bool joined =
      false;  // no operation of another stream between the previous one of this stream and it
  // The caller orders all uses of the program allocation, by streams and events. Otherwise the card
  // is told to finish what another stream does with it first.
  bool ordered = false;
  std::shared_ptr<const void> keep_alive;  // released when the operation has completed
  // Called once after completion, without the runtime's lock, on the thread that saw the response;
  // not called for an operation that failed or was dropped. As FlexStream::Callback, but later
  // operations of the stream do not wait for it.
  std::function<void()> then;
  // For the hazard tracker, if there is one. Launches: the tensor memory that the program reads and
  // writes; none: not known. Copies, fills and programs are known.
  std::vector<Access> accesses;
  // Launches in a capture: the memory of their tensors, which must be there at each replay.
  std::vector<DeviceHandle> arguments;
  // Name of the launch that this operation and those joined to it make up; `accesses` are then
  // those of all. Empty: the operation is one by itself.
  std::string launch;
};

class FlexStream {
 public:
  FlexStream(RuntimeContext& context, uint32_t stream_index);  // called by RuntimeContext
  FlexStream(const FlexStream&) = delete;
  FlexStream& operator=(const FlexStream&) = delete;

  // Host memory must stay valid until the copy has completed (keep_alive can see to it); it is
  // mapped for the device meanwhile.
  void CopyToDevice(const void* host_address, const DeviceHandle& device_handle, uint64_t size,
                    const OperationInfo& info = {});
  void CopyFromDevice(void* host_address, const DeviceHandle& device_handle, uint64_t size,
                      const OperationInfo& info = {});
  // Between device memory and that of another card, from `offset` of what is mapped of it on.
  void CopyToPeer(const DeviceHandle& device_handle, const PeerMemory& peer, uint64_t offset,
                  uint64_t size, const OperationInfo& info = {});
  void CopyFromPeer(const PeerMemory& peer, uint64_t offset, const DeviceHandle& device_handle,
                    uint64_t size, const OperationInfo& info = {});
  // Writes the 64-bit `pattern` over [device_handle, device_handle + size).
  void Fill(const DeviceHandle& device_handle, uint64_t size, uint64_t pattern,
            const OperationInfo& info = {});
  // Runs the binary at device_handle. The program allocation that contains it is what the program
  // sees as segment 7.
  void Launch(const DeviceHandle& device_handle, const OperationInfo& info = {});

  // The event is complete when everything enqueued on this stream so far is. On a stream in error
  // it throws that error, and the event has failed.
  void Record(const Event& event);
  // What is enqueued on this stream from now on starts after the event is complete.
  void Wait(const Event& event);
  // Calls `function` once, when everything enqueued on this stream so far has completed and before
  // anything enqueued later starts; never if the stream fails before. It is called without the
  // runtime's lock by the thread that sees the last response (or by this one, before Callback
  // returns, if the stream is idle and no lock is held). It may enqueue, record and wait on
  // streams, but a Synchronize inside it throws BadInput. What it throws becomes the stream's
  // error.
  void Callback(std::function<void()> function);

  // Waits until everything enqueued on this stream before the call has completed. Throws the
  // stream's error if it has one: Error(kDeviceFault) naming operation, stream, address and status.
  // Throws Error(kDeviceFault) too when it can not complete because nothing can move (event.h);
  // that is not an error of the stream, which stays as it is.
  void Synchronize();
  // True: nothing enqueued is outstanding. Does not wait; costs one poll interval of host time if
  // something is.
  bool Query() const;

  uint32_t stream_index() const { return stream_index_; }
  // 0 normal, -1 high; as the public stream API counts.
  int priority() const;
  RuntimeContext& context() const { return context_; }

 private:
  friend class RuntimeContext;
  friend class CapturedGraph;
  void CheckAlive(const char* what) const;
  void CheckMaySynchronize(const char* what) const;
  void EnqueueEvent(Opcode opcode, const char* what, const Event& event);
  void Copy(Opcode opcode, const char* name, void* host_address, const DeviceHandle& handle,
            uint64_t size, const OperationInfo& info);
  void CopyPeer(Opcode opcode, const char* name, const PeerMemory& peer, uint64_t offset,
                const DeviceHandle& handle, uint64_t size, const OperationInfo& info);
  // The allocation that contains the location, which `size` bytes from there must not leave.
  std::optional<Allocation> CheckRange(const char* what, const DeviceHandle& handle,
                                       uint64_t size) const;
  ControlBlockRequest MakeRequest(Opcode opcode, const char* name, const OperationInfo& info) const;
  uint64_t Enqueue(ControlBlockRequest&& request);  // its correlation

  RuntimeContext& context_;
  uint32_t stream_index_;
  bool destroyed_ = false;
};

}  // namespace spyre::flex
