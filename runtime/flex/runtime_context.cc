// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/runtime_context.h"

#include <fmt/format.h>

#include "base/error.h"

namespace spyre::flex {

// PF mode: every allocation is mapped on the card by itself.
class RuntimeContext::CardMapper : public DeviceMapper {
 public:
  explicit CardMapper(driver::Device& device) : function_(device) {}
  void Map(uint64_t physical, uint64_t length, uint8_t permission) override {
    function_.MapRange(physical, length, permission);
  }
  void Unmap(uint64_t physical) override { function_.UnmapRange(physical); }

 private:
  driver::PhysicalFunction function_;
};

RuntimeContext::RuntimeContext(driver::Transport& transport, driver::FunctionId function,
                               const RuntimeOptions& options)
    : options_(options),
      device_(transport, function, options.device),
      mapper_(device_.is_physical() ? std::make_unique<CardMapper>(device_) : nullptr),
      allocator_(MakeAllocator()),
      scheduler_(device_, mutex_,
                 MakeSchedulingPolicy(options.scheduling, options.starvation_limit),
                 options.keep_completed, options.card) {
  const HazardMode hazards = HazardModeFromName(options.hazards);
  if (hazards != HazardMode::kOff) hazards_ = std::make_unique<HazardGuard>(hazards, scheduler_);
}

void RuntimeContext::AwaitAll() {
  const auto lock = Enter();
  try {
    const uint64_t last = scheduler_.last_correlation();
    while (scheduler_.PassedCorrelation() < last) scheduler_.Progress();
  } catch (const std::exception&) {  // of the card's model too
    // Whoever uses a stream next is told.
  }
}

RuntimeContext::~RuntimeContext() {
  const auto lock = Enter();
  AwaitAll();
  // What waits for events that will never be recorded still holds host memory and tensors.
  scheduler_.Abort("the context is closed");
  *lifeline_ = nullptr;
}

SpyreAllocator RuntimeContext::MakeAllocator() {
  const driver::Identity& identity = device_.identity();
  if (!mapper_) return SpyreAllocator::Regions(identity.region_bytes);
  return SpyreAllocator::Physical(identity.memory_bytes, options_.program_bytes, *mapper_);
}

FlexStream& RuntimeContext::Stream(uint32_t index) {
  const auto lock = Enter();
  if (index > kLastStream) {
    throw BadInput("stream {}: streams are 0 (default), 1 to {} (normal), {} to {} (high priority)",
                   index, kFirstHighPriorityStream - 1, kFirstHighPriorityStream, kLastStream);
  }
  if (const auto helper = helpers_.find(index); helper != helpers_.end()) {
    if (!scheduler_.Idle(index)) {
      throw BadInput("stream {}: it runs work of stream {}; it can be had when that is done", index,
                     helper->second);
    }
    helpers_.erase(helper);
  }
  std::unique_ptr<FlexStream>& stream = streams_[index];
  if (!stream) {
    const std::string why = WhyUnavailable(index);
    if (!why.empty()) throw BadInput("stream {}: {}", index, why);
    if (auto dropped = scheduler_.TakeDropped(index)) orphaned_.push_back(std::move(*dropped));
    stream = std::make_unique<FlexStream>(*this, index);
  }
  return *stream;
}

std::string RuntimeContext::WhyUnavailable(uint32_t index) const {
  if (scheduler_.ErrorOf(index) != nullptr) {
    return "it was destroyed in error; the index can be used again after Reset";
  }
  if (!scheduler_.Idle(index)) {
    return "it was destroyed and its work is outstanding; the index can be used again after that";
  }
  return {};
}

FlexStream& RuntimeContext::NewStream(bool high_priority) {
  const auto lock = Enter();
  const uint32_t first = high_priority ? kFirstHighPriorityStream : 1;
  const uint32_t last = high_priority ? kLastStream : kFirstHighPriorityStream - 1;
  uint32_t& next = next_stream_[high_priority];
  const auto find = [&](const auto& suits) {
    for (uint32_t tried = first; tried <= last; ++tried) {
      const uint32_t index = next;
      next = index == last ? first : index + 1;
      if (suits(index)) return &Stream(index);
    }
    return static_cast<FlexStream*>(nullptr);
  };
  scheduler_.Poll();  // destroyed streams may have ended
  FlexStream* stream =
      find([this](uint32_t index) { return !streams_[index] && WhyUnavailable(index).empty(); });
  if (stream == nullptr) {
    stream = find([this](uint32_t index) {
      return helpers_.count(index) != 0 && WhyUnavailable(index).empty();
    });
  }
  if (stream == nullptr) {
    throw BadInput(
        "no {} stream is free: all of streams {} to {} are in use, or were destroyed and are busy "
        "or "
        "in error; destroy streams that are not needed (SpyreStream objects do it at their end), "
        "synchronize, or share one",
        high_priority ? "high-priority" : "normal", first, last);
  }
  return *stream;
}

bool RuntimeContext::HasStream(uint32_t index) const {
  const auto lock = Enter();
  return index <= kLastStream && streams_[index] != nullptr && helpers_.count(index) == 0;
}

void RuntimeContext::DestroyStream(uint32_t index) {
  const auto lock = Enter();
  if (index == kDefaultStream) throw BadInput("stream 0: the default stream cannot be destroyed");
  if (index > kLastStream || !streams_[index] || helpers_.count(index) != 0) {
    throw BadInput("stream {}: no such stream (never made, or destroyed already)", index);
  }
  streams_[index]->destroyed_ = true;
  destroyed_streams_.push_back(std::move(streams_[index]));
}

bool RuntimeContext::Captures(const FlexStream& stream) const {
  const auto lock = Enter();
  return capture_ && capture_->Has(stream.stream_index());
}

std::vector<FlexStream*> RuntimeContext::HelperStreams(const FlexStream& caller, size_t count) {
  const auto lock = Enter();
  const uint32_t mine = caller.stream_index();
  const bool high_priority = caller.priority() < 0;
  const uint32_t first = high_priority ? kFirstHighPriorityStream : 1;
  const uint32_t last = high_priority ? kLastStream : kFirstHighPriorityStream - 1;
  std::vector<uint32_t> taken;
  const auto take = [&](uint32_t index, bool suits) {
    if (taken.size() < count && index >= first && index <= last && suits) taken.push_back(index);
  };
  const auto captured_apart = [&](uint32_t index) {
    return capture_ && capture_->Has(index) && !capture_->Has(mine);
  };
  for (const auto& [index, of] : helpers_)
    take(index, of == mine && scheduler_.ErrorOf(index) == nullptr && !captured_apart(index));
  for (const auto& [index, of] : helpers_)
    take(index, of != mine && WhyUnavailable(index).empty() && !captured_apart(index));
  for (uint32_t index = last; index >= first; --index)
    take(index, !streams_[index] && WhyUnavailable(index).empty());
  if (taken.size() < count) {
    throw BadInput(
        "stream {}: {} streams are needed beside it, and {} of the {} {} ones can be had; the "
        "application can destroy streams that it does not need",
        mine, count, taken.size(), last - first + 1, high_priority ? "high-priority" : "normal");
  }
  std::vector<FlexStream*> streams;
  for (const uint32_t index : taken) {
    helpers_[index] = mine;
    if (!streams_[index]) streams_[index] = std::make_unique<FlexStream>(*this, index);
    streams.push_back(streams_[index].get());
  }
  return streams;
}

void RuntimeContext::WaitFor(uint32_t index, uint64_t correlation) {
  for (;;) {
    const auto lock = Enter();
    scheduler_.CheckMayWait(fmt::format("stream {}: Synchronize", index));
    if (scheduler_.HasPassed(index, correlation)) return;
    scheduler_.Progress();
  }
}

void RuntimeContext::TellTracker(uint32_t index, uint64_t passed) {
  if (!hazards_) return;
  if (scheduler_.Idle(index)) {
    hazards_->ToldIdle(index);
  } else {  // another thread or a callback has gone on
    hazards_->ToldPassed(index, passed);
  }
}

void RuntimeContext::SynchronizeStream(uint32_t index) {
  const HostSlice slice(*this, index, "Synchronize");
  uint64_t last = 0;
  {
    const auto lock = Enter();
    last = scheduler_.last_correlation();
  }
  WaitFor(index, last);
  const auto lock = Enter();
  TellTracker(index, last);
  Reclaim();
  scheduler_.ThrowError(index);
}

StreamSet RuntimeContext::StreamsToWaitFor() const {
  const auto lock = Enter();
  StreamSet streams;
  for (uint32_t index = 0; index < kStreams; ++index) {
    if (streams_[index] || !WhyUnavailable(index).empty()) streams.Insert(index);
  }
  return streams;
}

void RuntimeContext::Synchronize() {
  uint64_t last = 0;
  {
    const auto lock = Enter();
    scheduler_.CheckMayWait("Synchronize of the context");
    last = scheduler_.last_correlation();
  }
  // Everything completes before the first error is thrown; the others are for the next call.
  std::optional<Error> stuck;
  for (const uint32_t index : StreamsToWaitFor()) {
    const HostSlice slice(*this, index, "Synchronize");
    try {
      WaitFor(index, last);
      const auto lock = Enter();
      TellTracker(index, last);
    } catch (const Error& error) {
      if (!stuck) stuck = error;
    }
  }
  const auto lock = Enter();
  Reclaim();
  if (!orphaned_.empty()) {
    const Error error(ErrorKind::kDeviceFault, orphaned_.front());
    orphaned_.pop_front();
    throw error;
  }
  for (uint32_t index = 0; index < kStreams; ++index) scheduler_.ThrowError(index);
  if (stuck) throw *stuck;
}

void RuntimeContext::Reset() {
  const auto lock = Enter();
  scheduler_.CheckMayWait("Reset of the context");
  if (capture_) throw BadInput("Reset of the context during a capture; EndCapture comes first");
  scheduler_.WaitForCallback();
  device_.Close();  // from here on the card writes no more responses
  scheduler_.Abort("the function was reset");
  // The stream that a helper works for has dropped work too, and tells.
  for (const auto& [helper, of] : helpers_) scheduler_.TakeDropped(helper);
  if (hazards_) hazards_->Reset();
  device_.Reset();
  allocator_.Remap();
}

std::vector<CompletedOperation> RuntimeContext::CompletedOperations() const {
  const auto lock = Enter();
  return scheduler_.completed();
}

void RuntimeContext::ClearCompletedOperations() {
  const auto lock = Enter();
  scheduler_.ClearCompleted();
}

OperationCounts RuntimeContext::Counts() const {
  const auto lock = Enter();
  return scheduler_.Counts();
}

OperationCounts RuntimeContext::Counts(uint32_t stream_index) const {
  const auto lock = Enter();
  return scheduler_.Counts(stream_index);
}

std::optional<StreamError> RuntimeContext::ErrorOf(uint32_t stream_index) const {
  const auto lock = Enter();
  const StreamError* error = scheduler_.ErrorOf(stream_index);
  return error == nullptr ? std::nullopt : std::optional<StreamError>(*error);
}

driver::QueueStatistics RuntimeContext::QueueStatistics() const {
  const auto lock = Enter();
  return device_.queue().statistics();
}

HazardReport RuntimeContext::Hazards() const {
  const auto lock = Enter();
  return hazards_ ? hazards_->report() : HazardReport{};
}

uint64_t RuntimeContext::NowPs() const {
  const auto lock = Enter();
  return device_.transport().NowPs();
}

void RuntimeContext::ChargeConversion(uint64_t bytes) {
  const auto lock = Enter();
  trace::Recorder* const recorder = options_.device.recorder;
  const uint64_t start_ps = recorder != nullptr ? device_.transport().NowPs() : 0;
  const driver::HostCosts& costs = options_.device.costs;
  device_.Charge(static_cast<double>(bytes) / costs.convert_bytes_per_ns +
                 static_cast<double>(bytes) / 1024 * costs.convert_ns_per_kib);
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return;
  recorder->Slice(trace::kHost, recorder->AddTrack("host", "conversion"),
                  recorder->Intern("convert"), start_ps, device_.transport().NowPs(), 0, bytes);
}

void RuntimeContext::ChargeCopyOut(uint64_t bytes) {
  const auto lock = Enter();
  const double ns = options_.device.costs.CopyOutNs(bytes);
  if (ns > 0) device_.ChargeFor("copy out", ns, bytes);
}

void RuntimeContext::ChargeHostOperation(const std::string& op, uint64_t bytes) {
  const auto lock = Enter();
  const driver::HostCosts& costs = options_.device.costs;
  trace::Recorder* const recorder = options_.device.recorder;
  const uint64_t start_ps = recorder != nullptr ? device_.transport().NowPs() : 0;
  device_.Charge(costs.operation_ns + static_cast<double>(bytes) / costs.operation_bytes_per_ns);
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return;
  recorder->Slice(trace::kHost, recorder->AddTrack("host", "operations of the list"),
                  recorder->Intern("host " + op), start_ps, device_.transport().NowPs(), 0, bytes);
}

void RuntimeContext::ChargeLaunch() {
  const auto lock = Enter();
  const driver::HostCosts& costs = options_.device.costs;
  if (costs.dispatch_ns > 0) device_.ChargeFor("dispatch", costs.dispatch_ns, 0);
  if (costs.launch_ns > 0) device_.ChargeFor("launch", costs.launch_ns, 0);
}

void RuntimeContext::ChargeSynchronise() {
  const auto lock = Enter();
  const driver::HostCosts& costs = options_.device.costs;
  if (costs.synchronise_ns > 0) device_.ChargeFor("synchronise", costs.synchronise_ns, 0);
}

RuntimeContext::Guard::Guard(RuntimeContext& context) : context_(context) {
  context_.mutex_.lock();
  context_.mutex_.HoldCalls();
}

RuntimeContext::Guard::~Guard() {
  context_.mutex_.LetCalls();
  if (!context_.mutex_.holds_calls()) context_.scheduler_.LetCalls();
  context_.mutex_.unlock();
}

RuntimeContext::Batch::Batch(RuntimeContext& context) : context_(context), lock_(context.Enter()) {
  context_.scheduler_.BeginBatch();
}

RuntimeContext::Batch::~Batch() { context_.scheduler_.EndBatch(); }

RuntimeContext::HostSlice::HostSlice(RuntimeContext& context, uint32_t stream_index,
                                     const char* name, uint64_t bytes)
    : context_(context), stream_index_(stream_index), name_(name), bytes_(bytes) {
  if (context_.options_.device.recorder != nullptr) start_ps_ = context_.NowPs();
}

RuntimeContext::HostSlice::~HostSlice() {
  trace::Recorder* recorder = context_.options_.device.recorder;
  if (recorder == nullptr) return;
  const auto lock = context_.Enter();
  recorder->Slice(trace::kHost, recorder->AddTrack("host", fmt::format("stream {}", stream_index_)),
                  recorder->Intern(name_), start_ps_, context_.NowPs(), flow_, bytes_,
                  stream_index_);
}

}  // namespace spyre::flex
