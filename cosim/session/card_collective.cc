// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/card_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "cosim/workload/resolve.h"
#include "driver/physical_function.h"
#include "model/contract/memory_map.h"
#include "runtime/spyre/launch_kernel.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kStickElements = 64;  // of SEN169_FP16

}  // namespace

const CardGroup::Place& CardGroup::WaitForPlace(size_t rank) {
  programs_.WaitFor(fmt::format("card {} to say where its data are", rank),
                    [this, rank] { return places_[rank].known; });
  return places_[rank];
}

void CardGroup::Barrier(size_t rank) {
  const uint64_t mine = ++arrivals_[rank];
  programs_.WaitFor("every card to come as far", [this, mine] {
    return arrivals_.size() == places_.size() &&
           std::all_of(arrivals_.begin(), arrivals_.end(),
                       [mine](const auto& other) { return other.second >= mine; });
  });
}

void CardGroup::Wait(size_t from, size_t to) {
  const Pair pair{from, to};
  const uint64_t wanted = ++taken_[pair];
  programs_.WaitFor(fmt::format("data of card {}", from),
                    [this, pair, wanted] { return sent_[pair] >= wanted; });
}

const runtime::CollectiveCall& CardGroup::WaitForCall(size_t rank, size_t number) {
  programs_.WaitFor(fmt::format("card {} to come to collective {}", rank, number),
                    [this, rank, number] { return calls_[rank].size() > number; });
  return calls_[rank][number];
}

std::vector<std::string> CompileAdditions(const RunConfig& config,
                                          const runtime::CollectivePlan& plan,
                                          const std::string& directory) {
  std::set<uint64_t> sizes;
  for (const auto& round : plan.rounds) {
    for (const runtime::CollectiveStep& step : round) {
      if (step.adds) sizes.insert(step.bytes);
    }
  }
  std::vector<std::string> directories;
  for (const uint64_t size : sizes) {
    RunConfig add = config;
    add.workload = {};
    add.workload.op = "add";
    add.workload.size.rows = size / kStickBytes;
    add.workload.size.cols = kStickElements;
    add.workload.functional = config.workload.functional;
    add.given.clear();
    const std::string place = fmt::format("{}/add_{}", directory, size);
    directories.push_back(ResolveWorkload(add)->Compile(place).directory);
  }
  return directories;
}

CardRank::CardRank(flex::RuntimeContext& context, CardGroup& group, size_t rank,
                   const runtime::CollectivePlan& plan, const runtime::SpyreTensor& tensor,
                   const std::vector<std::string>& additions)
    : context_(context),
      group_(group),
      rank_(rank),
      plan_(plan),
      tensor_(tensor),
      stream_(runtime::SpyreStream::Default(context)) {
  if (!tensor_.chunks.empty())
    throw BadInput("cards.collective: {} must be in one piece", runtime::ToString(tensor_));
  const auto storage = [&](uint64_t bytes) {
    return std::make_unique<runtime::DeviceStorage>(
        context_, std::max<uint64_t>(kStickBytes, bytes), flex::MemoryKind::kTensor);
  };
  inbox_ = storage(plan.inbox_bytes);
  gathered_ = storage(plan.result_bytes);
  const uint64_t data = flex::RawOffset(tensor_.device_handle);
  const uint64_t inbox = flex::RawOffset(inbox_->handle());
  const uint64_t result = flex::RawOffset(gathered_->handle());
  const uint64_t base = std::min({data, inbox, result}) / kBar2Bytes * kBar2Bytes;
  const uint64_t end = std::max(
      {data + tensor_.size_bytes, inbox + inbox_->size_bytes(), result + gathered_->size_bytes()});
  if (end - base > kBar2Bytes) {
    throw BadInput(
        "cards.collective: the output of {} bytes at 0x{:x}, its inbox at 0x{:x} and the gathered "
        "blocks at 0x{:x} do not lie in one window of {} bytes, which is what other cards reach",
        tensor_.size_bytes, data, inbox, result, kBar2Bytes);
  }
  {
    const auto lock = context_.Lock();
    driver::PhysicalFunction(context_.device()).OpenPeerWindow(base);
  }
  for (const std::string& directory : additions) {
    const std::filesystem::path path(directory);
    const std::string name = path.filename().string();  // add_BYTES
    const auto added = additions_.try_emplace(std::stoull(name.substr(name.find('_') + 1)), path);
    runtime::LoadKernels(stream_, added.first->second);
  }
  context_.Synchronize();
  group_.Tell(rank_, {true, data - base, result - base, inbox - base});
  std::vector<runtime::CollectiveRank::Peer> peers(plan.ranks);
  for (const auto& round : plan.rounds) {
    for (const runtime::CollectiveStep& step : round) {
      if (step.from != rank_ || peers[step.to].memory != nullptr) continue;
      const CardGroup::Place& place = group_.WaitForPlace(step.to);
      const auto window =
          windows_.try_emplace(step.to, context_, static_cast<unsigned>(step.to), 0, kBar2Bytes);
      peers[step.to] = {&window.first->second, place.data, place.result, place.inbox};
    }
  }
  collective_ = std::make_unique<runtime::CollectiveRank>(
      context_,
      runtime::CollectiveRank::Place{rank, tensor_.device_handle, gathered_->handle(),
                                     inbox_->handle()},
      std::move(peers), group_,
      [this](const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes) {
        Add(into, from, bytes);
      });
}

CardRank::~CardRank() = default;

void CardRank::Add(const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes) {
  const StickLayout layout = DefaultLayout(
      {static_cast<int64_t>(bytes / kStickBytes), kStickElements}, DataFormat::kSen169Fp16);
  const runtime::SpyreTensor sum = runtime::TensorAt(into, layout);
  runtime::LaunchKernel(stream_, additions_.at(bytes), {sum, runtime::TensorAt(from, layout), sum});
}

HostData CardRank::Read(const flex::DeviceHandle& from, uint64_t bytes) {
  HostData image(bytes);
  flex::OperationInfo info;
  info.name = "read beside the collective";
  info.bulk = true;
  context_.DefaultStream().CopyFromDevice(image.data(), from, bytes, info);
  context_.DefaultStream().Synchronize();
  return image;
}

HostData CardRank::ReadData() { return Read(tensor_.device_handle, tensor_.size_bytes); }

HostData CardRank::ReadResult() {
  return plan_.result_bytes == 0 ? HostData() : Read(gathered_->handle(), plan_.result_bytes);
}

void CardRank::Run() {
  group_.Barrier(rank_);  // no rank's data are overwritten before all ranks have computed
  begin_ps_ = context_.NowPs();
  collective_->Run(plan_);
  end_ps_ = context_.NowPs();
  group_.Barrier(rank_);  // what a rank does next is not beside what others still do together
}

}  // namespace spyre::cosim
