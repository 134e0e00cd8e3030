// SPDX-License-Identifier: Apache-2.0
// RuntimeContext: one opened function of a card with everything the runtime needs on it: device,
// allocator, scheduler, streams, and the lock that lets several application threads call at once.
//
// Made by the application (cosim, tests). Outlives every stream, tensor and plan made on it.
// Threads: any. The lock is held for one step at a time, also while waiting for the card, so
// threads take turns. Callbacks of operations are called without it, one at a time, and may call
// the runtime, but not Synchronize. What keep_alive owns is given up under it.
//
//   flex::RuntimeContext context(transport, 0);                  // 0: PF mode, n: VF n
//   flex::DeviceHandle memory = context.Allocate(1 << 20);
//   context.DefaultStream().CopyToDevice(data, memory, 1 << 20);
//   context.DefaultStream().Synchronize();
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/device.h"
#include "driver/physical_function.h"
#include "runtime/flex/capture.h"
#include "runtime/flex/flex_stream.h"
#include "runtime/flex/hazard_guard.h"
#include "runtime/flex/runtime_mutex.h"
#include "runtime/flex/scheduler.h"
#include "runtime/flex/spyre_allocator.h"

namespace spyre::flex {

struct RuntimeOptions {
  driver::DeviceOptions device;
  std::string scheduling = "fifo";  // which stream goes next: a name of scheduling_policy.h
  uint32_t starvation_limit = kDefaultStarvationLimit;  // of the policies that favour streams
  uint64_t program_bytes = SpyreAllocator::kDefaultProgramBytes;  // PF mode: reserved for programs
  bool bounds_check = true;     // false: bad locations go to the card, whose MMU must fault them
  bool timing_only = false;     // bulk copies carry TIMING_ONLY: they take time but move no data
  bool keep_completed = true;   // keep every CompletedOperation for the report
  std::string hazards = "off";  // between streams: a name of HazardModeNames()
  unsigned card = 0;            // of several in one simulation: correlations are unique over them
};

class RuntimeContext {
 public:
  RuntimeContext(driver::Transport& transport, driver::FunctionId function,
                 const RuntimeOptions& options = {});
  // Waits for what is still running; errors are ignored at this point.
  ~RuntimeContext();
  RuntimeContext(const RuntimeContext&) = delete;
  RuntimeContext& operator=(const RuntimeContext&) = delete;

  // Streams live until they are destroyed, the default stream as long as the context. Indices: 0
  // default, 1..32 normal, 33..64 high priority.
  FlexStream& DefaultStream() { return Stream(kDefaultStream); }
  // Made at first use. BadInput above 64, and while work of a destroyed stream of that index is
  // outstanding or its error has not been cleared by Reset.
  FlexStream& Stream(uint32_t index);
  // A stream of its own, of a new index. BadInput when all 32 of that priority are in use.
  FlexStream& NewStream(bool high_priority = false);
  // Returns at once: what is enqueued still runs, and Synchronize of the context waits for it and
  // throws its error. The index is free again when the work has completed without error; the
  // FlexStream object stays, and refuses every call. BadInput for the default stream, and for an
  // index that has no stream.
  void DestroyStream(uint32_t index);
  bool HasStream(uint32_t index) const;  // the application's: made, not destroyed
  // `count` streams on which work of `caller` runs beside its own: those that did so before, then
  // idle ones that did it for others, then new ones of the caller's priority, the highest index
  // first. They stay with the context for the next time, and are not the application's, which
  // gets one of them only from Stream or NewStream, if it is idle. BadInput if there are not
  // enough, and none is taken then.
  std::vector<FlexStream*> HelperStreams(const FlexStream& caller, size_t count);

  // As SpyreAllocator::Allocate. When memory is short and freed memory waits for work, this waits
  // for that work; not in a callback.
  DeviceHandle Allocate(uint64_t size_bytes, MemoryKind kind = MemoryKind::kTensor,
                        uint32_t first_region = 0);
  // Returns at once. The memory is handed out again when all work that was enqueued before, on any
  // stream, has passed: it may still touch it. The handle is of no use from now on.
  void Free(const DeviceHandle& handle);
  std::optional<Allocation> FindAllocation(const DeviceHandle& handle) const;
  // BadInput, naming `what`, unless [handle, handle + size) lies in a live allocation of this
  // context. No check with RuntimeOptions::bounds_check = false.
  void CheckMemory(const std::string& what, const DeviceHandle& handle, uint64_t size) const;
  std::string WhyNotAllocated(const DeviceHandle& handle) const;  // FindAllocation finds none
  MemoryStatistics Statistics(MemoryKind kind) const;

  // Waits for what was enqueued on any stream before the call; throws the first stream error, by
  // stream index, or a deadlock (event.h).
  void Synchronize();
  // The same without the errors, which stay for the calls that are to throw them.
  void AwaitAll();
  // From here on what `stream` enqueues is recorded, until EndCapture (capture.h).
  void BeginCapture(const FlexStream& stream);
  CapturedGraph EndCapture(const FlexStream& stream);
  bool Captures(const FlexStream& stream) const;  // now

  // Function-level reset: drops what is outstanding, clears every stream error, fails every event
  // made before. Memory stays allocated. A stream whose work was dropped, or whose error no call
  // has thrown yet, throws that at its next Synchronize, once. Not in a callback, nor during a
  // capture.
  void Reset();

