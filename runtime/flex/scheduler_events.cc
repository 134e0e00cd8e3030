// SPDX-License-Identifier: Apache-2.0
// The Scheduler's second half: what the operation at the head of a stream waits for, what the host
// does itself, and who is blocked by whom when nothing can move.
#include "base/error.h"
#include "runtime/flex/scheduler.h"

namespace spyre::flex {

void Scheduler::Settle(uint32_t index) {
  Stream& stream = streams_[index];
  while (!stream.queue.empty()) {
    const ControlBlockRequest& head = stream.queue.front()->request;
    if (head.callback) {
      if (!RunCallback(index)) return;
    } else if (head.opcode == Opcode::EVENT_WAIT) {
      if (!SettleWait(index)) return;
    } else {
      return SetReady(index);
    }
  }
  ready_.Erase(index);
}

void Scheduler::SetReady(uint32_t index) {
  if (!ready_.set().Contains(index)) policy_->OnReady(index);
  ready_.Insert(index, streams_[index].queue.front()->arrival);
}

bool Scheduler::RunCallback(uint32_t index) {
  ready_.Erase(index);
  Stream& stream = streams_[index];
  if (!stream.running.empty() || !stream.calls.empty()) return false;
  // It stays at the head meanwhile: the stream is busy as long as the callback runs.
  PendingOperation* operation = stream.queue.front();
  if (!MayCall() || operation->request.correlation >= callback_limit_) {
    later_.Insert(index);
    return false;
  }
  Call(operation->request.callback, *operation);
  LeaveHead(index, !stream.error);
  return true;
}

bool Scheduler::SettleWait(uint32_t index) {
  Stream& stream = streams_[index];
  PendingOperation* operation = stream.queue.front();
  EventState& event = *operation->request.event;
  // The stream's own record is before the wait anyhow.
  const bool own = event.status == EventStatus::kInRing && event.stream == index;
  if (event.status == EventStatus::kComplete || own) {
    LeaveHead(index, true);
    return true;
  }
  if (event.status == EventStatus::kFailed) {
    ready_.Erase(index);
    if (!stream.running.empty()) return false;
    FailWait(*operation);
    LeaveHead(index, false);
    return true;
  }
  event.waiters.Insert(index);
  if (event.status == EventStatus::kInRing) {
    SetReady(index);
  } else {
    ready_.Erase(index);
  }
  return false;
}

void Scheduler::LeaveHead(uint32_t index, bool completed) {
  Stream& stream = streams_[index];
  PendingOperation* operation = stream.queue.front();
  stream.queue.pop_front();
  --queued_;
  ++host_moves_;
  for (OperationCounts* counts : {&counts_, &stream.counts}) {
    ++(completed ? counts->completed : counts->failed);
    if (completed) ++counts->on_host;
  }
  Release(operation);
  if (stream.error) DropQueue(index);
}

void Scheduler::ChangeEvent(EventState& event, EventStatus status) {
  event.status = status;
  for (const uint32_t waiter : event.waiters) unsettled_.Insert(waiter);
  event.waiters.Clear();
}

void Scheduler::FailEvent(EventState& event, uint32_t index) {
  const Stream& stream = streams_[index];
  event.error = fmt::format(
      "event '{}' failed with stream {}, which was to record it; the first error of that was: {}",
      event.name, index, stream.error ? stream.error->message : lost_.value_or("none"));
  ChangeEvent(event, EventStatus::kFailed);
}

void Scheduler::FailWait(const PendingOperation& operation) {
  Fail(streams_[operation.stream],
       fmt::format("stream {}: {} failed: {}", operation.stream, Describe(operation.request),
                   operation.request.event->error),
       DescribeOutcome(operation, Status::EVENT_FAILED));
}

const EventState* Scheduler::BlockedBy(uint32_t index) const {
  const Stream& stream = streams_[index];
  if (stream.queue.empty()) return nullptr;
  const ControlBlockRequest& head = stream.queue.front()->request;
  return head.opcode == Opcode::EVENT_WAIT ? head.event.get() : nullptr;
}

std::string Scheduler::DescribeDeadlock(const EventState* awaited) const {
  const auto describe = [](const EventState& event) {
    std::string text = fmt::format("event '{}', which ", event.name);
    if (event.status == EventStatus::kQueued) {
      return text + fmt::format("stream {} is to record after its own wait", event.stream);
    }
    if (event.destroyed) return text + "was destroyed before any stream recorded it";
    return text + "no stream has recorded";
  };
  std::string text = lost_ ? fmt::format("the device is lost: {}", *lost_)
                           : "deadlock: nothing that is outstanding can move";
  if (awaited != nullptr) text += fmt::format("\n  the host waits for {}", describe(*awaited));
  for (uint32_t index = 0; index < kStreams; ++index) {
    const EventState* event = BlockedBy(index);
    if (event == nullptr) continue;
    text += fmt::format("\n  stream {} waits for {}", index, describe(*event));
  }
  // Each blocked stream waits for one other at most, so every cycle is met from its lowest stream.
  for (uint32_t first = 0; first < kStreams; ++first) {
    std::string path = fmt::format("{}", first);
    uint32_t at = first;
    for (size_t steps = 0; steps < kStreams; ++steps) {
      const EventState* event = BlockedBy(at);
      if (event == nullptr || event->status != EventStatus::kQueued || event->stream < first) break;
      at = event->stream;
      path += fmt::format(" -> {}", at);
      if (at != first) continue;
      text += fmt::format("\n  they wait for each other: streams {}", path);
      break;
    }
  }
  return text;
}

}  // namespace spyre::flex
