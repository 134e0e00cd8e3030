// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/program_replicas.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::runtime {
namespace {

bool IsOver(const flex::Event& event) {
  const flex::EventStatus status = event.status();
  return status == flex::EventStatus::kComplete || status == flex::EventStatus::kFailed;
}

bool IsUnrecorded(const flex::Event& event) {
  return event.status() == flex::EventStatus::kUnrecorded;
}

}  // namespace

bool ProgramReplica::IsFree() const { return !taken_ && AllFit(ends_, IsOver); }

// Never recorded: the launch failed while it was enqueued. Only a reset ends that use.
bool ProgramReplica::IsUsedBy(uint32_t caller) const {
  return !taken_ && caller_ == caller && NoneFits(ends_, IsUnrecorded);
}

ProgramReplicas::ProgramReplicas(std::string name, std::vector<InitPacket> packets,
                                 const DeviceHandle& home, uint64_t size_bytes)
    : name_(std::move(name)), packets_(std::move(packets)), home_(home), size_bytes_(size_bytes) {}

std::shared_ptr<ProgramReplica> ProgramReplicas::Take(const flex::FlexStream& caller) {
  flex::RuntimeContext& context = caller.context();
  const uint32_t index = caller.stream_index();
  const bool captured = context.Captures(caller);
  auto at = FindIf(replicas_, [&](const auto& replica) {
    return replica->IsFree() || (!captured && replica->IsUsedBy(index));
  });
  std::shared_ptr<ProgramReplica> replica =
      at != replicas_.end() ? *at : std::make_shared<ProgramReplica>(context, size_bytes_);
  if (captured && at != replicas_.end()) replicas_.erase(at);
  if (!captured && at == replicas_.end()) replicas_.push_back(replica);
  replica->caller_ = index;
  replica->taken_ = true;
  return replica;
}

void ProgramReplicas::Return(const std::shared_ptr<ProgramReplica>& replica) {
  replica->taken_ = false;
  if (replica->loaded_) return;
  const auto at = std::find(replicas_.begin(), replicas_.end(), replica);
  if (at != replicas_.end()) replicas_.erase(at);
}

void ProgramReplicas::Begin(flex::FlexStream& stream,
                            const std::shared_ptr<ProgramReplica>& replica,
                            std::vector<flex::Event> ends) const {
  const std::vector<flex::Event> before = std::exchange(replica->ends_, std::move(ends));
  if (!before.empty() && !IsOver(before.back())) stream.Wait(before.back());
  // An event fails with the copies, and when a reset ends all work.
  if (replica->loaded_ && replica->loaded_->status() != flex::EventStatus::kFailed) return;
  replica->loaded_.emplace(stream.context(), "load of a replica of program " + name_);
  for (const InitPacket& packet : packets_) {
    flex::OperationInfo info;
    info.label = "program " + name_ + ", replica";
    info.keep_alive =
        std::make_shared<std::pair<decltype(packet.data), std::shared_ptr<const ProgramReplica>>>(
            packet.data, replica);
    info.ordered = true;
    stream.CopyToDevice(packet.data->data(),
                        flex::Offset(replica->handle(), static_cast<int64_t>(packet.offset)),
                        packet.data->size(), info);
  }
  stream.Record(*replica->loaded_);
}

DeviceHandle ProgramReplicas::Moved(const DeviceHandle& handle, const ProgramReplica& to) const {
  return flex::Offset(to.handle(), static_cast<int64_t>(flex::RawOffset(handle)) -
                                       static_cast<int64_t>(flex::RawOffset(home_)));
}

Operation ProgramReplicas::On(const Operation& operation,
                              const std::shared_ptr<ProgramReplica>& replica) const {
  std::vector<PreProcessCompute> steps = operation.preprocess();
  for (PreProcessCompute& step : steps) {
    if (std::holds_alternative<CopyFromDevice>(step)) {
      throw BadInput(
          "{}: it copies to a host buffer, which all its launches share, so they cannot be in "
          "flight together",
          Describe(operation));
    }
    if (auto* copy = std::get_if<CopyToDevice>(&step)) {
      copy->device_handle = Moved(copy->device_handle, *replica);
    } else if (auto* launch = std::get_if<DeviceLaunch>(&step)) {
      launch->device_handle = Moved(launch->device_handle, *replica);
    }
  }
  SpyreCompute compute = *operation.compute();
  compute.device_handle = Moved(compute.device_handle, *replica);
  Operation moved(std::move(compute), std::move(steps));
  moved.set_program(replica);
  return moved;
}

}  // namespace spyre::runtime