  std::vector<CompletedOperation> CompletedOperations() const;  // in order of completion
  void ClearCompletedOperations();
  OperationCounts Counts() const;
  OperationCounts Counts(uint32_t stream_index) const;
  std::optional<StreamError> ErrorOf(uint32_t stream_index) const;
  driver::QueueStatistics QueueStatistics() const;
  HazardReport Hazards() const;  // of all operations so far, also before a reset
  bool tracks_hazards() const { return hazards_ != nullptr; }

  bool is_physical() const { return device_.is_physical(); }
  const driver::Identity& identity() const { return device_.identity(); }
  const RuntimeOptions& options() const { return options_; }
  uint64_t NowPs() const;
  // Host time for converting that many bytes, and for what is around a launch (HostCosts).
  void ChargeConversion(uint64_t bytes);
  // For what is around the DMA of a copy to the host.
  void ChargeCopyOut(uint64_t bytes);
  // For computing `op` itself, reading and writing that many bytes.
  void ChargeHostOperation(const std::string& op, uint64_t bytes);
  void ChargeLaunch();
  void ChargeSynchronise();

  // The card's management side, PF only; caller holds Lock().
  driver::Device& device() { return device_; }
  Scheduler& scheduler() { return scheduler_; }

  // Keeps other threads out while several calls make one piece of work. Callbacks that are due wait
  // for its end, unless a call waits for the card.
  class Guard {
   public:
    explicit Guard(RuntimeContext& context);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    RuntimeContext& context_;
  };
  Guard Lock() { return Guard(*this); }

  // Null when the context is gone: for what may outlive it.
  using Lifeline = std::shared_ptr<const std::atomic<RuntimeContext*>>;
  Lifeline lifeline() const { return lifeline_; }

  // Collects the operations that one caller enqueues, keeps other threads out meanwhile, and rings
  // one doorbell for all at the end.
  class Batch {
   public:
    explicit Batch(RuntimeContext& context);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    RuntimeContext& context_;
    std::unique_lock<RuntimeMutex> lock_;
  };

  // A host call in the trace, on the track of a stream. No-op without a recorder.
  class HostSlice {
   public:
    HostSlice(RuntimeContext& context, uint32_t stream_index, const char* name, uint64_t bytes = 0);
    ~HostSlice();
    HostSlice(const HostSlice&) = delete;
    HostSlice& operator=(const HostSlice&) = delete;
    void set_flow(uint64_t correlation) { flow_ = correlation; }

   private:
    RuntimeContext& context_;
    uint32_t stream_index_;
    const char* name_;
    uint64_t bytes_;
    uint64_t flow_ = 0;
    uint64_t start_ps_ = 0;
  };

 private:
  class CardMapper;
  friend class CapturedGraph;
  friend class FlexStream;
  friend class Event;

  std::unique_lock<RuntimeMutex> Enter() const { return std::unique_lock<RuntimeMutex>(mutex_); }
  SpyreAllocator MakeAllocator();
  void Reclaim();  // what was freed and nothing can touch any more
  void TraceMemory(const char* what, const DeviceHandle& handle, uint64_t bytes);
  bool WaitForFreed();
  std::string WhyUnavailable(uint32_t index) const;  // for a new stream; empty: it is available
  StreamSet StreamsToWaitFor() const;  // that live, and destroyed ones that are busy or in error
  void WaitFor(uint32_t index, uint64_t correlation);  // all up to that operation
  void TellTracker(uint32_t index, uint64_t passed);   // that the host knows of it
  void SynchronizeStream(uint32_t index);
  // By way of the hazard tracker, if there is one.
  uint64_t QueueOperation(uint32_t stream_index, ControlBlockRequest&& request) {
    return hazards_ ? hazards_->QueueOperation(stream_index, std::move(request))
                    : scheduler_.QueueOperation(stream_index, std::move(request));
  }
  uint64_t CountEvent() { return ++events_; }
  bool Captures(const EventState& event) const { return capture_ && capture_->Recorded(event); }
  // Handles what the card has answered, once more after one poll interval of host time if `done` is
  // not true by then, and returns done(). Caller holds the lock.
  template <typename Done>
  bool PollFor(const Done& done) {
    scheduler_.Poll();
    if (done()) return true;
    // Time moves only inside calls: a caller that asks again and again must see the card get on.
    device_.Charge(options_.device.poll_interval_ns);
    scheduler_.Poll();
    return done();
  }

  mutable RuntimeMutex mutex_;
  std::shared_ptr<std::atomic<RuntimeContext*>> lifeline_ =
      std::make_shared<std::atomic<RuntimeContext*>>(this);
  RuntimeOptions options_;
  mutable driver::Device device_;
  std::unique_ptr<CardMapper> mapper_;  // PF mode
  mutable SpyreAllocator allocator_;
  Scheduler scheduler_;
  std::unique_ptr<HazardGuard> hazards_;  // only if hazards are tracked
  std::array<std::unique_ptr<FlexStream>, kStreams> streams_;
  std::vector<std::unique_ptr<FlexStream>> destroyed_streams_;
  std::map<uint32_t, uint32_t> helpers_;  // stream -> the one that it works for, or did last
  std::array<uint32_t, 2> next_stream_{1, kFirstHighPriorityStream};  // normal, high
  std::unique_ptr<Capture> capture_;                                  // null: none is under way
  uint64_t events_ = 0;                                               // made so far, for names
  std::deque<std::string> orphaned_;  // what a reset has dropped of streams that are gone
};

}  // namespace spyre::flex
