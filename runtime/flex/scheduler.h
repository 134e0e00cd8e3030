// The Scheduler: takes control blocks from all streams and serialises them onto the device's ring
// (seed 000). It knows streams, operations and responses; it knows no tensors.
//
// Owner: RuntimeContext. Threads: every call is made under the runtime's lock. QueueOperation never
// waits: what finds no room in the ring stays in the stream's queue until a response makes room.
// Errors of the device become sticky errors of the streams they hit; only Progress of a healthy
// scheduler waits for the card. Order: operations of one stream enter the ring, and complete, in
// order; streams are interleaved by the policy.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/device.h"
#include "runtime/flex/control_block_request.h"
#include "runtime/flex/scheduling_policy.h"

namespace spyre::flex {

inline constexpr uint32_t kDefaultStream = 0;
inline constexpr uint32_t kFirstHighPriorityStream = 33;  // 1..32 normal, 33..64 high
inline constexpr uint32_t kLastStream = 64;

// The first error of a stream. It stays until the device is reset.
struct StreamError {
  std::string message;
  CompletedOperation operation;  // the operation that failed
};

struct OperationCounts {
  uint64_t queued = 0;        // accepted by QueueOperation
  uint64_t completed = 0;     // with status OK
  uint64_t failed = 0;        // with another status
  uint64_t not_executed = 0;  // dropped, because the stream or the device was in error
};

class Scheduler {
 public:
  // keep_completed: keep every CompletedOperation for the report.
  Scheduler(driver::Device& device, std::unique_ptr<SchedulingPolicy> policy, bool keep_completed);

  // Accepts an operation, starts it if the ring has room, and returns its correlation. Throws
  // DeviceFault, and does not take the request, if the stream is in error.
  uint64_t QueueOperation(uint32_t stream_index, ControlBlockRequest cb);

  // Between these, operations are collected; the last EndBatch rings one doorbell for all.
  void BeginBatch() { ++batch_depth_; }
  void EndBatch();

  bool Idle(uint32_t stream_index) const;  // nothing queued or running
  bool Idle() const;
  // Handles at least one response, waiting for it. No-op when nothing is outstanding.
  void Progress();
  void Poll();  // handles the responses that are there, without waiting

  const StreamError* ErrorOf(uint32_t stream_index) const;
  OperationCounts Counts() const { return counts_; }
  OperationCounts Counts(uint32_t stream_index) const;
  const std::vector<CompletedOperation>& completed() const { return completed_; }
  void ClearCompleted() { completed_.clear(); }

  // After a device reset: everything not completed is dropped with status ABORTED, errors are
  // cleared.
  void Abort(const std::string& why);

 private:
  struct Queued {
    ControlBlockRequest request;
    uint64_t arrival;
  };
  struct Running {
    ControlBlockRequest request;
    uint32_t stream;
  };
  struct Stream {
    std::deque<Queued> queue;
    std::deque<uint64_t> running;  // sequence numbers, oldest first
    std::optional<StreamError> error;
    OperationCounts counts;
  };

  uint32_t NextStream();  // something must be queued
  void Drain();
  void Start(uint32_t index, Stream& stream);  // the ring must have room
  void Handle(const Response& response);
  void Finish(Stream& stream, ControlBlockRequest& request, CompletedOperation&& operation);
  void Drop(uint32_t index, Stream& stream, ControlBlockRequest& request, Status status);
  void DropQueue(uint32_t index, Stream& stream, Status status);
  void LoseDevice(const std::string& message);

  driver::Device& device_;
  std::unique_ptr<SchedulingPolicy> policy_;
  bool keep_completed_;
  int batch_depth_ = 0;
  size_t queued_ = 0;  // operations in the streams' queues
  uint64_t next_arrival_ = 0;
  uint64_t next_correlation_;
  std::optional<uint32_t> last_started_;  // stream of the operation that entered the ring last
  std::map<uint32_t, Stream> streams_;
  std::unordered_map<uint64_t, Running> running_;          // by sequence number
  std::unordered_map<uint64_t, uint32_t> exclusive_user_;  // key -> stream that used it last
  std::optional<std::string> lost_;                        // why the device can no longer be used
  OperationCounts counts_;
  std::vector<CompletedOperation> completed_;
};

}  // namespace spyre::flex
