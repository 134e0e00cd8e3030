// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/spyre_stream.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "runtime/spyre/launch_accesses.h"
#include "runtime/spyre/launch_arguments.h"
#include "runtime/spyre/reduction_tiling.h"
#include "runtime/spyre/tile_launcher.h"
#include "runtime/spyre/tile_overlap.h"

namespace spyre::runtime {
namespace {

// A stream that goes with its last owner.
class OwnedStream {
 public:
  OwnedStream(const flex::RuntimeContext& context, uint32_t index)
      : context_(context.lifeline()), index_(index) {}
  ~OwnedStream() {
    flex::RuntimeContext* context = context_->load();
    if (context == nullptr || !context->HasStream(index_)) return;
    context->DestroyStream(index_);
  }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

 private:
  flex::RuntimeContext::Lifeline context_;
  uint32_t index_;
};

// Host memory that a copy reads, and what else must stay until it is done.
struct CorrectionInput {
  std::vector<uint8_t> bytes;
  std::shared_ptr<const void> keep_alive;
};

// What a launch must keep until it has completed: its tensors' memory and its binaries.
struct LaunchResources {
  std::vector<std::shared_ptr<const void>> tensors;
  std::shared_ptr<const void> program;
};

std::shared_ptr<const void> ResourcesOf(const Operation& operation,
                                        const std::vector<SpyreTensor>& tensors) {
  auto resources = std::make_shared<LaunchResources>();
  resources->program = operation.program();
  for (const SpyreTensor& tensor : tensors) resources->tensors.push_back(tensor.storage);
  return resources;
}

std::vector<TensorLocation> LocationsOf(const Operation& operation,
                                        const std::vector<SpyreTensor>& tensors) {
  std::vector<TensorLocation> locations;
  locations.reserve(tensors.size());
  for (const SpyreTensor& tensor : tensors) {
    if (tensor.chunks.size() > 1) {
      throw BadInput(
          "launch of {}: {} lies in {} chunks, and a kernel can address one; LaunchTiled "
          "takes it with a kernel whose tiles lie inside them",
          Describe(operation), ToString(tensor), tensor.chunks.size());
    }
    locations.push_back({tensor.device_handle, CorrectionStrides(tensor.layout)});
  }
  return locations;
}

// The memory of a launch's tensors, for the replays of a capture.
std::vector<DeviceHandle> MemoryOf(const flex::RuntimeContext& context,
                                   const flex::FlexStream& stream,
                                   const std::vector<TensorLocation>& tensors) {
  std::vector<DeviceHandle> memory;
  if (!context.Captures(stream)) return memory;
  memory.reserve(tensors.size());
  for (const TensorLocation& tensor : tensors) memory.push_back(tensor.handle);
  return memory;
}

// A launch of its own starts its sums and ends them.
void AddWholeResult(const SpyreCompute& compute, std::vector<TensorLocation>& arguments) {
  if (!compute.accumulation || arguments.empty()) return;
  arguments.push_back(WholeResult(*compute.accumulation, arguments.back().handle));
}

// The layout of a contiguous tensor of `shape` with the dimension order of the compiled one.
StickLayout LayoutLike(const StickLayout& compiled, const std::vector<int64_t>& shape) {
  const std::vector<int>& dims = compiled.host_dim;
  std::vector<int> order;
  if (shape.size() == compiled.host_size.size() && dims.size() >= 3) {
    order.push_back(dims[dims.size() - 2]);
    order.insert(order.end(), dims.begin(), dims.end() - 2);
    if (order.back() != dims.back()) order.push_back(dims.back());
  } else if (!dims.empty() && dims.back() >= 0) {
    order = {dims.back()};
  }
  return MakeLayout(shape, ContiguousStrides(shape), compiled.format, order);
}

}  // namespace

SpyreStream::SpyreStream(flex::RuntimeContext& context, bool high_priority)
    : SpyreStream(context, context.NewStream(high_priority)) {
  owned_ = std::make_shared<const OwnedStream>(context, stream_->stream_index());
}

SpyreStream::SpyreStream(flex::RuntimeContext& context, flex::FlexStream& stream)
    : context_(&context), stream_(&stream) {}

SpyreStream SpyreStream::Default(flex::RuntimeContext& context) {
  return SpyreStream(context, context.DefaultStream());
}

void SpyreStream::Launch(const Operation& operation,
                         const std::vector<DeviceHandle>& device_handles,
                         const std::vector<int64_t>& dimensions) {
  std::vector<TensorLocation> arguments(device_handles.size());
  for (size_t i = 0; i < device_handles.size(); ++i) arguments[i].handle = device_handles[i];
  if (operation.compute()) {
    const SpyreCompute& compute = *operation.compute();
    if (!compute.expected_input_shapes.empty() &&
        compute.expected_input_shapes.size() != device_handles.size()) {
      throw BadInput("kernel '{}' takes {} tensors (outputs included), {} handles were given",
                     compute.name, compute.expected_input_shapes.size(), device_handles.size());
    }
    for (size_t i = 0; i < std::min(arguments.size(), compute.arguments.size()); ++i) {
      arguments[i].stride = CorrectionStrides(compute.arguments[i].layout);
    }
    CheckDimensions(compute, dimensions);
    AddWholeResult(compute, arguments);
  }
  flex::OperationInfo info;
  info.keep_alive = ResourcesOf(operation, {});
  Enqueue(operation, {std::move(arguments), dimensions}, info);
}

SpyreStream::Arguments SpyreStream::ArgumentsOf(const Operation& operation,
                                                const std::vector<SpyreTensor>& tensors,
                                                const std::vector<int64_t>& dimensions) const {
  if (operation.compute()) {
    CheckExactShapes(*operation.compute(), tensors);
    CheckDimensions(*operation.compute(), dimensions);
  }
  for (size_t a = 0; a < tensors.size(); ++a) {
    CheckTensorMemory(*context_,
                      operation.compute()
                          ? fmt::format("kernel '{}', {}", operation.compute()->name,
                                        ArgumentName(*operation.compute(), a))
                          : fmt::format("{}, tensor {}", Describe(operation), a),
                      tensors[a]);
  }
  std::vector<TensorLocation> arguments = LocationsOf(operation, tensors);
  if (operation.compute()) AddWholeResult(*operation.compute(), arguments);
  return {std::move(arguments), dimensions};
}

void SpyreStream::CheckLaunch(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                              const std::vector<int64_t>& dimensions) const {
  Validate(operation, ArgumentsOf(operation, tensors, dimensions));
}

void SpyreStream::Launch(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                         const std::vector<int64_t>& dimensions) {
  flex::OperationInfo info;
  info.keep_alive = ResourcesOf(operation, tensors);
  Enqueue(operation, ArgumentsOf(operation, tensors, dimensions), info);
}

void SpyreStream::LaunchTiled(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                              const LaunchOptions& options, const TileKernels& kernels) {
  // The tiles stay together, but each starts as soon as it is enqueued.
  const auto lock = context_->Lock();
  TileLauncher tiles(*context_, operation, tensors, options, kernels, SlotsFor(options));
  LaunchTiles(tiles, options);
}

void SpyreStream::LaunchTiles(TileLauncher& tiles, const LaunchOptions& options,
                              TileOverlap* overlap) {
  const auto lock = context_->Lock();
  const flex::RuntimeContext::HostSlice slice(*context_, stream_->stream_index(), "LaunchTiled");
  if (overlap != nullptr) return overlap->Enqueue();
  if (tiles.slots() > 1) return TileOverlap(*this, tiles, options).Enqueue();
  for (int64_t i = 0; i < tiles.plan().size(); ++i) tiles.Enqueue(*this, i);
}

void SpyreStream::LaunchTiled(const Operation& operation,
                              const std::vector<DeviceHandle>& device_handles,
                              const std::vector<std::vector<int64_t>>& shapes,
                              const LaunchOptions& options, const TileKernels& kernels) {
  if (!operation.compute())
    throw BadInput("LaunchTiled of an {}: it has no compute", Describe(operation));
  const SpyreCompute& compute = *operation.compute();
  if (device_handles.size() != shapes.size() || shapes.size() != compute.arguments.size()) {
    throw BadInput("kernel '{}': {} handles with {} shapes; it takes {} of each", compute.name,
                   device_handles.size(), shapes.size(), compute.arguments.size());
  }
  std::vector<SpyreTensor> tensors;
  for (size_t a = 0; a < shapes.size(); ++a) {
    tensors.push_back(
        TensorAt(device_handles[a], LayoutLike(compute.arguments[a].layout, shapes[a])));
  }
  LaunchTiled(operation, tensors, options, kernels);
}

void SpyreStream::LaunchAt(const Operation& operation, const std::vector<TensorLocation>& arguments,
                           const flex::OperationInfo& info) {
  Enqueue(operation, {arguments, {}}, info);
}

void SpyreStream::Enqueue(const Operation& operation, const Arguments& arguments,
                          const flex::OperationInfo& about) {
  Validate(operation, arguments);
  if (operation.compute()) context_->ChargeLaunch();
  const flex::RuntimeContext::Batch batch(*context_);
  flex::OperationInfo info = about;
  info.arguments = MemoryOf(*context_, *stream_, arguments.tensors);
  if (operation.compute()) Declare(operation, arguments, &info);
  EnqueueSteps(operation, arguments, info);
  if (!operation.compute()) return;
  if (!operation.preprocess().empty()) {  // the first step has declared it
    info.launch.clear();
    info.accesses.clear();
  }
  info.name = operation.compute()->name;
  info.index_tensors = operation.compute()->index_tensors;
  info.joined = about.joined || !operation.preprocess().empty();
  stream_->Launch(operation.compute()->device_handle, info);
}

void SpyreStream::Validate(const Operation& operation, const Arguments& arguments) const {
  const bool sums = operation.compute() && operation.compute()->accumulation;
  const size_t tensors = arguments.tensors.size();
  CheckBound(operation, sums && tensors > 0 ? tensors - 1 : tensors, arguments.dimensions.size());
  if (!context_->options().bounds_check) return;
  ValidateSteps(operation);
  for (size_t a = 0; a < arguments.tensors.size(); ++a) {
    const TensorLocation& location = arguments.tensors[a];
    const std::string name = operation.compute()
                                 ? fmt::format("kernel '{}', {}", operation.compute()->name,
                                               ArgumentName(*operation.compute(), a))
                                 : fmt::format("{}, tensor {}", Describe(operation), a);
    if (!IsStickAligned(flex::RawOffset(location.handle))) {
      throw BadInput("{}: {} is not a multiple of {} bytes", name, flex::ToString(location.handle),
                     kStickBytes);
    }
    context_->CheckMemory(
        name, location.handle,
        operation.compute() ? ArgumentBytes(*operation.compute(), a, location) : kStickBytes);
  }
}

void SpyreStream::ValidateSteps(const Operation& operation) const {
  const auto check = [&](const char* step, const DeviceHandle& handle, uint64_t size) {
    const std::string what =
        fmt::format("stream {}: {} of {}", stream_->stream_index(), step, Describe(operation));
    context_->CheckMemory(what, handle, size);
    if (!IsStickAligned(flex::RawOffset(handle)) || !IsStickAligned(size) || size == 0) {
      throw BadInput(
          "{}: {} bytes at {}: location and size must be multiples of {} bytes, and not 0", what,
          size, flex::ToString(handle), kStickBytes);
    }
  };
  const auto check_host = [&](const char* step, const void* host) {
    if (host != nullptr) return;
    throw BadInput("stream {}: {} of {}: the host address is null", stream_->stream_index(), step,
                   Describe(operation));
  };
  for (const PreProcessCompute& step : operation.preprocess()) {
    if (const auto* in = std::get_if<CopyToDevice>(&step)) {
      check("CopyToDevice", in->device_handle, in->size);
      if (!in->correction) check_host("CopyToDevice", in->host_address);
    } else if (const auto* out = std::get_if<CopyFromDevice>(&step)) {
      check("CopyFromDevice", out->device_handle, out->size);
      check_host("CopyFromDevice", out->host_address);
    }
  }
  for (const DeviceHandle& binary : operation.device_handles()) {
    check("Launch", binary, kStickBytes);
  }
}

void SpyreStream::PrepareAt(const Operation& operation,
                            const std::vector<TensorLocation>& arguments,
                            flex::OperationInfo info) {
  info.ordered = true;
  info.arguments = MemoryOf(*context_, *stream_, arguments);
  EnqueueSteps(operation, {arguments, {}}, info);
}

void SpyreStream::ComputeAt(const Operation& operation,
                            const std::vector<TensorLocation>& arguments,
                            flex::OperationInfo info) {
  info.ordered = true;
  context_->ChargeLaunch();
  Declare(operation, {arguments, {}}, &info);
  info.name = operation.compute()->name;
  info.index_tensors = operation.compute()->index_tensors;
  stream_->Launch(operation.compute()->device_handle, info);
}

void SpyreStream::EnqueueSteps(const Operation& operation, const Arguments& arguments,
                               const flex::OperationInfo& about) {
  flex::OperationInfo info = about;
  for (const PreProcessCompute& step : operation.preprocess()) {
    EnqueueStep(step, arguments, info);
    info.then = nullptr;
    info.launch.clear();
    info.accesses.clear();
    // The steps of a compute belong together: another stream must not get between a correction and
    // what it corrects.
    info.joined = about.joined || (operation.compute().has_value() && !info.ordered);
  }
}

void SpyreStream::Declare(const Operation& operation, const Arguments& arguments,
                          flex::OperationInfo* info) const {
  if (!context_->tracks_hazards()) return;
  info->launch = operation.compute()->name;
  if (!info->label.empty()) info->launch += ", " + info->label;
  info->accesses = AccessesOf(operation, arguments);
}

std::vector<flex::Access> SpyreStream::AccessesOf(const Operation& operation,
                                                  const Arguments& arguments) const {
  std::vector<flex::Access> accesses = LaunchAccesses(*operation.compute(), arguments.tensors);
  if (accesses.empty()) return accesses;
  for (const DeviceHandle& binary : operation.device_handles()) {
    const auto program = context_->FindAllocation(binary);
    if (program) accesses.push_back({program->handle, program->size_bytes, false});
  }
  return accesses;
}

void SpyreStream::EnqueueStep(const PreProcessCompute& step, const Arguments& arguments,
                              flex::OperationInfo info) {
  if (const auto* launch = std::get_if<DeviceLaunch>(&step)) {
    info.name = launch->name;
    info.correction = true;  // a launch among the steps that lead to a compute
    info.prepare = launch->prepare;
    stream_->Launch(launch->device_handle, info);
    return;
  }
  if (const auto* copy = std::get_if<CopyFromDevice>(&step)) {
    if (!copy->label.empty()) info.label = copy->label;
    info.bulk = copy->bulk;
    info.keep_alive = copy->keep_alive;
    info.then = copy->then;
    stream_->CopyFromDevice(copy->host_address, copy->device_handle, copy->size, info);
    return;
  }
  const auto& copy = std::get<CopyToDevice>(step);
  if (!copy.label.empty()) info.label = copy.label;
  info.bulk = copy.bulk;
  if (!copy.correction) info.keep_alive = copy.keep_alive;
  const void* source = copy.host_address;
  if (copy.correction) {
    auto input = std::make_shared<const CorrectionInput>(CorrectionInput{
        AssembleCorrectionInput(*copy.correction, arguments.tensors, arguments.dimensions),
        info.keep_alive});
    source = input->bytes.data();
    info.keep_alive = input;
  }
  stream_->CopyToDevice(source, copy.device_handle, copy.size, info);
}

}  // namespace spyre::runtime
