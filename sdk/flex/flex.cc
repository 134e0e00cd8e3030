// SPDX-License-Identifier: Apache-2.0
// The functions and small classes of flex.hpp.
#include <libaiupti/aiupti_runtime_cbid.h>

#include <array>
#include <deque>
#include <flex/flex.hpp>
#include <utility>

#include "base/error.h"
#include "runtime/flex/runtime_context.h"
#include "sdk/card/environment.h"
#include "sdk/flex/activities.h"
#include "sdk/flex/platform.h"
#include "sdk/flex/stream_queue.h"

namespace flex {

using activity::HostCall;
using spyre::BadInput;
using spyre::sdk::Platform;

std::ostream& operator<<(std::ostream& out, const CompositeAddress& address) {
  const char* separator = "";
  out << "CompositeAddress[";
  for (const Chunk& chunk : address.chunks()) {
    out << separator << "domain " << chunk.domain_id << ", region " << chunk.addr.region_id
        << ", offset " << chunk.addr.offset << ", " << chunk.size << " bytes";
    separator = "; ";
  }
  return out << "]";
}

DmaParams* createDmaParams(void* host, size_t size, bool to_device, const CompositeAddress* device,
                           std::shared_ptr<data_conversion_info> conversion) {
  auto params = std::make_unique<DmaParams>();
  params->host = host;
  params->size = size;
  params->to_device = to_device;
  params->device = device;
  params->conversion = std::move(conversion);
  return params.release();
}
void destroyDmaParams(DmaParams* params) { delete params; }

ComputeParams* createComputeParams(const CompositeAddress* program,
                                   std::vector<const CompositeAddress*> tensors,
                                   std::string kernel_name, uint64_t bootstrap_offset) {
  auto params = std::make_unique<ComputeParams>();
  params->program = program;
  params->tensors = std::move(tensors);
  params->kernel_name = std::move(kernel_name);
  params->bootstrap_offset = bootstrap_offset;
  return params.release();
}
void destroyComputeParams(ComputeParams* params) { delete params; }

HostCallbackParams* createHostCallbackParams(std::function<void(void*)> function, void* argument,
                                             bool pipeline_barrier) {
  auto params = std::make_unique<HostCallbackParams>();
  params->function = std::move(function);
  params->argument = argument;
  params->pipeline_barrier = pipeline_barrier;
  return params.release();
}
void destroyHostCallbackParams(HostCallbackParams* params) { delete params; }

RuntimeStream::RuntimeStream(std::unique_ptr<Queue> queue) : queue_(std::move(queue)) {}
RuntimeStream::~RuntimeStream() = default;
bool RuntimeStream::query() { return queue_->Query(); }
void RuntimeStream::synchronize() {
  const HostCall call(AIUPTI_RUNTIME_TRACE_CBID_SCHEDULE_WAIT);
  queue_->Synchronize();
}
bool RuntimeStream::needsShutdown() { return Platform::Get().lost(); }
void RuntimeStream::launchOperationH2D(const DmaParams* params) {
  const HostCall call(AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_DMI, params->size);
  queue_->CopyToCard(*params);
}
void RuntimeStream::launchOperationD2H(const DmaParams* params) {
  const HostCall call(AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_DMO, params->size);
  queue_->CopyFromCard(*params);
}
void RuntimeStream::launchOperationCompute(const ComputeParams* params) {
  const HostCall call(AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_CMPT);
  queue_->Launch(*params);
}
void RuntimeStream::launchOperationHostCallback(const HostCallbackParams* params) {
  if (!params->function) throw BadInput("a host callback without a function");
  if (params->pipeline_barrier) synchronize();
  const HostCall call(AIUPTI_RUNTIME_TRACE_CBID_ISSUE_CALLBACK);
  params->function(params->argument);
}
void RuntimeStream::fillAsync(const CompositeAddress* destination, double value, DataFormats format,
                              bool /*use_dmai*/) {
  if (destination == nullptr) throw BadInput("a fill of no memory");
  const HostCall call(AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB, destination->total_size());
  queue_->Fill(*destination, value, format);
}

// Streams in the order in which they were made, and those of the card's runtime that they use.
class RuntimeContext::Streams {
 public:
  RuntimeStream& Default() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (default_ == nullptr) {
      default_ = &Add(
          []() -> spyre::flex::FlexStream& { return Platform::Get().context().DefaultStream(); });
    }
    return *default_;
  }
  RuntimeStream& New(RuntimeStreamPriority priority) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return Add([this, priority]() -> spyre::flex::FlexStream& { return Next(priority); });
  }

 private:
  static constexpr size_t kEach = 32;  // that the runtime has of a priority

  RuntimeStream& Add(spyre::sdk::StreamSource source) {
    return streams_.emplace_back(std::make_unique<RuntimeStream::Queue>(std::move(source)));
  }
  spyre::flex::FlexStream& Next(RuntimeStreamPriority priority) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool high = priority == RuntimeStreamPriority::HIGH;
    std::vector<spyre::flex::FlexStream*>& used = used_[high ? 1 : 0];
    if (used.size() < kEach) used.push_back(&Platform::Get().context().NewStream(high));
    return *used[next_[high ? 1 : 0]++ % kEach];
  }

  std::mutex mutex_;
  std::deque<RuntimeStream> streams_;
  RuntimeStream* default_ = nullptr;
  std::array<std::vector<spyre::flex::FlexStream*>, 2> used_;  // normal, high
  std::array<size_t, 2> next_{};
};

RuntimeContext::RuntimeContext()
    : streams_(std::make_unique<Streams>()), allocator_(std::make_shared<FlexAllocator>()) {}
RuntimeContext::~RuntimeContext() = default;
RuntimeStream* RuntimeContext::getDefaultStream() { return &streams_->Default(); }
RuntimeStream* RuntimeContext::createStream(RuntimeStreamPriority priority) {
  return &streams_->New(priority);
}
std::shared_ptr<FlexAllocator> RuntimeContext::getAllocator() { return allocator_; }
bool RuntimeContext::hasStreamError() { return Platform::Get().lost(); }

std::shared_ptr<RuntimeContext> getFlexRuntimeContext() {
  Platform::Get();
  // Streams are used while the process ends, so the context outlives all that is destroyed then.
  static auto& context = *new std::shared_ptr<RuntimeContext>(std::make_shared<RuntimeContext>());
  return context;
}

std::string initializeRuntime(std::shared_ptr<RuntimeContext>* context, int device) {
  const size_t devices = getNumDevices();
  if (device < 0 || static_cast<size_t>(device) >= devices)
    throw BadInput("card {} is asked for, and the process may use {}", device, devices);
  Platform::ChooseDevice(static_cast<size_t>(device));
  *context = getFlexRuntimeContext();
  const auto& identity = Platform::Get().context().identity();
  return fmt::format("card {}: function {}, {} cores, {} bytes of memory", device,
                     identity.function, identity.cores, identity.memory_bytes);
}

size_t getNumDevices() { return spyre::sdk::NumDevices(); }

}  // namespace flex
