#include "runtime/spyre/execution_plan.h"

#include <algorithm>
#include <utility>

#include "model/contract/error.h"
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
  for (const ExecStep& step : code_.exec_plan) {
    if (const auto* host = std::get_if<HostComputeStep>(&step)) {
      corrections_.push_back(host->correction);
    }
  }
}

const uint8_t* ExecutionPlan::HostBuffer(const std::string& host_handle) const {
  const auto it = host_buffers_.find(host_handle);
  return it == host_buffers_.end() ? nullptr : it->second.get();
}

void ExecutionPlan::Bind(const DeviceHandle& location,
                         std::shared_ptr<const DeviceStorage> storage) {
  if (loaded_) throw BadInput("plan '{}' is already loaded", code_.name);
  storage_ = std::move(storage);
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
  const auto replicas = std::make_shared<ProgramReplicas>(code_.name, code_.init_packets, location,
                                                          code_.allocation_bytes);
  for (Operation& operation : operations_) operation.set_replicas(replicas);
  loaded_ = true;
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
    operations_.back().set_program(storage_);
    return;
  }
  for (size_t i = 0; i + 1 < computes.size(); ++i) {
    const uint64_t offset = computes[i].offset;
    steps.emplace_back(DeviceLaunch{At(location, offset), computes[i].name, IsOfCoreZero(offset)});
  }
  SpyreCompute compute;
  compute.device_handle = At(location, computes.back().offset);
  compute.name = computes.back().name;
  compute.reduction_dims = code_.reduction_dims;
  compute.dimensions = code_.dimensions;
  compute.accumulation = code_.accumulation;
  for (const TensorMetadata& tensor : code_.arguments) {
    compute.expected_input_shapes.push_back(tensor.shape);
    compute.dimension_names.push_back(tensor.dims);
    compute.arguments.push_back({tensor.name, tensor.is_output, tensor.layout});
  }
  operations_.emplace_back(std::move(compute), std::exchange(steps, {}));
  operations_.back().set_program(storage_);
  computes.clear();
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
  Load(stream, plan, location, nullptr);
}

}  // namespace spyre::runtime
