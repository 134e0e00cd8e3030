// SPDX-License-Identifier: Apache-2.0
// The part of this process in collectives: carries one out after the other on the card of
// libflex.so. One thread at a time.
//
// Before bytes move, each rank tells the others what it calls and where its memory is; then nobody
// writes where somebody still computes. Errors: BadInput naming both ranks if they have called
// different things, or if a rank's memory does not lie in one window of its card; those of
// RankChannel, and of the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/collectives/collective_rank.h"
#include "runtime/flex/peer_memory.h"
#include "runtime/spyre/spyre_tensor.h"
#include "sdk/comms/announcement.h"
#include "sdk/comms/rank_channel.h"
#include "sdk/comms/sized_kernels.h"

namespace spyre::sdk {

class Rank {
 public:
  // mail: null if there is one rank. Both must outlive this.
  Rank(flex::RuntimeContext& context, RankMail* mail, size_t rank, size_t ranks, unsigned card);
  ~Rank();

  size_t rank() const { return rank_; }
  size_t ranks() const { return ranks_; }

  // A call of all ranks. data: of `call.bytes` each; blocks: of a result, by rank, empty where this
  // rank gets none. Returns when this rank has done its part.
  struct Areas {
    flex::DeviceHandle data;
    std::vector<flex::DeviceHandle> blocks;
  };
  void Run(const runtime::CollectiveCall& call, const Areas& areas);

  // Between two ranks. Offer tells the sender where its bytes are to go, from when on they may
  // come; Send and Receive end when they have. Calls of one tag fit in their order. CanSend and
  // CanReceive: whether the other rank has done its part, as far as WaitFor, which lets a message
  // of anybody come, has heard.
  bool CanSend(size_t to, int tag) const;
  bool CanReceive(size_t from, int tag) const;
  void WaitFor(size_t other, const std::string& call) { channel_.Wait(other, call); }
  void Offer(size_t from, int tag, const flex::DeviceHandle& data, uint64_t bytes,
             const std::string& type);
  void Send(size_t to, int tag, const flex::DeviceHandle& data, uint64_t bytes,
            const std::string& type);
  void Receive(size_t from, int tag, uint64_t bytes, const std::string& type);

 private:
  class Signals;

  uint64_t InWindow(const flex::DeviceHandle& place, uint64_t bytes, const char* what) const;
  void OpenWindow(const flex::DeviceHandle& place);
  const flex::PeerMemory& WindowOf(unsigned card);
  flex::DeviceHandle Own(std::unique_ptr<runtime::DeviceStorage>& storage, uint64_t bytes);
  void Exchange(const Announcement& mine, std::vector<Announcement>& all);

  flex::RuntimeContext& context_;
  const size_t rank_, ranks_;
  const unsigned card_;
  RankMail* const mail_;
  RankChannel channel_;
  SizedKernels additions_, copies_;
  std::unique_ptr<runtime::DeviceStorage> inbox_, passed_on_;  // as large as was ever needed
  std::map<unsigned, flex::PeerMemory> windows_;               // of other cards, by number
  uint64_t window_ = UINT64_MAX;  // of this card: where it begins in device memory
  size_t offers_ = 0;             // that are open: the window stays where it is
  uint64_t calls_ = 0;
};

// What SPYRE_COMMS_ALGORITHM says: "ring", "tree", "direct", or "auto", also if it is not set.
runtime::CollectiveAlgorithm AlgorithmOfEnvironment();

}  // namespace spyre::sdk
