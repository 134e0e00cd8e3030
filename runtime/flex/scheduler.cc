#include "runtime/flex/scheduler.h"

#include <algorithm>
#include <utility>

#include "model/contract/control_block.h"
#include "model/contract/error.h"

namespace spyre::flex {
namespace {

// Correlations are unique over the functions of a card, so that traces of several can be joined.
constexpr int kCorrelationFunctionShift = 48;

CompletedOperation Record(uint32_t stream, const ControlBlockRequest& request) {
  CompletedOperation operation;
  operation.stream = stream;
  operation.opcode = request.opcode;
  operation.name = request.name;
  operation.label = request.label;
  operation.tag = request.tag;
  operation.correlation = request.correlation;
  operation.size_bytes = request.size_bytes;
  return operation;
}

std::string FailureText(uint32_t stream, const ControlBlockRequest& request,
                        const Response& response) {
  std::string text =
      fmt::format("stream {}: {} failed: {}, fault address 0x{:x}", stream, Describe(request),
                  StatusName(static_cast<Status>(response.status)), response.fault_address);
  if (response.fault_core != kNoCore) text += fmt::format(", core {}", response.fault_core);
  return text + fmt::format(" (sequence {})", response.sequence);
}

}  // namespace

Scheduler::Scheduler(driver::Device& device, std::unique_ptr<SchedulingPolicy> policy,
                     bool keep_completed)
    : device_(device),
      policy_(std::move(policy)),
      keep_completed_(keep_completed),
      next_correlation_((static_cast<uint64_t>(device.function()) << kCorrelationFunctionShift) +
                        1) {}

uint64_t Scheduler::QueueOperation(uint32_t stream_index, ControlBlockRequest cb) {
  Stream& stream = streams_[stream_index];
  if (stream.error) {
    throw DeviceFault("stream {} is in error, {} refused; the first error was: {}", stream_index,
                      Describe(cb), stream.error->message);
  }
  if (lost_) {
    throw DeviceFault("stream {}: {} refused: the device is lost: {}", stream_index, Describe(cb),
                      *lost_);
  }
  MakeEntry(cb, stream_index, device_.is_physical());  // refuses handles of the other mode now
  const uint64_t correlation = next_correlation_++;
  cb.correlation = correlation;
  ++counts_.queued;
  ++stream.counts.queued;
  stream.queue.push_back({std::move(cb), next_arrival_++});
  ++queued_;
  if (batch_depth_ == 0) {
    Poll();
    Drain();
  }
  return correlation;
}

void Scheduler::EndBatch() {
  if (--batch_depth_ > 0) return;
  Poll();
  Drain();
}

bool Scheduler::Idle(uint32_t stream_index) const {
  const auto it = streams_.find(stream_index);
  return it == streams_.end() || (it->second.queue.empty() && it->second.running.empty());
}

bool Scheduler::Idle() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& entry) {
    return entry.second.queue.empty() && entry.second.running.empty();
  });
}

const StreamError* Scheduler::ErrorOf(uint32_t stream_index) const {
  const auto it = streams_.find(stream_index);
  return it != streams_.end() && it->second.error ? &*it->second.error : nullptr;
}

OperationCounts Scheduler::Counts(uint32_t stream_index) const {
  const auto it = streams_.find(stream_index);
  return it == streams_.end() ? OperationCounts{} : it->second.counts;
}

uint32_t Scheduler::NextStream() {
  // An operation joined to the one that entered the ring last goes before everything else.
  if (last_started_) {
    const Stream& stream = streams_[*last_started_];
    if (!stream.queue.empty() && stream.queue.front().request.joined) return *last_started_;
  }
  std::vector<ReadyStream> ready;
  for (const auto& [index, stream] : streams_) {
    if (!stream.queue.empty()) {
      ready.push_back({index, stream.queue.front().arrival, index >= kFirstHighPriorityStream});
    }
  }
  return policy_->Pick(ready);
}

void Scheduler::Drain() {
  if (lost_) return;
  try {
    for (;;) {
      if (queued_ == 0 || !device_.queue().HasRoom()) break;
      const uint32_t next = NextStream();
      Start(next, streams_[next]);
    }
    device_.queue().RingDoorbell();
  } catch (const spyre::Error& error) {
    LoseDevice(error.what());
  }
}

void Scheduler::Start(uint32_t index, Stream& stream) {
  ControlBlockRequest& request = stream.queue.front().request;
  driver::Entry entry = MakeEntry(request, index, device_.is_physical());
  if (request.exclusive_key != 0) {
    const auto user = exclusive_user_.find(request.exclusive_key);
    if (user != exclusive_user_.end() && user->second != index) {
      std::visit([](auto& e) { e.flags |= kFlagBarrier; }, entry);
    }
  }
  device_.queue().TrySubmit(entry);
  if (request.exclusive_key != 0) exclusive_user_[request.exclusive_key] = index;
  const uint64_t sequence = std::visit([](const auto& e) { return e.sequence; }, entry);
  stream.running.push_back(sequence);
  running_.emplace(sequence, Running{std::move(request), index});
  stream.queue.pop_front();
  --queued_;
  last_started_ = index;
}

