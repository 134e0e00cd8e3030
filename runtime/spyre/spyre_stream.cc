#include "runtime/spyre/spyre_stream.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "model/contract/error.h"
#include "runtime/spyre/launch_accesses.h"
#include "runtime/spyre/launch_arguments.h"
#include "runtime/spyre/reduction_tiling.h"
#include "runtime/spyre/tile_launcher.h"
#include "runtime/spyre/tile_overlap.h"

namespace spyre::runtime {
namespace {

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
    : SpyreStream(context, context.NewStream(high_priority)) {}

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

void SpyreStream::Launch(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                         const std::vector<int64_t>& dimensions) {
  if (operation.compute()) {
    CheckExactShapes(*operation.compute(), tensors);
    CheckDimensions(*operation.compute(), dimensions);
  }
  flex::OperationInfo info;
  info.keep_alive = ResourcesOf(operation, tensors);
  std::vector<TensorLocation> arguments = LocationsOf(operation, tensors);
  if (operation.compute()) AddWholeResult(*operation.compute(), arguments);
  Enqueue(operation, {std::move(arguments), dimensions}, info);
}

void SpyreStream::LaunchTiled(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                              const LaunchOptions& options, const TileKernels& kernels) {
  // The tiles stay together, but each starts as soon as it is enqueued.
  const auto lock = context_->Lock();
  TileLauncher tiles(*context_, operation, tensors, options, kernels, SlotsFor(options));
  const flex::RuntimeContext::HostSlice slice(*context_, stream_->stream_index(), "LaunchTiled");
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
  const flex::RuntimeContext::Batch batch(*context_);
  flex::OperationInfo info = about;
  if (operation.compute()) Declare(operation, arguments, &info);
  EnqueueSteps(operation, arguments, info);
  if (!operation.compute()) return;
  if (!operation.preprocess().empty()) {  // the first step has declared it
    info.launch.clear();
    info.accesses.clear();
  }
  info.name = operation.compute()->name;
  info.joined = about.joined || !operation.preprocess().empty();
  stream_->Launch(operation.compute()->device_handle, info);
}

void SpyreStream::PrepareAt(const Operation& operation,
                            const std::vector<TensorLocation>& arguments,
                            flex::OperationInfo info) {
  info.ordered = true;
  EnqueueSteps(operation, {arguments, {}}, info);
}

void SpyreStream::ComputeAt(const Operation& operation,
                            const std::vector<TensorLocation>& arguments,
                            flex::OperationInfo info) {
  info.ordered = true;
  Declare(operation, {arguments, {}}, &info);
  info.name = operation.compute()->name;
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
