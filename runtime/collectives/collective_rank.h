// SPDX-License-Identifier: Apache-2.0
// One rank's part in a collective: executes the steps of a plan (plan.h) by copies of the card's
// DMA engine into the other cards' memory (flex::PeerMemory), and additions on its own card.
//
// In the trace, named as in the public ones:
//   WAIT_ACK     all ranks have come, and called the same; their memory may be written
//   SEND_DATA    copy a step's bytes             SIGNAL_DATA  tell the receiver
//   WAIT_DATA    a step's bytes have come        RECV_DATA
//   COMPUTE      add them to one's own
//
// Hosts tell each other (RankSignals); the data are there before what the told host does reaches
// its card, because nothing passes a posted write (flex/peer_memory.h). Threads: a rank is called
// on one. Errors: of the runtime; BadInput naming both ranks if two have called different things.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/collectives/plan.h"
#include "runtime/flex/device_handle.h"
#include "runtime/flex/peer_memory.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::runtime {

// How the hosts of the ranks tell each other.
class RankSignals {
 public:
  virtual ~RankSignals() = default;
  // That data have come. Signals of a pair are counted, and taken in order.
  virtual void Send(size_t from, size_t to) = 0;
  virtual void Wait(size_t from, size_t to) = 0;
  // Rank's next call; and what the call of the same number of another rank is, once it has come.
  virtual void Announce(size_t rank, const CollectiveCall& call) = 0;
  virtual const CollectiveCall& WaitForCall(size_t rank, size_t number) = 0;
  // A part of the rank's collective has ended, as the trace shows it: "[AllReduce,Ring,65536]
  // SEND_DATA", with the rank of the peer.
  virtual void Ended(const std::string& /*part*/, uint64_t /*begin_ps*/, uint64_t /*end_ps*/,
                     uint64_t /*bytes*/, size_t /*peer*/) {}
};

// What a rank spent its time on, in simulated picoseconds, added up.
struct CollectiveTimes {
  uint64_t send_ps = 0;     // from the copy's call to its completion
  uint64_t wait_ps = 0;     // for others: WAIT_ACK and WAIT_DATA
  uint64_t compute_ps = 0;  // additions
  uint64_t bytes_sent = 0;
  uint64_t steps = 0;  // copies that it sent

  CollectiveTimes& operator+=(const CollectiveTimes& other);
};

class CollectiveRank {
 public:
  // Where the areas of this rank are, and those of the others in what it reaches of them. An area
  // that the plan does not use may be missing (handle of nothing, offset 0).
  // The blocks of a result lie behind each other, or, with `blocks`, each in a place of its own.
  struct Place {
    size_t rank = 0;
    flex::DeviceHandle data, result, inbox;
    std::vector<flex::DeviceHandle> blocks = {};
  };
  struct Peer {
    const flex::PeerMemory* memory = nullptr;  // null: this rank, or one that it never writes
    uint64_t data = 0, result = 0, inbox = 0;
    std::vector<uint64_t> blocks = {};
  };
  // Enqueues on the default stream: [into, into + bytes) += [from, from + bytes), of the call's
  // type.
  using Reduce = std::function<void(const flex::DeviceHandle& into, const flex::DeviceHandle& from,
                                    uint64_t bytes)>;

  // All must outlive this. peers: by rank. calls: that the rank has announced to `signals` when
  // this one runs its first.
  CollectiveRank(flex::RuntimeContext& context, const Place& place, std::vector<Peer> peers,
                 RankSignals& signals, Reduce reduce, size_t calls = 0);

  void Run(const CollectivePlan& plan);
  const CollectiveTimes& times() const { return times_; }

 private:
  void Agree(const CollectivePlan& plan);
  void Send(const CollectiveStep& step);
  void Take(const CollectiveStep& step);
  flex::DeviceHandle At(const CollectiveRange& range) const;
  uint64_t At(const Peer& peer, const CollectiveRange& range) const;
  // How many of `bytes` from there on lie in one piece.
  uint64_t PieceOf(const CollectiveRange& range, bool in_blocks, uint64_t bytes) const;
  // A part of the collective in the trace: its class, and the peer.
  void Trace(const char* what, uint64_t begin_ps, size_t peer, uint64_t bytes);

  flex::RuntimeContext& context_;
  const Place place_;
  const std::vector<Peer> peers_;
  RankSignals& signals_;
  const Reduce reduce_;
  uint64_t block_bytes_ = 0;  // of the collective that runs
  std::string title_;         // "[AllReduce,Ring,65536]"
  size_t calls_;
  CollectiveTimes times_;
};

}  // namespace spyre::runtime