void Scheduler::Poll() {
  if (lost_) return;
  try {
    while (const auto response = device_.queue().Poll()) Handle(*response);
  } catch (const spyre::Error& error) {
    LoseDevice(error.what());
  }
}

void Scheduler::Progress() {
  if (lost_) return;
  Drain();
  try {
    if (running_.empty()) return;
    Handle(device_.queue().Wait());
  } catch (const spyre::Error& error) {
    LoseDevice(error.what());
    return;
  }
  Poll();
  Drain();
}

void Scheduler::Handle(const Response& response) {
  auto node = running_.extract(response.sequence);
  if (node.empty()) {
    throw DeviceFault("response for sequence {}, which no stream waits for", response.sequence);
  }
  ControlBlockRequest request = std::move(node.mapped().request);
  const uint32_t index = node.mapped().stream;
  Stream& stream = streams_[index];
  const auto status = static_cast<Status>(response.status);
  // A damaged entry may have lost its stream on the way, so only good ones are held to the order.
  if (status == Status::OK && stream.running.front() != response.sequence) {
    throw DeviceFault("stream {}: the card completed sequence {} before {}; streams are in order",
                      index, response.sequence, stream.running.front());
  }
  stream.running.erase(std::find(stream.running.begin(), stream.running.end(), response.sequence));

  CompletedOperation operation = Record(index, request);
  operation.status = status;
  // The card aborts what follows a failure in its stream without starting it.
  operation.executed = !(status == Status::ABORTED && stream.error);
  operation.queued_ps = response.queued_ps;
  operation.fetched_ps = response.fetched_ps;
  operation.started_ps = response.started_ps;
  operation.finished_ps = response.finished_ps;
  operation.posted_ps = response.posted_ps;
  operation.device_bytes_read = response.device_bytes_read;
  operation.device_bytes_written = response.device_bytes_written;
  operation.macs = response.macs;
  if (!operation.executed) {
    ++counts_.not_executed;
    ++stream.counts.not_executed;
  } else if (status == Status::OK) {
    ++counts_.completed;
    ++stream.counts.completed;
  } else {
    ++counts_.failed;
    ++stream.counts.failed;
    // The first error wins; what is in the ring is the card's to abort, what is not is dropped.
    if (!stream.error) stream.error = StreamError{FailureText(index, request, response), operation};
  }
  Finish(stream, request, std::move(operation));
  if (status != Status::OK) DropQueue(index, stream, Status::ABORTED);
}

void Scheduler::Finish(Stream& stream, ControlBlockRequest& request,
                       CompletedOperation&& operation) {
  if (request.on_complete) {
    try {
      request.on_complete(operation);
    } catch (const spyre::Error& error) {
      if (!stream.error) {
        stream.error = StreamError{fmt::format("stream {}: after {}: {}", operation.stream,
                                               Describe(request), error.what()),
                                   operation};
      }
    }
  }
  if (keep_completed_) completed_.push_back(std::move(operation));
}

void Scheduler::Drop(uint32_t index, Stream& stream, ControlBlockRequest& request, Status status) {
  CompletedOperation operation = Record(index, request);
  operation.status = status;
  ++counts_.not_executed;
  ++stream.counts.not_executed;
  Finish(stream, request, std::move(operation));
}

void Scheduler::DropQueue(uint32_t index, Stream& stream, Status status) {
  // Callbacks may look at the stream: take each operation out before it is told.
  while (!stream.queue.empty()) {
    ControlBlockRequest request = std::move(stream.queue.front().request);
    stream.queue.pop_front();
    --queued_;
    Drop(index, stream, request, status);
  }
}

void Scheduler::LoseDevice(const std::string& message) {
  lost_ = message;
  for (auto& [index, stream] : streams_) {
    const bool hit = !stream.running.empty() || !stream.queue.empty();
    if (hit && !stream.error) {
      stream.error.emplace();
      stream.error->operation.stream = index;
      std::string oldest = "its operations";
      if (!stream.running.empty()) {
        const ControlBlockRequest& request = running_.at(stream.running.front()).request;
        stream.error->operation = Record(index, request);
        oldest = Describe(request);
      }
      stream.error->message = fmt::format("stream {}: {} not completed, the device is lost: {}",
                                          index, oldest, message);
    }
    for (const uint64_t sequence : std::exchange(stream.running, {})) {
      auto node = running_.extract(sequence);
      if (!node.empty()) Drop(index, stream, node.mapped().request, Status::ABORTED);
    }
    DropQueue(index, stream, Status::ABORTED);
  }
  running_.clear();
}

void Scheduler::Abort(const std::string& why) {
  LoseDevice(why);
  lost_.reset();
  last_started_.reset();
  exclusive_user_.clear();
  for (auto& [index, stream] : streams_) stream.error.reset();
}

}  // namespace spyre::flex
