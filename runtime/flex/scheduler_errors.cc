// SPDX-License-Identifier: Apache-2.0
// Streams in error: what fails them, what is dropped then, and who is told.
#include <utility>

#include "base/error.h"
#include "runtime/flex/scheduler.h"

namespace spyre::flex {

void Scheduler::ThrowError(uint32_t stream_index) {
  Stream& stream = streams_.at(stream_index);
  if (const auto dropped = TakeDropped(stream_index)) {
    throw Error(ErrorKind::kDeviceFault, *dropped);
  }
  if (!stream.error) return;
  stream.error->told = true;
  throw Error(ErrorKind::kDeviceFault, stream.error->message);
}

std::optional<std::string> Scheduler::TakeDropped(uint32_t stream_index) {
  return std::exchange(streams_.at(stream_index).dropped, std::nullopt);
}

void Scheduler::Fail(Stream& stream, std::string message, CompletedOperation operation) {
  if (!stream.error) stream.error = StreamError{std::move(message), std::move(operation)};
}

void Scheduler::Drop(PendingOperation* operation) {
  Stream& stream = streams_[operation->stream];
  ++counts_.not_executed;
  ++stream.counts.not_executed;
  const ControlBlockRequest& request = operation->request;
  if (request.opcode == Opcode::EVENT_SIGNAL) FailEvent(*request.event, operation->stream);
  Unmap(*operation);
  if ((keep_completed_ || observer_) && !request.callback)
    Report(DescribeOutcome(*operation, Status::ABORTED));
  Release(operation);
}

void Scheduler::Report(CompletedOperation operation) {
  if (observer_) observer_(operation);
  if (keep_completed_) completed_.push_back(std::move(operation));
}

void Scheduler::DropQueue(uint32_t index) {
  Stream& stream = streams_[index];
  while (!stream.queue.empty()) {
    PendingOperation* operation = stream.queue.front();
    stream.queue.pop_front();
    --queued_;
    Drop(operation);
  }
  ready_.Erase(index);
}

void Scheduler::LoseDevice(const std::string& message) {
  lost_ = message;
  DropAll("the device is lost: " + message);
}

void Scheduler::DropAll(const std::string& why) {
  for (uint32_t index = 0; index < kStreams; ++index) {
    Stream& stream = streams_[index];
    const size_t count = stream.running.size() + stream.queue.size();
    if (count == 0) continue;
    const PendingOperation* oldest =
        stream.running.empty() ? stream.queue.front() : stream.running.front();
    CompletedOperation operation = DescribeOutcome(*oldest, Status::OK);
    operation.stream = index;
    const std::string others = count == 1 ? "" : fmt::format(" and {} more operations", count - 1);
    Fail(stream,
         fmt::format("stream {}: {}{} not completed, {}", index, Describe(oldest->request), others,
                     why),
         std::move(operation));
    for (PendingOperation* running : std::exchange(stream.running, {})) Drop(running);
    DropQueue(index);
  }
  running_.Clear();
  ready_.Clear();
  unsettled_.Clear();
  later_.Clear();
}

void Scheduler::Abort(const std::string& why) {
  lost_ = why;  // nothing starts meanwhile
  DropAll(why);
  lost_.reset();
  last_started_.reset();
  exclusive_uses_.clear();
  policy_->OnReset();
  for (Stream& stream : streams_) {
    if (stream.error && !stream.error->told && !stream.dropped) {
      stream.dropped = std::move(stream.error->message);
    }
    stream.error.reset();
  }
  ++epoch_;
}

}  // namespace spyre::flex
