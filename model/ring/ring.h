// SPDX-License-Identifier: Apache-2.0
// The ring: one stop per core plus the memory interface, a data link each way between neighbours,
// and a partial-sum link each way. Carries bursts between cores and device memory (unicast and
// multicast) and messages between cores.
//
// Cores and dispatchers bind to `core_socket`, and say with each request at which stop they sit:
// core 0 .. N-1, or the memory stop N, where dispatchers sit. A stop may have several requesters.
// LX of cores bind in core order. An address with kPeerBit set names LX of another core: bits 0..31
// the LX address, bits 32..47 the core. Everything else is a physical device address.
//
// Memory accesses are split transactions (nb_transport, model/common/split_socket.h). A multicast
// read starts when the last member of its group has asked; one request stands for all. Messages to
// peers use b_transport, which adds their time to the delay. Nothing here blocks. Kernel thread
// only.
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>

#include <deque>
#include <map>
#include <memory>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/resource.h"
#include "model/common/split_socket.h"

namespace spyre::model {

class Ring : public sc_core::sc_module {
 public:
  static constexpr uint64_t kPeerBit = 1ull << 63;
  static uint64_t PeerAddress(unsigned core, uint64_t lx_address) {
    return kPeerBit | (static_cast<uint64_t>(core) << 32) | lx_address;
  }

  tlm_utils::multi_passthrough_target_socket<Ring> core_socket{"core_socket"};
  SplitSocket memory_socket{"memory_socket"};
  tlm_utils::multi_passthrough_initiator_socket<Ring> lx_socket{
      "lx_socket"};  // to each core's LX, in core order; what is bound behind them has no address

  Ring(const sc_core::sc_module_name& name, const CardConfig& config, trace::Recorder* recorder);

  // Ends half-assembled multicasts of a job that is being torn down: their members get an error.
  void AbandonMulticasts();
  std::vector<UnitStatistics> Statistics() const;

 private:
  // A core's read or write on its way through memory.
  struct Passage final : TransferClient {
    Ring* ring = nullptr;
    tlm::tlm_generic_payload* payload = nullptr;
    TransferClient* requester = nullptr;
    void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override;
  };
  // A multicast read: waits for its members, then for memory.
  struct Multicast final : TransferClient {
    Ring* ring = nullptr;
    uint32_t group = 0;
    uint32_t arrived = 0;
    bool mismatch = false;
    std::vector<tlm::tlm_generic_payload*> members;
    TransferPayload read;
    void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override;
  };

  tlm::tlm_sync_enum Begin(int id, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                           sc_core::sc_time& delay);
  void SendToPeer(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void BeginUnicast(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                    const sc_core::sc_time& delay);
  void EndUnicast(Passage& passage, uint64_t memory_done_ps);
  void JoinMulticast(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                     const sc_core::sc_time& delay);
  void EndMulticast(Multicast& multicast, uint64_t memory_done_ps);
  void Copy(const Multicast& multicast);  // the data, to each member
  // When each member has the data of a multicast that memory has ready at data_ps.
  void Deliver(const Multicast& multicast, uint64_t data_ps);
  void Respond(tlm::tlm_generic_payload& payload, uint64_t done_ps);
  template <class T>
  T* Take(std::vector<std::unique_ptr<T>>& all, std::vector<T*>& free);

  uint64_t Travel(std::vector<Resource>& links, bool clockwise, int from, int to, uint64_t bytes,
                  uint64_t cycles, uint64_t start_ps, uint64_t flow);
  int Next(int stop, bool clockwise) const {
    if (clockwise) return stop + 1 == stops_ ? 0 : stop + 1;
    return (stop == 0 ? stops_ : stop) - 1;
  }
  int Distance(int from, int to, bool clockwise) const;
  bool ShorterClockwise(int from, int to) const {
    return Distance(from, to, true) <= Distance(from, to, false);
  }
  int Hops(int core) const;  // from a core to memory, the shorter way
  // After `hops` hops of the request ring, which nothing holds up.
  uint64_t AfterHops(uint64_t ps, int hops) const {
    return clock_.After(ps, static_cast<uint64_t>(hops) * config_.ring.hop_cycles);
  }
  // Takes a link for `cycles` from cycle `head` on; returns the cycle in which the data's head is
  // at the next stop.
  uint64_t Pass(Resource& link, uint64_t head, uint64_t cycles, uint64_t bytes, uint64_t flow) {
    return link.ReserveCycles(head, cycles, bytes, flow).start_cycle + config_.ring.hop_cycles;
  }
  uint64_t DataCycles(uint64_t bytes) const;  // on one link
  uint64_t MulticastCycles(uint64_t bytes, size_t members) const;

  const CardConfig& config_;
  const int stops_;
  const int memory_stop_;
  const Clock clock_;
  const Divisor by_link_bytes_, by_link_percent_;
  std::vector<double> stretch_;  // how much longer a flit takes, by members of a multicast
  std::vector<Resource> clockwise_, counter_;  // link i: from stop i to its neighbour in that sense
  std::vector<Resource> psum_clockwise_, psum_counter_;
  std::map<uint32_t, std::deque<Multicast*>> assembling_;  // by group mask
  std::vector<uint64_t> delivered_ps_;                     // by stop, of the multicast at hand
  std::vector<uint8_t*> copies_;  // to here go those of the multicast at hand
  // Pools: what is not on a free list is in flight.
  std::vector<std::unique_ptr<Multicast>> multicasts_;
  std::vector<Multicast*> free_multicasts_;
  std::vector<std::unique_ptr<Passage>> passages_;
  std::vector<Passage*> free_passages_;
};

}  // namespace spyre::model
