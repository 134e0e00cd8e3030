// SPDX-License-Identifier: Apache-2.0
// Capture and replay: what streams enqueue is recorded instead of issued, as a CapturedGraph, which
// is then launched as often as wanted. A replay issues everything under one doorbell; locations
// were checked, host memory was mapped and correction inputs were assembled when it was captured,
// so a replay pays for the queue entries alone.
//
//   context.BeginCapture(stream);
//   kernels.LaunchTiled(operation, tensors);            // on `stream`: recorded
//   flex::CapturedGraph graph = context.EndCapture(stream);
//   graph.Launch(stream);                               // asynchronous, in stream order
//
// A capture begins on one stream. Another stream joins it by waiting for an event that was recorded
// in it, and everything it enqueues from then on is recorded too; the first stream must have waited
// for all of that when the capture ends. Each replay has events of its own; the captured ones are
// of no other use. On the replaying stream run the operations of the first stream, the others on
// streams of the graph.
//
// Host memory is read and written at each replay, as by a copy enqueued then, and callbacks are
// called at each. keep_alive of the operations is held by the graph. Threads: any, under the
// runtime's lock; while one thread captures a stream, what any thread enqueues on it is captured.
//
// Errors, Error(kBadInput): Synchronize and Query of a stream that is captured; a wait there for an
// event from outside; a second capture at the same time; EndCapture of another stream, or with a
// stream that was not waited for (this ends the capture and drops it); Launch on a stream of
// another context. Error(kDeviceFault), and nothing is enqueued: Launch while one of its streams is
// in error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/flex/control_block_request.h"
#include "runtime/flex/event_state.h"

namespace spyre::flex {

class FlexStream;
class RuntimeContext;

// One operation of a capture and the stream that it was enqueued on.
struct CapturedOperation {
  uint32_t stream;
  ControlBlockRequest request;
};

// A capture that is under way. Used by RuntimeContext and FlexStream.
class Capture {
 public:
  explicit Capture(uint32_t origin) : origin_(origin) { Join(origin); }

  uint32_t origin() const { return origin_; }
  // True: an operation of `stream` is recorded; a wait may make it join.
  bool Takes(uint32_t stream, const ControlBlockRequest& request) const;
  bool Has(uint32_t stream) const { return clocks_.count(stream) != 0; }
  bool Recorded(const EventState& event) const { return recorded_.count(&event) != 0; }
  void Add(uint32_t stream, ControlBlockRequest request);
  // "" if the first stream has waited for all others, else which it has not.
  std::string Unjoined() const;
  std::vector<CapturedOperation> Take() { return std::move(operations_); }

 private:
  // How many operations of each stream come before.
  using Clock = std::map<uint32_t, uint64_t>;

  void Join(uint32_t stream) { clocks_[stream][stream] = 0; }

  uint32_t origin_;
  std::vector<CapturedOperation> operations_;
  std::map<uint32_t, Clock> clocks_;             // of the streams in the capture
  std::map<const EventState*, Clock> recorded_;  // of the events in the capture
};

class CapturedGraph {
 public:
  CapturedGraph(CapturedGraph&&) noexcept;
  CapturedGraph& operator=(CapturedGraph&&) noexcept;
  // Waits for nothing: what a replay needs lives until it has completed. The context must live.
  ~CapturedGraph();

  size_t size() const;  // operations of one replay
  // Enqueues a replay on `stream`. Returns at once.
  void Launch(FlexStream& stream) const;

 private:
  friend class RuntimeContext;
  struct Contents;
  explicit CapturedGraph(std::shared_ptr<Contents> contents);

  std::shared_ptr<Contents> contents_;
};

}  // namespace spyre::flex
