#include "runtime/flex/runtime_context.h"

#include <fmt/format.h>

#include "model/contract/error.h"

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
      scheduler_(device_, MakeSchedulingPolicy(options.scheduling), options.keep_completed) {}

RuntimeContext::~RuntimeContext() {
  try {
    while (!scheduler_.Idle()) scheduler_.Progress();
  } catch (const Error&) {
    // Nobody is left to tell.
  }
}

SpyreAllocator RuntimeContext::MakeAllocator() {
  const driver::Identity& identity = device_.identity();
  if (!mapper_) return SpyreAllocator::Regions(identity.region_bytes);
  return SpyreAllocator::Physical(identity.memory_bytes, options_.program_bytes, *mapper_);
}

FlexStream& RuntimeContext::Stream(uint32_t index) {
  const auto lock = Lock();
  if (index > kLastStream) {
    throw BadInput("stream {}: streams are 0 (default), 1 to {} (normal), {} to {} (high priority)",
                   index, kFirstHighPriorityStream - 1, kFirstHighPriorityStream, kLastStream);
  }
  std::unique_ptr<FlexStream>& stream = streams_[index];
  if (!stream) stream = std::make_unique<FlexStream>(*this, index);
  return *stream;
}

FlexStream& RuntimeContext::NewStream(bool high_priority) {
  const auto lock = Lock();
  uint32_t& next = next_stream_[high_priority];
  const uint32_t index = next;
  const uint32_t first = high_priority ? kFirstHighPriorityStream : 1;
  const uint32_t last = high_priority ? kLastStream : kFirstHighPriorityStream - 1;
  next = index == last ? first : index + 1;
  return Stream(index);
}

DeviceHandle RuntimeContext::Allocate(uint64_t size_bytes, MemoryKind kind, uint32_t first_region) {
  const auto lock = Lock();
  return allocator_.Allocate(size_bytes, kind, first_region);
}

void RuntimeContext::Free(const DeviceHandle& handle) {
  const auto lock = Lock();
  allocator_.Free(handle);
}

std::optional<Allocation> RuntimeContext::FindAllocation(const DeviceHandle& handle) const {
  const auto lock = Lock();
  return allocator_.FindAllocation(handle);
}

MemoryStatistics RuntimeContext::Statistics(MemoryKind kind) const {
  const auto lock = Lock();
  return allocator_.Statistics(kind);
}

void RuntimeContext::Synchronize() {
  std::vector<uint32_t> indices;
  {
    const auto lock = Lock();
    for (const auto& [index, stream] : streams_) indices.push_back(index);
  }
  // Everything completes before the first error is thrown.
  std::optional<Error> first;
  for (const uint32_t index : indices) {
    try {
      Stream(index).Synchronize();
    } catch (const Error& error) {
      if (!first) first = error;
    }
  }
  if (first) throw *first;
}

void RuntimeContext::Reset() {
  const auto lock = Lock();
  device_.Close();  // from here on the card writes no more responses
  scheduler_.Abort("function-level reset");
  device_.Reset();
  allocator_.Remap();
}

std::vector<CompletedOperation> RuntimeContext::CompletedOperations() const {
  const auto lock = Lock();
  return scheduler_.completed();
}

void RuntimeContext::ClearCompletedOperations() {
  const auto lock = Lock();
  scheduler_.ClearCompleted();
}

OperationCounts RuntimeContext::Counts() const {
  const auto lock = Lock();
  return scheduler_.Counts();
}

OperationCounts RuntimeContext::Counts(uint32_t stream_index) const {
  const auto lock = Lock();
  return scheduler_.Counts(stream_index);
}

std::optional<StreamError> RuntimeContext::ErrorOf(uint32_t stream_index) const {
  const auto lock = Lock();
  const StreamError* error = scheduler_.ErrorOf(stream_index);
  return error == nullptr ? std::nullopt : std::optional<StreamError>(*error);
}

driver::QueueStatistics RuntimeContext::QueueStatistics() const {
  const auto lock = Lock();
  return device_.queue().statistics();
}

uint64_t RuntimeContext::NowPs() const {
  const auto lock = Lock();
  return device_.transport().NowPs();
}

void RuntimeContext::ChargeConversion(uint64_t bytes) {
  const auto lock = Lock();
  device_.Charge(static_cast<double>(bytes) / options_.device.costs.convert_bytes_per_ns);
}

RuntimeContext::Batch::Batch(RuntimeContext& context) : context_(context), lock_(context.Lock()) {
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
  const auto lock = context_.Lock();
  recorder->Slice(trace::kHost, recorder->AddTrack("host", fmt::format("stream {}", stream_index_)),
                  recorder->Intern(name_), start_ps_, context_.NowPs(), flow_, bytes_,
                  stream_index_);
}

}  // namespace spyre::flex
