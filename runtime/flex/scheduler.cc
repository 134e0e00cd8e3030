// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/contract/control_block.h"

namespace spyre::flex {
namespace {

// Correlations are unique over the functions of all cards, so that traces of several can be joined.
constexpr int kCorrelationCardShift = 56;
constexpr int kCorrelationFunctionShift = 48;

CompletedOperation DescribeOutcome(const PendingOperation& pending, const Response& response,
                                   bool executed) {
  CompletedOperation operation = DescribeOutcome(pending, static_cast<Status>(response.status));
  operation.executed = executed;
  operation.queued_ps = response.queued_ps;
  operation.fetched_ps = response.fetched_ps;
  operation.started_ps = response.started_ps;
  operation.finished_ps = response.finished_ps;
  operation.posted_ps = response.posted_ps;
  operation.device_bytes_read = response.device_bytes_read;
  operation.device_bytes_written = response.device_bytes_written;
  operation.macs = response.macs;
  return operation;
}

// Which index of which tensor is out of range.
std::string IndexText(const ControlBlockRequest& request, uint64_t fault_address) {
  const uint64_t position = fault_address >> 32;
  const bool named = request.index_tensors && position < request.index_tensors->size();
  return fmt::format(": index {} in {} is beyond what it may choose from",
                     static_cast<int32_t>(fault_address),
                     named ? (*request.index_tensors)[position]
                           : fmt::format("index tensor {} of the program", position));
}

// diagnosis: what the card says of an operation that it has stopped.
std::string FailureText(const PendingOperation& operation, const Response& response,
                        const std::string& diagnosis) {
  const ControlBlockRequest& request = operation.request;
  std::string text = fmt::format("stream {}: {} failed: ", operation.stream, Describe(request));
  if (request.opcode == Opcode::EVENT_WAIT && request.event->status == EventStatus::kFailed) {
    return text + request.event->error;
  }
  if (static_cast<Status>(response.status) == Status::TIMED_OUT) {
    return text + fmt::format("TIMED_OUT, it ran for {:.3f} ms (sequence {})\n{}",
                              static_cast<double>(response.finished_ps - response.started_ps) / 1e9,
                              response.sequence, diagnosis);
  }
  text += fmt::format("{}, fault address 0x{:x}", StatusName(static_cast<Status>(response.status)),
                      response.fault_address);
  if (static_cast<Status>(response.status) == Status::INDEX_RANGE)
    text += IndexText(request, response.fault_address);
  if (response.fault_core != kNoCore) text += fmt::format(", core {}", response.fault_core);
  return text + fmt::format(" (sequence {})", response.sequence);
}

}  // namespace

CompletedOperation DescribeOutcome(const PendingOperation& pending, Status status) {
  const ControlBlockRequest& request = pending.request;
  CompletedOperation operation;
  operation.stream = pending.stream;
  operation.opcode = request.opcode;
  operation.status = status;
  operation.name = request.name;
  operation.correction = request.correction;
  operation.label = request.label;
  operation.tag = request.tag;
  operation.correlation = request.correlation;
  operation.size_bytes = request.size_bytes;
  operation.location = request.opcode == Opcode::COMPUTE ? request.program : request.location;
  return operation;
}

Scheduler::Scheduler(driver::Device& device, RuntimeMutex& mutex,
                     std::unique_ptr<SchedulingPolicy> policy, bool keep_completed, unsigned card)
    : device_(device),
      mutex_(mutex),
      policy_(std::move(policy)),
      keep_completed_(keep_completed),
      next_correlation_((uint64_t{card} << kCorrelationCardShift) +
                        (uint64_t{device.function()} << kCorrelationFunctionShift) + 1) {}

uint64_t Scheduler::QueueOperation(uint32_t stream_index, ControlBlockRequest&& request) {
  if (stream_index > kLastStream) {
    throw BadInput("stream {}: streams are 0 to {}", stream_index, kLastStream);
  }
  Stream& stream = streams_[stream_index];
  const bool records = request.opcode == Opcode::EVENT_SIGNAL;
  if (records) request.event->stream = stream_index;
  if (records && (stream.error || lost_)) FailEvent(*request.event, stream_index);
  if (stream.error) {
    stream.error->told = true;
    throw DeviceFault("stream {} is in error, {} refused; the first error was: {}", stream_index,
                      Describe(request), stream.error->message);
  }
  if (lost_) {
    throw DeviceFault("stream {}: {} refused: the device is lost: {}", stream_index,
                      Describe(request), *lost_);
  }
  CheckMode(request, device_.is_physical());
  const uint64_t correlation = next_correlation_++;
  request.correlation = correlation;
  ++counts_.queued;
  ++stream.counts.queued;
  PendingOperation* operation = pool_.Take();
  operation->request = std::move(request);
  operation->stream = stream_index;
  operation->arrival = next_arrival_++;
  stream.queue.push_back(operation);
  ++queued_;
  if (records) ChangeEvent(*operation->request.event, EventStatus::kQueued);
  if (stream.queue.size() == 1) unsettled_.Insert(stream_index);
  if (batch_depth_ == 0) Poll();
  return correlation;
}

void Scheduler::EndBatch() {
  if (--batch_depth_ == 0) Poll();
}

bool Scheduler::Idle(uint32_t stream_index) const {
  const Stream& stream = streams_.at(stream_index);
  return stream.queue.empty() && stream.running.empty() && stream.calls.empty();
}

bool Scheduler::HasPassed(uint32_t stream_index, uint64_t correlation) const {
  const Stream& stream = streams_.at(stream_index);
  if (!stream.calls.empty() && stream.calls.front() <= correlation) return false;
  const auto& oldest = stream.running.empty() ? stream.queue : stream.running;
  return oldest.empty() || oldest.front()->request.correlation > correlation;
}

uint64_t Scheduler::PassedCorrelation() const {
  uint64_t oldest = next_correlation_;
  for (const Stream& stream : streams_) {
    const auto& operations = stream.running.empty() ? stream.queue : stream.running;
    if (!operations.empty()) {
      oldest = std::min(oldest, operations.front()->request.correlation);
    }
    if (!stream.calls.empty()) oldest = std::min(oldest, stream.calls.front());
  }
  return oldest - 1;
}

const StreamError* Scheduler::ErrorOf(uint32_t stream_index) const {
  const Stream& stream = streams_.at(stream_index);
  return stream.error ? &*stream.error : nullptr;
}

OperationCounts Scheduler::Counts(uint32_t stream_index) const {
  return streams_.at(stream_index).counts;
}

uint32_t Scheduler::NextStream() {
  // An operation joined to the one that entered the ring last goes before everything else.
  if (last_started_ && ready_.set().Contains(*last_started_) &&
      streams_[*last_started_].queue.front()->request.joined) {
    return *last_started_;
  }
  return policy_->Pick(ready_);
}

void Scheduler::Drain() {
  if (lost_) return;
  // What a callback enqueues is for the next time: one that enqueues itself must not hold us here.
  callback_limit_ = next_correlation_;
  for (const uint32_t index : std::exchange(later_, {})) unsettled_.Insert(index);
  try {
    for (;;) {
      while (!unsettled_.empty()) {
        const uint32_t index = unsettled_.From(0);
        unsettled_.Erase(index);
        Settle(index);
      }
      if (ready_.empty() || !device_.queue().HasRoom()) break;
      Start(NextStream());
    }
    device_.queue().RingDoorbell();
  } catch (const spyre::Error& error) {
    LoseDevice(error.what());
  }
}

void Scheduler::Start(uint32_t index) {
  Stream& stream = streams_[index];
  PendingOperation* operation = stream.queue.front();
  ControlBlockRequest& request = operation->request;
  if (request.opcode == Opcode::EVENT_SIGNAL) request.event->counter = stream.records + 1;
  if (request.event != nullptr) {
    request.value = EventValue(request.event->stream, request.event->counter);
  }
  driver::Entry entry = MakeEntry(request, index, device_.is_physical());
  Use* const use = request.exclusive_key != 0 ? &exclusive_uses_[request.exclusive_key] : nullptr;
  if (use != nullptr && use->stream != index && running_.Has(use->sequence)) {
    std::visit([](auto& e) { e.flags |= kFlagBarrier; }, entry);
  }
  device_.queue().TrySubmit(entry);
  operation->sequence = std::visit([](const auto& e) { return e.sequence; }, entry);
  if (use != nullptr) *use = {index, operation->sequence};
  running_.Insert(operation);
  stream.running.push_back(operation);
  stream.queue.pop_front();
  --queued_;
  unsettled_.Insert(index);
  last_started_ = index;
  policy_->OnEntered(index);
  if (request.opcode == Opcode::EVENT_SIGNAL) {
    ++stream.records;
    ChangeEvent(*request.event, EventStatus::kInRing);
  }
}

void Scheduler::Poll() {
  if (lost_ || in_callback_) return;
  try {
    while (const auto response = device_.queue().Poll()) Handle(*response);
  } catch (const spyre::Error& error) {
    LoseDevice(error.what());
  }
  Drain();
}

void Scheduler::Progress(const EventState* awaited) {
  CheckMayWait("waiting for the card");
  if (in_callback_) return WaitForCallback();
  const bool outer = std::exchange(progressing_, true);
  try {
    Advance(awaited);
  } catch (...) {
    progressing_ = outer;
    throw;
  }
  progressing_ = outer;
}

void Scheduler::Advance(const EventState* awaited) {
  if (!due_.empty()) return CallDue();
  if (!lost_) {
    const uint64_t moves = host_moves_;
    Drain();
    if (host_moves_ != moves) return;
  }
  if (lost_ || running_.empty()) {
    if (queued_ > 0 || awaited != nullptr) throw DeviceFault("{}", DescribeDeadlock(awaited));
    return;
  }
  try {
    Handle(device_.queue().Wait());
  } catch (const spyre::Error& error) {
    LoseDevice(error.what());
    return;
  }
  Poll();
}

void Scheduler::Handle(const Response& response) {
  PendingOperation* operation = running_.Take(response.sequence);
  if (operation == nullptr) {
    throw DeviceFault("response for sequence {}, which no stream waits for", response.sequence);
  }
  const uint32_t index = operation->stream;
  Stream& stream = streams_[index];
  const auto status = static_cast<Status>(response.status);
  if (stream.running.front() == operation) {
    stream.running.pop_front();
  } else if (status == Status::OK) {
    // A damaged entry may have lost its stream on the way, so only good ones are held to the order.
    throw DeviceFault("stream {}: the card completed sequence {} before {}; streams are in order",
                      index, response.sequence, stream.running.front()->sequence);
  } else {
    stream.running.erase(std::find(stream.running.begin(), stream.running.end(), operation));
  }
  policy_->OnAnswered(index,
                      response.finished_ps - std::min(response.started_ps, response.finished_ps));

  // The card aborts what follows a failure in its stream without starting it.
  const bool executed = !(status == Status::ABORTED && stream.error);
  if (!executed) {
    ++counts_.not_executed;
    ++stream.counts.not_executed;
  } else if (status == Status::OK) {
    ++counts_.completed;
    ++stream.counts.completed;
  } else {
    ++counts_.failed;
    ++stream.counts.failed;
    // The first error wins; what is in the ring is the card's to abort, what is not is dropped.
    const std::string diagnosis =
        status == Status::TIMED_OUT ? device_.transport().Diagnose() : std::string();
    Fail(stream, FailureText(*operation, response, diagnosis),
         DescribeOutcome(*operation, response, executed));
  }
  if (keep_completed_ || observer_) Report(DescribeOutcome(*operation, response, executed));
  const ControlBlockRequest& request = operation->request;
  if (request.opcode == Opcode::EVENT_SIGNAL) {
    if (status == Status::OK) {
      request.event->finished_ps = response.finished_ps;
      ChangeEvent(*request.event, EventStatus::kComplete);
    } else {
      FailEvent(*request.event, index);
    }
  }
  Unmap(*operation);
  if (stream.running.empty()) unsettled_.Insert(index);
  if (status == Status::OK && request.then) {
    stream.calls.push_back(request.correlation);
    ++calls_;
    if (!MayCall()) {
      due_.push_back(operation);
      return;
    }
    CallThen(operation);
  } else {
    Release(operation);
  }
  if (stream.error) DropQueue(index);
}

void Scheduler::Unmap(const PendingOperation& operation) {
  if (!operation.request.unmap) return;
  try {
    device_.UnmapHost(operation.request.host_address);
  } catch (const spyre::Error& error) {
    Fail(streams_[operation.stream],
         fmt::format("stream {}: after {}: {}", operation.stream, Describe(operation.request),
                     error.what()),
         DescribeOutcome(operation, Status::OK));
  }
}

void Scheduler::Release(PendingOperation* operation) {
  // What is given up here may call the runtime when it goes; by then nothing here refers to it.
  ControlBlockRequest& request = operation->request;
  const auto keep_alive = std::move(request.keep_alive);
  const auto then = std::exchange(request.then, nullptr);
  const auto callback = std::exchange(request.callback, nullptr);
  request.event.reset();
  pool_.Give(operation);
}

}  // namespace spyre::flex
