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

void CardGroup::Wait(size_t from, size_t to, Kind kind) {
  const Pair pair{from, to, kind};
  const uint64_t wanted = ++taken_[pair];
  programs_.WaitFor(fmt::format("{} of card {}", kind == Kind::kData ? "data" : "an ACK", from),
                    [this, pair, wanted] { return sent_[pair] >= wanted; });
}

std::vector<std::string> CompileAdditions(const RunConfig& config, uint64_t bytes, size_t ranks,
                                          const std::string& directory) {
  std::set<uint64_t> sizes;
  for (size_t i = 0; i < ranks; ++i) sizes.insert(runtime::ChunkOf(bytes, ranks, i).bytes);
  sizes.erase(0);
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

CardRank::CardRank(flex::RuntimeContext& context, CardGroup& group, size_t rank, size_t ranks,
                   const runtime::SpyreTensor& tensor, const std::vector<std::string>& additions)
    : context_(context),
      group_(group),
      rank_(rank),
      tensor_(tensor),
      stream_(runtime::SpyreStream::Default(context)) {
  if (tensor_.data_type != DataFormat::kSen169Fp16 || !tensor_.chunks.empty()) {
    throw BadInput("cards.collective: {} must be SEN169_FP16 in one piece",
                   runtime::ToString(tensor_));
  }
  inbox_ = std::make_unique<runtime::DeviceStorage>(
      context_, std::max<uint64_t>(kStickBytes, runtime::InboxBytes(tensor_.size_bytes, ranks)),
      flex::MemoryKind::kTensor);
  const uint64_t data = flex::RawOffset(tensor_.device_handle);
  const uint64_t inbox = flex::RawOffset(inbox_->handle());
  const uint64_t base = std::min(data, inbox) / kBar2Bytes * kBar2Bytes;
  if (std::max(data + tensor_.size_bytes, inbox + inbox_->size_bytes()) - base > kBar2Bytes) {
    throw BadInput(
        "cards.collective: the output of {} bytes at 0x{:x} and its inbox at 0x{:x} do not lie in "
        "one window of {} bytes, which is what other cards reach",
        tensor_.size_bytes, data, inbox, kBar2Bytes);
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
  group_.Tell(rank_, {true, data - base, inbox - base});
  const size_t next = (rank + 1) % ranks;
  const CardGroup::Place& place = group_.WaitForPlace(next);
  next_ = std::make_unique<flex::PeerMemory>(context_, static_cast<unsigned>(next), 0, kBar2Bytes);
  ring_ = std::make_unique<runtime::RingRank>(
      context_,
      runtime::RingRank::Place{rank, ranks, tensor_.device_handle, tensor_.size_bytes,
                               inbox_->handle(), next_.get(), place.data, place.inbox},
      group_,
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

void CardRank::Read(HostData& image) {
  image.resize(tensor_.size_bytes);
  flex::OperationInfo info;
  info.name = "read before the collective";
  info.bulk = true;
  context_.DefaultStream().CopyFromDevice(image.data(), tensor_.device_handle, tensor_.size_bytes,
                                          info);
  context_.DefaultStream().Synchronize();
}

void CardRank::AllReduce() {
  group_.Barrier(rank_);  // no rank's data are overwritten before all ranks have computed
  begin_ps_ = context_.NowPs();
  ring_->AllReduce();
  end_ps_ = context_.NowPs();
}

}  // namespace spyre::cosim
