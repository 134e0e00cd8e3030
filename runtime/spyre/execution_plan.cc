// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/execution_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.h"
#include "model/contract/program.h"
#include "runtime/spyre/program_replicas.h"

namespace spyre::runtime {
namespace {

DeviceHandle At(const DeviceHandle& location, uint64_t offset) {
  return flex::Offset(location, static_cast<int64_t>(offset));
}

}  // namespace

ExecutionPlan::ExecutionPlan(const std::filesystem::path& directory)
    : ExecutionPlan(ReadSpyreCode(directory)) {}

ExecutionPlan::ExecutionPlan(SpyreCode code) : code_(std::move(code)) {
  bool computing = false;
  for (const ExecStep& step : code_.exec_plan) {
    if (const auto* host = std::get_if<HostComputeStep>(&step)) {
      corrections_.push_back(host->correction);
    }
    const bool compute = std::holds_alternative<DeviceComputeStep>(step);
    if (compute && !computing) ++computes_;
    computing = compute;
  }
  MakeOperations(DeviceHandle(flex::PFDeviceHandle{}));
}

const uint8_t* ExecutionPlan::HostBuffer(const std::string& host_handle) const {
  const auto it = host_buffers_.find(host_handle);
  return it == host_buffers_.end() ? nullptr : it->second.get();
}

void ExecutionPlan::Bind(const DeviceHandle& location,
                         std::shared_ptr<const DeviceStorage> storage) {
  if (loaded_) throw BadInput("plan '{}' is already loaded", code_.name);
  storage_ = std::move(storage);
  loaded_ = true;
  const std::vector<Operation> added(
      operations_.begin() + static_cast<std::ptrdiff_t>(identities_.size()), operations_.end());
  MakeOperations(location);
  const auto replicas = std::make_shared<ProgramReplicas>(code_.name, code_.init_packets, location,
                                                          code_.allocation_bytes);
  for (Operation& operation : operations_) operation.set_replicas(replicas);
  operations_.insert(operations_.end(), added.begin(), added.end());
}

void ExecutionPlan::MakeOperations(const DeviceHandle& location) {
  operations_.clear();
  // Device computes end an Operation when something else follows them: the last of them is its
  // compute, the ones before (program correction) are steps that lead to it.
  std::vector<PreProcessCompute> steps;
  std::vector<DeviceComputeStep> computes;
  for (const ExecStep& step : code_.exec_plan) {
    if (const auto* compute = std::get_if<DeviceComputeStep>(&step)) {
      computes.push_back(*compute);
      continue;
    }
    if (!computes.empty()) CloseOperation(location, steps, computes);
    const auto* transfer = std::get_if<TransferStep>(&step);
    if (transfer == nullptr) continue;  // a host compute runs when its buffer is transferred
    if (!transfer->to_host) {
      steps.emplace_back(CorrectionCopy(*transfer, location));
      continue;
    }
    auto& buffer = host_buffers_[transfer->host_handle];
    buffer.reset(new uint8_t[transfer->size_bytes]);
    CopyFromDevice copy;
    copy.host_address = buffer.get();
    copy.device_handle = At(location, transfer->offset);
    copy.size = transfer->size_bytes;
    copy.keep_alive = buffer;
    copy.label = transfer->host_handle;
    steps.emplace_back(std::move(copy));
  }
  CloseOperation(location, steps, computes);
  identities_.resize(operations_.size());
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (identities_[i] == nullptr) identities_[i] = std::make_shared<const char>();
    operations_[i].set_identity(identities_[i]);
    operations_[i].set_loaded(loaded_);
    operations_[i].set_program(storage_);
  }
}

CopyToDevice ExecutionPlan::CorrectionCopy(const TransferStep& transfer,
                                           const DeviceHandle& location) const {
  CopyToDevice copy;
  copy.device_handle = At(location, transfer.offset);
  copy.size = transfer.size_bytes;
  copy.label = "correction input";
  for (const ExecStep& step : code_.exec_plan) {
    const auto* host = std::get_if<HostComputeStep>(&step);
    if (host != nullptr && host->output == transfer.host_handle) copy.correction = host->correction;
  }
  return copy;
}

bool ExecutionPlan::IsOfCoreZero(uint64_t offset) const {
  for (const InitPacket& packet : code_.init_packets) {
    if (offset < packet.offset || offset - packet.offset >= packet.data->size()) continue;
    const uint64_t skip = offset - packet.offset;
    try {
      return ReadImageHeader(packet.data->data() + skip, packet.data->size() - skip).core_mask == 1;
    } catch (const Error&) {
      return false;  // the card will say what is wrong with it
    }
  }
  return false;
}

void ExecutionPlan::CloseOperation(const DeviceHandle& location,
                                   std::vector<PreProcessCompute>& steps,
                                   std::vector<DeviceComputeStep>& computes) {
  if (steps.empty() && computes.empty()) return;
  if (computes.empty()) {
    operations_.emplace_back(std::exchange(steps, {}));
    operations_.back().set_takes({});
    return;
  }
  for (size_t i = 0; i + 1 < computes.size(); ++i) {
    const uint64_t offset = computes[i].offset;
    steps.emplace_back(DeviceLaunch{At(location, offset), computes[i].name, IsOfCoreZero(offset)});
  }
  Operation::Takes takes;
  SpyreCompute compute = MakeCompute(location, computes.back(), steps, &takes);
  operations_.emplace_back(std::move(compute), std::exchange(steps, {}));
  if (computes_ > 1) operations_.back().set_takes(std::move(takes));
  computes.clear();
}

