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
#include "cosim/tensors/host_data.h"
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
    bool known = false;
    uint64_t data = 0, result = 0, inbox = 0;  // offsets in the card's memory window
  };
  void Tell(size_t rank, const Place& place) { places_[rank] = place; }
  const Place& WaitForPlace(size_t rank);

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
  std::vector<Place> places_;
  std::map<Pair, uint64_t> sent_, taken_;
  std::map<size_t, uint64_t> arrivals_;
  std::map<size_t, std::deque<runtime::CollectiveCall>> calls_;
};

// Compiles the additions of a plan into `directory`, a kernel for each size of what is added.
std::vector<std::string> CompileAdditions(const RunConfig& config,
                                          const runtime::CollectivePlan& plan,
                                          const std::string& directory);

// One rank. The tensor must be whole and in the card's memory window.
class CardRank {
 public:
  // Opens the window, allocates inbox and result, loads the additions and learns of the others.
  CardRank(flex::RuntimeContext& context, CardGroup& group, size_t rank,
           const runtime::CollectivePlan& plan, const runtime::SpyreTensor& tensor,
           const std::vector<std::string>& additions);
  ~CardRank();

  // A copy of the tensor's device image, and of the result; that is empty if there is none.
  HostData ReadData();
  HostData ReadResult();
  void Run();
  const runtime::CollectiveTimes& times() const { return collective_->times(); }
  uint64_t begin_ps() const { return begin_ps_; }
  uint64_t end_ps() const { return end_ps_; }

 private:
  void Add(const flex::DeviceHandle& into, const flex::DeviceHandle& from, uint64_t bytes);
  HostData Read(const flex::DeviceHandle& from, uint64_t bytes);

  flex::RuntimeContext& context_;
  CardGroup& group_;
  const size_t rank_;
  const runtime::CollectivePlan& plan_;
  const runtime::SpyreTensor& tensor_;
  runtime::SpyreStream stream_;
  std::map<uint64_t, runtime::KernelSet> additions_;  // by the bytes that they add
  std::unique_ptr<runtime::DeviceStorage> inbox_, gathered_;
  std::map<size_t, flex::PeerMemory> windows_;  // of the ranks that this one writes to
  std::unique_ptr<runtime::CollectiveRank> collective_;
  uint64_t begin_ps_ = 0, end_ps_ = 0;
};

}  // namespace spyre::cosim
