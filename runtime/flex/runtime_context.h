// RuntimeContext: one opened function of a card with everything the runtime needs on it: device,
// allocator, scheduler, streams, and the lock that lets several application threads call at once.
//
// Made by the application (cosim, tests). Outlives every stream, tensor and plan made on it.
// Threads: any. The lock is held for one step at a time, also while waiting for the card, so
// threads take turns. Callbacks of operations run under it and may call the runtime, but not
// Synchronize.
//
//   flex::RuntimeContext context(transport, 0);                  // 0: PF mode, n: VF n
//   flex::DeviceHandle memory = context.Allocate(1 << 20);
//   context.DefaultStream().CopyToDevice(data, memory, 1 << 20);
//   context.DefaultStream().Synchronize();
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/device.h"
#include "driver/physical_function.h"
#include "runtime/flex/flex_stream.h"
#include "runtime/flex/scheduler.h"
#include "runtime/flex/spyre_allocator.h"

namespace spyre::flex {

struct RuntimeOptions {
  driver::DeviceOptions device;
  std::string scheduling = "fifo";                                // or "round_robin"
  uint64_t program_bytes = SpyreAllocator::kDefaultProgramBytes;  // PF mode: reserved for programs
  bool bounds_check = true;    // false: bad locations go to the card, whose MMU must fault them
  bool timing_only = false;    // bulk copies carry TIMING_ONLY: they take time but move no data
  bool keep_completed = true;  // keep every CompletedOperation for the report
};

class RuntimeContext {
 public:
  RuntimeContext(driver::Transport& transport, driver::FunctionId function,
                 const RuntimeOptions& options = {});
  // Waits for what is still running; errors are ignored at this point.
  ~RuntimeContext();
  RuntimeContext(const RuntimeContext&) = delete;
  RuntimeContext& operator=(const RuntimeContext&) = delete;

  // Streams live as long as the context. Indices: 0 default, 1..32 normal, 33..64 high priority.
  FlexStream& DefaultStream() { return Stream(kDefaultStream); }
  FlexStream& Stream(uint32_t index);  // made at first use; BadInput above 64
  FlexStream& NewStream(
      bool high_priority = false);  // a new index; round robin once all are in use

  // As SpyreAllocator::Allocate.
  DeviceHandle Allocate(uint64_t size_bytes, MemoryKind kind = MemoryKind::kTensor,
                        uint32_t first_region = 0);
  void Free(const DeviceHandle& handle);
  std::optional<Allocation> FindAllocation(const DeviceHandle& handle) const;
  MemoryStatistics Statistics(MemoryKind kind) const;

  // Waits for every stream; throws the first stream error, by stream index.
  void Synchronize();
  // Function-level reset: drops what is outstanding, clears every stream error. Memory stays
  // allocated.
  void Reset();

  std::vector<CompletedOperation> CompletedOperations() const;  // in order of completion
  void ClearCompletedOperations();
  OperationCounts Counts() const;
  OperationCounts Counts(uint32_t stream_index) const;
  std::optional<StreamError> ErrorOf(uint32_t stream_index) const;
  driver::QueueStatistics QueueStatistics() const;

  bool is_physical() const { return device_.is_physical(); }
  const driver::Identity& identity() const { return device_.identity(); }
  const RuntimeOptions& options() const { return options_; }
  uint64_t NowPs() const;
  void ChargeConversion(uint64_t bytes);  // host time for converting that many bytes

  // The card's management side, PF only; caller holds Lock().
  driver::Device& device() { return device_; }
  Scheduler& scheduler() { return scheduler_; }
  std::unique_lock<std::recursive_mutex> Lock() const {
    return std::unique_lock<std::recursive_mutex>(mutex_);
  }

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
    std::unique_lock<std::recursive_mutex> lock_;
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

  SpyreAllocator MakeAllocator();

  mutable std::recursive_mutex mutex_;
  RuntimeOptions options_;
  mutable driver::Device device_;
  std::unique_ptr<CardMapper> mapper_;  // PF mode
  SpyreAllocator allocator_;
  Scheduler scheduler_;
  std::map<uint32_t, std::unique_ptr<FlexStream>> streams_;
  std::array<uint32_t, 2> next_stream_{1, kFirstHighPriorityStream};  // normal, high
};

}  // namespace spyre::flex