namespace {

// The numbers that the records of a correction name, ascending, and the records with their places
// among these.
std::vector<size_t> Renumber(CorrectionSource::Kind kind, size_t known,
                             std::vector<PreProcessCompute>& steps) {
  std::set<size_t> named;
  const auto each = [&](const auto& visit) {
    for (PreProcessCompute& step : steps) {
      auto* copy = std::get_if<CopyToDevice>(&step);
      if (copy == nullptr || !copy->correction) continue;
      for (CorrectionSource& source : copy->correction->records) {
        if (source.kind == kind && static_cast<size_t>(source.index) < known) visit(source);
      }
    }
  };
  each([&](const CorrectionSource& source) { named.insert(static_cast<size_t>(source.index)); });
  std::vector<size_t> numbers(named.begin(), named.end());
  each([&](CorrectionSource& source) {
    source.index = static_cast<int>(
        std::distance(named.begin(), named.find(static_cast<size_t>(source.index))));
  });
  return numbers;
}

std::vector<size_t> AllOf(size_t count) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

}  // namespace

SpyreCompute ExecutionPlan::MakeCompute(const DeviceHandle& location, const DeviceComputeStep& step,
                                        std::vector<PreProcessCompute>& steps,
                                        Operation::Takes* takes) const {
  using Kind = CorrectionSource::Kind;
  const bool only = computes_ <= 1 || code_.accumulation.has_value();
  const size_t arguments = code_.arguments.size();
  takes->tensors = only ? AllOf(arguments) : Renumber(Kind::kArgument, arguments, steps);
  takes->dimensions = only ? AllOf(code_.dimensions.size())
                           : Renumber(Kind::kDimension, code_.dimensions.size(), steps);
  SpyreCompute compute;
  compute.device_handle = At(location, step.offset);
  compute.name = step.name;
  compute.reduction_dims = code_.reduction_dims;
  compute.accumulation = code_.accumulation;
  for (const size_t d : takes->dimensions) compute.dimensions.push_back(code_.dimensions[d]);
  for (const size_t a : takes->tensors) {
    const TensorMetadata& tensor = code_.arguments[a];
    compute.expected_input_shapes.push_back(tensor.shape);
    compute.dimension_names.push_back(tensor.dims);
    compute.arguments.push_back({tensor.name, tensor.is_output, tensor.layout});
  }
  if (!code_.index_tensors.empty())
    compute.index_tensors = std::make_shared<const std::vector<std::string>>(code_.index_tensors);
  compute.origin = std::make_shared<const ComputeOrigin>(ComputeOrigin{steps, storage_, loaded_});
  return compute;
}

namespace {

void Load(SpyreStream& stream, ExecutionPlan& plan, const DeviceHandle& location,
          const std::shared_ptr<const DeviceStorage>& storage) {
  for (const InitPacket& packet : plan.init_packets()) {
    CopyToDevice copy;
    copy.host_address = packet.data->data();
    copy.device_handle = At(location, packet.offset);
    copy.size = packet.data->size();
    copy.keep_alive =
        std::make_shared<std::pair<decltype(packet.data), std::shared_ptr<const DeviceStorage>>>(
            packet.data, storage);
    copy.label = "program " + plan.name();
    stream.Launch(Operation({copy}));
  }
  plan.Bind(location, storage);
}

void RequireNotLoaded(const ExecutionPlan& plan) {
  if (plan.loaded()) {
    throw BadInput("plan '{}' is already loaded, or has nothing to load", plan.name());
  }
}

}  // namespace

void LoadPlan(SpyreStream& stream, ExecutionPlan& plan) {
  RequireNotLoaded(plan);
  auto storage = std::make_shared<const DeviceStorage>(stream.context(), plan.program_bytes(),
                                                       flex::MemoryKind::kProgram);
  Load(stream, plan, storage->handle(), storage);
}

void LoadPlanAt(SpyreStream& stream, ExecutionPlan& plan, const DeviceHandle& location) {
  RequireNotLoaded(plan);
  const flex::RuntimeContext& context = stream.context();
  const std::string what =
      fmt::format("program '{}' of {} bytes", plan.name(), plan.program_bytes());
  const auto allocation = context.FindAllocation(location);
  if (!allocation) {
    throw BadInput("{} cannot be loaded at {}: {}", what, flex::ToString(location),
                   context.WhyNotAllocated(location));
  }
  if (allocation->kind != flex::MemoryKind::kProgram) {
    throw BadInput(
        "{} cannot be loaded at {}: that is tensor memory, and programs run from program "
        "memory",
        what, flex::ToString(location));
  }
  if (allocation->handle != location) {
    throw BadInput(
        "{} cannot be loaded at {}: that is inside the allocation at {}, and a program starts "
        "where "
        "its allocation does",
        what, flex::ToString(location), flex::ToString(allocation->handle));
  }
  if (allocation->size_bytes < plan.program_bytes()) {
    throw BadInput("{} cannot be loaded at {}: the allocation has {} bytes", what,
                   flex::ToString(location), allocation->size_bytes);
  }
  Load(stream, plan, allocation->handle, nullptr);
}

}  // namespace spyre::runtime
