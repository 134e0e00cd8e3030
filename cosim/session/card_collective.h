// SPDX-License-Identifier: Apache-2.0
// The collective of a session of several cards: what the ranks know of each other, and one rank's
// part. Ranks are programs of HostPrograms, so one runs at a time. Errors: as the runtime's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/host/host_programs.h"
#include "cosim/workload/workload.h"
#include "runtime/collectives/card_collectives.h"
#include "runtime/collectives/collective_rank.h"
#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/kernel_set.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::cosim {

// What the hosts of the ranks share: where each has its data, and signals.
class CardGroup final : public runtime::RankSignals {
 public:
  CardGroup(HostPrograms& programs, size_t ranks) : programs_(programs), places_(ranks) {}

  struct Place {
    uint64_t data = 0, result = 0, inbox = 0;  // offsets in the card's memory window
  };
  // Of every collective of the rank's program, in order.
  void Tell(size_t rank, std::vector<Place> places) { places_[rank] = std::move(places); }
  const Place& WaitForPlace(size_t rank, size_t collective);

  // Waits until every rank has come here as often as this one.
  void Barrier(size_t rank);

  void Send(size_t from, size_t to) override { ++sent_[{from, to}]; }
  void Wait(size_t from, size_t to) override;
  void Announce(size_t rank, const runtime::CollectiveCall& call) override {
    calls_[rank].push_back(call);
  }
  const runtime::CollectiveCall& WaitForCall(size_t rank, size_t number) override;

 private:
  using Pair = std::pair<size_t, size_t>;
  HostPrograms& programs_;
  std::vector<std::vector<Place>> places_;
  std::map<Pair, uint64_t> sent_, taken_;
  std::map<size_t, uint64_t> arrivals_;
  std::map<size_t, std::deque<runtime::CollectiveCall>> calls_;
};

// What the cards do together: in the middle of the workload's list, or with its output. Empty:
// nothing. BadInput if the configuration asks for both, or the output is not one that can be had.
struct CardCollectivesOf {
  bool in_list = false;
  std::vector<NamedCollective> all;  // in order
};
CardCollectivesOf CollectivesOf(const RunConfig& config, const Workload& workload);

// "4 cards: add rows=64 cols=64 each, all_reduce of the output"
std::string CardsDescription(size_t cards, const std::string& workload,
                             runtime::Collective of_output);

// The addition of so many bytes that a collective has a card do, as a workload.
RunConfig AdditionOf(const RunConfig& config, uint64_t bytes);

// Compiles the additions of plans into `directory`, a kernel for each size of what is added.
std::vector<std::string> CompileAdditions(const RunConfig& config,
                                          const std::vector<runtime::CollectivePlan>& plans,
                                          const std::string& directory);

// One rank, with all collectives of its program. Their memory must be in the card's memory window.
class CardRank {
 public:
  struct Times {
    uint64_t begin_ps = 0, end_ps = 0;
    runtime::CollectiveTimes parts;
  };

  // Opens the window, allocates inbox and results that have no place, loads the additions and
  // learns of the others. plans: one for each place; they must outlive this.
  CardRank(flex::RuntimeContext& context, CardGroup& group, size_t rank,
           const std::vector<runtime::CollectivePlan>& plans,
           const std::vector<runtime::CollectivePlace>& places,
           const std::vector<std::string>& additions);
  ~CardRank();

  // When all ranks have come to it.
  void Run(size_t number);
  // What a rank does next is not beside what others still do together.
  void Barrier() { group_.Barrier(rank_); }
  Times TimesOf(size_t number) const;

  // Where the data and the result are, in the memory of a card that is opened by its physical
  // function.
  const flex::DeviceHandle& Data(size_t number) const { return parts_[number].place.data; }
  const flex::DeviceHandle& Result(size_t number) const { return *parts_[number].place.result; }

 private:
  struct Part {
    runtime::CollectivePlace place;
    std::unique_ptr<runtime::DeviceStorage> gathered;  // null: the place has its result
    std::unique_ptr<runtime::CollectiveRank> rank;
    uint64_t begin_ps = 0, end_ps = 0;
  };
  uint64_t OpenWindow();  // that has everything; returns its base
  void LearnOfOthers();
  void Add(const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes);

  flex::RuntimeContext& context_;
  CardGroup& group_;
  const size_t rank_;
  const std::vector<runtime::CollectivePlan>& plans_;
  runtime::SpyreStream stream_;
  std::map<uint64_t, runtime::KernelSet> additions_;  // by the bytes that they add
  std::unique_ptr<runtime::DeviceStorage> inbox_;
  std::map<size_t, flex::PeerMemory> windows_;  // of the ranks that this one writes to
  std::vector<Part> parts_;
};

}  // namespace spyre::cosim
