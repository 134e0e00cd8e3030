// SPDX-License-Identifier: Apache-2.0
// Collective operations of several cards as a ring: each rank sends to the next one only, by copies
// of the card's DMA engine into the next card's memory (flex::PeerMemory), and adds on its own
// card.
//
// The data of a rank are `bytes` of device memory, whole sticks, cut into as many chunks as there
// are ranks: RingChunk says where. Chunk c is reduced in this order, whatever the times are:
//
//   ((x[c] + x[c + 1]) + x[c + 2]) + ...      ranks modulo their number, one rounding for each +
//
// and ends at rank c - 1, which sends it on. AllReduce is ReduceScatter, after which rank r has
// chunk r + 1 whole, and AllGather, which gives everybody all chunks; both take n - 1 steps, in
// each of which every rank sends one chunk.
//
// A step of ReduceScatter at a rank, named as in the public traces:
//   WAIT_ACK     the next rank has emptied the half of its inbox that this step uses
//   SEND_DATA    copy a chunk into it            SIGNAL_DATA  tell the next rank
//   WAIT_DATA    the previous rank's chunk has come (RECV_DATA)
//   COMPUTE      add it to one's own             SIGNAL_ACK   tell the previous rank
// AllGather copies into the chunk's own place, which is not read any more, so it needs neither
// inbox nor ACK.
//
// Hosts tell each other (RankSignals); the data are there before what the told host does reaches
// its card, because nothing passes a posted write (flex/peer_memory.h). Threads: a rank is called
// on one. Errors: of the runtime; BadInput for a size that is not whole sticks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/flex/device_handle.h"
#include "runtime/flex/peer_memory.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::runtime {

// A chunk in the data of a rank; bytes may be 0.
struct RingChunk {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
// Chunk `number` of `ranks`; the first ones have a stick more if sticks do not come out even.
RingChunk ChunkOf(uint64_t bytes, size_t ranks, size_t number);
// Of the largest chunk, twice: what an inbox needs.
uint64_t InboxBytes(uint64_t bytes, size_t ranks);

// How the hosts of two neighbours tell each other.
class RankSignals {
 public:
  enum class Kind { kData, kAck };
  virtual ~RankSignals() = default;
  // Signals of a pair and a kind are counted, and taken in order.
  virtual void Send(size_t from, size_t to, Kind kind) = 0;
  virtual void Wait(size_t from, size_t to, Kind kind) = 0;
};

// What a rank spent its time on, in simulated picoseconds, added up.
struct RingTimes {
  uint64_t send_ps = 0;     // from the copy's call to its completion
  uint64_t wait_ps = 0;     // for neighbours: WAIT_DATA and WAIT_ACK
  uint64_t compute_ps = 0;  // additions
  uint64_t bytes_sent = 0;
  uint64_t steps = 0;
};

class RingRank {
 public:
  struct Place {
    size_t rank = 0, ranks = 1;
    flex::DeviceHandle data;   // of this rank
    uint64_t bytes = 0;        // of the data
    flex::DeviceHandle inbox;  // of this rank, InboxBytes long
    // Memory of the next rank, and where in it its data and its inbox begin.
    const flex::PeerMemory* next = nullptr;
    uint64_t next_data = 0, next_inbox = 0;
  };
  // Enqueues on the default stream: [into, into + bytes) += [from, from + bytes), elements of
  // SEN169_FP16.
  using Reduce = std::function<void(const flex::DeviceHandle& into, const flex::DeviceHandle& from,
                                    uint64_t bytes)>;

  // All must outlive this.
  RingRank(flex::RuntimeContext& context, const Place& place, RankSignals& signals, Reduce reduce);

  void AllReduce();
  void ReduceScatter();  // afterwards chunk (rank + 1) modulo ranks is whole
  void AllGather();      // of the chunk that ReduceScatter leaves whole
  const RingTimes& times() const { return times_; }

 private:
  size_t Previous() const { return (place_.rank + place_.ranks - 1) % place_.ranks; }
  size_t Next() const { return (place_.rank + 1) % place_.ranks; }
  size_t Behind(size_t steps) const;  // the rank that many before this one
  // Copies [chunk] to `offset` of the next rank's memory, and waits for it.
  void Send(const RingChunk& chunk, uint64_t offset);
  void Tell(size_t to, RankSignals::Kind kind);
  void WaitFor(size_t from, RankSignals::Kind kind);
  void Add(const RingChunk& chunk, uint64_t inbox_offset);
  // A part of the collective in the trace: its class, and the peer.
  void Trace(const char* what, uint64_t begin_ps, size_t peer, uint64_t bytes);

  flex::RuntimeContext& context_;
  const Place place_;
  RankSignals& signals_;
  const Reduce reduce_;
  std::string title_;  // "[AllReduce,Ring,65536]"
  RingTimes times_;
};

}  // namespace spyre::runtime
