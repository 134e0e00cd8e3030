// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/card_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/workload/resolve.h"
#include "driver/physical_function.h"
#include "model/contract/memory_map.h"
#include "runtime/spyre/launch_kernel.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kStickElements = 64;  // of SEN169_FP16

}  // namespace

const CardGroup::Place& CardGroup::WaitForPlace(size_t rank, size_t collective) {
  programs_.WaitFor(fmt::format("card {} to say where its data are", rank),
                    [this, rank] { return !places_[rank].empty(); });
  return places_[rank].at(collective);
}

void CardGroup::Barrier(size_t rank) {
  const uint64_t mine = ++arrivals_[rank];
  programs_.WaitFor("every card to come as far", [this, mine] {
    return arrivals_.size() == places_.size() &&
           AllFit(arrivals_, [mine](const auto& other) { return other.second >= mine; });
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

CardCollectivesOf CollectivesOf(const RunConfig& config, const Workload& workload) {
  CardCollectivesOf collectives{true, workload.collectives()};
  const runtime::Collective of_output = config.cards.collective;
  if (of_output == runtime::Collective::kNone) {
    collectives.in_list = !collectives.all.empty();
    return collectives;
  }
  if (!collectives.all.empty())
    throw BadInput("cards.collective = \"{}\": the list says itself what the cards do together",
                   runtime::Name(of_output))
        .Subject("cards.collective");
  std::vector<const WorkloadTensor*> outputs;
  for (const WorkloadTensor& tensor : workload.tensors())
    if (tensor.is_output) outputs.push_back(&tensor);
  const bool adds = runtime::Adds(of_output);
  if (outputs.size() != 1 || (adds && outputs.front()->layout.format != DataFormat::kSen169Fp16)) {
    throw BadInput("cards.collective: the workload must have one output{}; this one has {}",
                   adds ? " of SEN169_FP16" : "", outputs.size())
        .Subject("cards.collective");
  }
  const StickLayout& layout = outputs.front()->layout;
  runtime::CollectiveCall call;
  call.collective = of_output;
  call.algorithm = config.cards.algorithm;
  call.bytes = static_cast<uint64_t>(layout.DeviceBytes());
  call.type = FormatName(layout.format);
  call.root = config.cards.root;
  call.peer = config.cards.peer;
  return {false, {{outputs.front()->name, call}}};
}

std::string CardsDescription(size_t cards, const std::string& workload,
                             runtime::Collective of_output) {
  const bool collective = of_output != runtime::Collective::kNone;
  return fmt::format("{} cards: {} each{}", cards, workload,
                     collective ? ", " + runtime::Name(of_output) + " of the output" : "");
}

RunConfig AdditionOf(const RunConfig& config, uint64_t bytes) {
  RunConfig add = config;
  add.workload = {};
  add.workload.op = "add";
  add.workload.size.rows = bytes / kStickBytes;
  add.workload.size.cols = kStickElements;
  add.workload.functional = config.workload.functional;
  add.given.clear();
  return add;
}

std::vector<std::string> CompileAdditions(const RunConfig& config,
                                          const std::vector<runtime::CollectivePlan>& plans,
                                          const std::string& directory) {
  std::set<uint64_t> sizes;
  for (const runtime::CollectivePlan& plan : plans) {
    for (const auto& round : plan.rounds) {
      for (const runtime::CollectiveStep& step : round) {
        if (step.adds) sizes.insert(step.bytes);
      }
    }
  }
  std::vector<std::string> directories;
  for (const uint64_t size : sizes) {
    const std::string place = fmt::format("{}/add_{}", directory, size);
    directories.push_back(ResolveWorkload(AdditionOf(config, size))->Compile(place).directory);
  }
  return directories;
}

CardRank::CardRank(flex::RuntimeContext& context, CardGroup& group, size_t rank,
                   const std::vector<runtime::CollectivePlan>& plans,
                   const std::vector<runtime::CollectivePlace>& places,
                   const std::vector<std::string>& additions)
    : context_(context),
      group_(group),
      rank_(rank),
      plans_(plans),
      stream_(runtime::SpyreStream::Default(context)) {
  const auto storage = [&](uint64_t bytes) {
    return std::make_unique<runtime::DeviceStorage>(
        context_, std::max<uint64_t>(kStickBytes, bytes), flex::MemoryKind::kTensor);
  };
  uint64_t inbox_bytes = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    Part& part = parts_.emplace_back();
    part.place = places[i];
    inbox_bytes = std::max(inbox_bytes, plans_[i].inbox_bytes);
    if (part.place.result) continue;
    part.gathered = storage(plans_[i].result_bytes);
    part.place.result = part.gathered->handle();
  }
  inbox_ = storage(inbox_bytes);
  const uint64_t base = OpenWindow();
  for (const std::string& directory : additions) {
    const std::filesystem::path path(directory);
    const std::string name = path.filename().string();  // add_BYTES
    const auto added = additions_.try_emplace(std::stoull(name.substr(name.find('_') + 1)), path);
    runtime::LoadKernels(stream_, added.first->second);
  }
  context_.Synchronize();
  std::vector<CardGroup::Place> told;
  const uint64_t inbox = flex::RawOffset(inbox_->handle());
  for (const Part& part : parts_) {
    told.push_back({flex::RawOffset(part.place.data) - base,
                    flex::RawOffset(*part.place.result) - base, inbox - base});
  }
  group_.Tell(rank_, std::move(told));
  LearnOfOthers();
}

CardRank::~CardRank() = default;

uint64_t CardRank::OpenWindow() {
  uint64_t least = flex::RawOffset(inbox_->handle());
  uint64_t end = least + inbox_->size_bytes();
  const auto hold = [&](const flex::DeviceHandle& handle, uint64_t bytes) {
    least = std::min(least, flex::RawOffset(handle));
    end = std::max(end, flex::RawOffset(handle) + bytes);
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    hold(parts_[i].place.data, plans_[i].call.bytes);
    hold(*parts_[i].place.result, plans_[i].result_bytes);
  }
  const uint64_t base = least / kBar2Bytes * kBar2Bytes;
  if (end - base > kBar2Bytes) {
    throw BadInput(
        "what the cards do together uses memory from 0x{:x} to 0x{:x}, which does not lie in one "
        "window of {} bytes, which is what other cards reach",
        least, end, kBar2Bytes);
  }
  const auto lock = context_.Lock();
  driver::PhysicalFunction(context_.device()).OpenPeerWindow(base);
  return base;
}

void CardRank::LearnOfOthers() {
  for (size_t number = 0; number < parts_.size(); ++number) {
    Part& part = parts_[number];
    std::vector<runtime::CollectiveRank::Peer> peers(plans_[number].ranks);
    for (const auto& round : plans_[number].rounds) {
      for (const runtime::CollectiveStep& step : round) {
        if (step.from != rank_ || peers[step.to].memory != nullptr) continue;
        const CardGroup::Place& place = group_.WaitForPlace(step.to, number);
        const auto window =
            windows_.try_emplace(step.to, context_, static_cast<unsigned>(step.to), 0, kBar2Bytes);
        peers[step.to] = {&window.first->second, place.data, place.result, place.inbox};
      }
    }
    part.rank = std::make_unique<runtime::CollectiveRank>(
        context_,
        runtime::CollectiveRank::Place{rank_, part.place.data, *part.place.result,
                                       inbox_->handle()},
        std::move(peers), group_,
        [this](const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes) {
          Add(into, from, bytes);
        },
        number);
  }
}

void CardRank::Add(const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes) {
  const StickLayout layout = DefaultLayout(
      {static_cast<int64_t>(bytes / kStickBytes), kStickElements}, DataFormat::kSen169Fp16);
  const runtime::SpyreTensor sum = runtime::TensorAt(into, layout);
  runtime::LaunchKernel(stream_, additions_.at(bytes), {sum, runtime::TensorAt(from, layout), sum});
}

void CardRank::Run(size_t number) {
  Part& part = parts_[number];
  group_.Barrier(rank_);  // no rank's data are overwritten before all ranks have computed
  part.begin_ps = context_.NowPs();
  part.rank->Run(plans_[number]);
  part.end_ps = context_.NowPs();
}

CardRank::Times CardRank::TimesOf(size_t number) const {
  const Part& part = parts_[number];
  return {part.begin_ps, part.end_ps, part.rank->times()};
}

}  // namespace spyre::cosim
