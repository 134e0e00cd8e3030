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
// Memory accesses are split transactions (nb_transport, model/common/split_socket.h); one with a
// group is a broadcast by a dispatcher. Messages to peers use b_transport, which adds their time to
// the delay, and lets the delta cycle go by. Cores join multicasts through MulticastTransport: a
// multicast starts when the last member of its group has asked, and one read stands for all.
// Nothing else here blocks. Kernel thread only.
//
// Writes and messages take their links in the order in which they arrive at the ring, those of the
// same time in the order of their stops. SystemC's order of processes has no influence on that.
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <systemc>
#include <tuple>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/resource.h"
#include "model/common/split_socket.h"
#include "model/fault/fault_injector.h"
#include "model/ring/multicast.h"

namespace spyre::model {

class Ring : public sc_core::sc_module, public MulticastTransport {
 public:
  static constexpr uint64_t kPeerBit = 1ull << 63;
  static uint64_t PeerAddress(unsigned core, uint64_t lx_address) {
    return kPeerBit | (static_cast<uint64_t>(core) << 32) | lx_address;
  }

  tlm_utils::multi_passthrough_target_socket<Ring, kSocketBits, TransferProtocol> core_socket{
      "core_socket"};
  SplitSocket memory_socket{"memory_socket"};
  tlm_utils::multi_passthrough_initiator_socket<Ring, kSocketBits, TransferProtocol> lx_socket{
      "lx_socket"};  // to each core's LX, in core order; what is bound behind them has no address

  Ring(const sc_core::sc_module_name& name, const CardConfig& config, trace::Recorder* recorder);

  // Called before simulation. A transfer that needs a dead link ends with BURST_ERROR.
  void SetFaults(const FaultPort& port) { faults_ = port; }
  void Repair() { dead_.clear(); }  // the card is reset

  void JoinMulticast(const TransferRequest& transfer, const MulticastBurst& burst,
                     MulticastMember& member) override;
  // Ends half-assembled multicasts of a job on these cores that is being torn down: their members
  // get an error.
  void AbandonMulticasts(uint32_t cores);
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
    struct Member {
      MulticastMember* member;
      void* place;
      uint8_t* data;
    };
    Ring* ring = nullptr;
    uint32_t arrived = 0;  // mask of stops
    bool mismatch = false;
    Pieces pieces;
    uint64_t address = 0;
    uint32_t bytes = 0;
    MulticastEnd end{};
    uint64_t last_number = 0;        // of the join of its last stop, among all joins
    std::array<Member, 32> members;  // by stop; those that have arrived
    TransferPayload read;
    void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override;
  };
  // The multicasts of a group that wait for members, in order.
  struct Group {
    uint32_t mask = 0;
    std::deque<Multicast*> assembling;
    uint64_t complete = 0;                 // how many came before those
    std::array<uint64_t, 32> joined = {};  // how many each stop has joined
  };

  tlm::tlm_sync_enum Begin(int id, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                           sc_core::sc_time& delay);
  void SendToPeer(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  struct Message {
    uint64_t start_ps;
    tlm::tlm_generic_payload* payload;
    sc_core::sc_time* delay;
  };
  void SendMessages();  // those of this delta cycle
  void SendMessage(const Message& message);
  void BeginRead(tlm::tlm_generic_payload& payload, Transfer& transfer,
                 const sc_core::sc_time& delay);
  void BeginWrite(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                  const sc_core::sc_time& delay);
  void SendWrites();  // process: those that have arrived
  // When the data of a write that starts at `start_ps` are at the memory stop.
  uint64_t TravelToMemory(const Transfer& transfer, uint64_t bytes, uint64_t start_ps);
  void SendToMemory(tlm::tlm_generic_payload& payload, Transfer& transfer, uint64_t at_memory_ps);
  void EndUnicast(Passage& passage, uint64_t memory_done_ps);
  Group& GroupOf(uint32_t mask, int stop);
  // A read that takes its turn at the memory stop: a multicast, or else a unicast.
  struct Turn {
    uint64_t asked_ps;
    uint16_t stop;
    uint64_t number;  // among all joins of multicasts and such unicasts
    Multicast* multicast;
    tlm::tlm_generic_payload* unicast;
  };
  void TakeTurns();  // process: all that ask in this delta cycle
  void ReadMulticast(Multicast& multicast);
  void EndMulticast(Multicast& multicast, tlm::tlm_response_status status, uint64_t done_ps);
  void TellMembers(const Multicast& multicast);
  void Copy(const Multicast& multicast);  // the data, to each member
  // When each member of a group has data that memory has ready at data_ps, in delivered_ps_. False:
  // a link on the way is dead.
  bool Deliver(uint32_t group, uint64_t bytes, uint64_t cycles, uint64_t data_ps,
               const Transfer& transfer);
  void Respond(tlm::tlm_generic_payload& payload, const Transfer& transfer, uint64_t done_ps);
  template <class T>
  T* Take(std::vector<std::unique_ptr<T>>& all, std::vector<T*>& free);

  // At kLost the data are not there: nothing brings them over a link that is dead.
  static constexpr uint64_t kLost = UINT64_MAX;
  uint64_t Travel(std::vector<Resource>& links, bool clockwise, int from, int to, uint64_t bytes,
                  uint64_t cycles, uint64_t start_ps, const Transfer& transfer);
  int Next(int stop, bool clockwise) const {
    if (clockwise) return stop + 1 == stops_ ? 0 : stop + 1;
    return (stop == 0 ? stops_ : stop) - 1;
  }
  // Declared faults meet a transfer on its way over `hops` links. False: one of them is dead.
  bool Crosses(std::vector<Resource>& links, bool clockwise, int from, int hops, uint64_t start_ps,
               uint64_t cycles, const Transfer& transfer);
  int Distance(int from, int to, bool clockwise) const;
  bool ShorterClockwise(int from, int to) const {
    return Distance(from, to, true) <= Distance(from, to, false);
  }
  // When the memory stop takes a read that comes at `at_ps` and waits for its turn.
  uint64_t Admit(Transfer& transfer, uint64_t bytes, uint64_t at_ps);
  int Hops(int core) const;  // from a core to memory, the shorter way
  // After `hops` hops of the request ring, which nothing holds up.
  uint64_t AfterHops(uint64_t ps, int hops) const {
    return clock_.After(ps, static_cast<uint64_t>(hops) * config_.ring.hop_cycles);
  }
  // Rounded down: for accounts of where time went, which have no use for the edge.
  uint64_t HopsPs(int hops) const {
    return static_cast<uint64_t>(hops) * config_.ring.hop_cycles * hop_cycle_ps_;
  }
  // Takes a link for `cycles` from cycle `head` on; returns the cycle in which the data's head is
  // at the next stop.
  uint64_t Pass(Resource& link, uint64_t head, uint64_t cycles, uint64_t bytes, uint64_t flow) {
    return link.ReserveCycles(head, cycles, bytes, flow) + config_.ring.hop_cycles;
  }
  uint64_t DataCycles(uint64_t bytes) const;  // on one link
  uint64_t MulticastCycles(uint64_t bytes, size_t members) const;

  const CardConfig& config_;
  const int stops_;
  const int memory_stop_;
  const Clock clock_;
  const uint64_t hop_cycle_ps_;
  const Divisor by_link_bytes_, by_link_percent_;
  std::vector<double> stretch_;  // how much longer a flit takes, by members of a multicast
  std::vector<Resource> clockwise_, counter_;  // link i: from stop i to its neighbour in that sense
  std::vector<Resource> psum_clockwise_, psum_counter_;
  Resource memory_stop_turns_;  // of reads at the memory stop; counts picoseconds
  FaultPort faults_;
  std::set<std::string> dead_;           // links, by name
  std::map<uint32_t, Group> groups_;     // by mask
  std::array<Group*, 32> last_group_{};  // of each stop
  std::vector<uint64_t> delivered_ps_;   // by stop, of the multicast at hand
  bool delivered_clockwise_ = true;      // the way it went
  std::vector<Turn> turns_, taken_;      // that have not been taken; that are being taken
  uint64_t joins_ = 0;
  sc_core::sc_event turn_event_;
  std::vector<uint8_t*> copies_;   // to here go those of the multicast at hand
  std::vector<Multicast*> ended_;  // whose members are being told, in order
  // Writes that have not taken their links: arrival, stop, number in the order of submission.
  using Write = std::tuple<uint64_t, uint16_t, uint64_t, tlm::tlm_generic_payload*>;
  std::priority_queue<Write, std::vector<Write>, std::greater<>> writes_;
  uint64_t submitted_writes_ = 0;
  std::vector<Message> messages_;     // that have not taken their links
  uint64_t settled_ps_ = UINT64_MAX;  // all writes that arrive then have been submitted
  sc_core::sc_event write_event_;
  // Pools: what is not on a free list is in flight.
  std::vector<std::unique_ptr<Multicast>> multicasts_;
  std::vector<Multicast*> free_multicasts_;
  std::vector<std::unique_ptr<Passage>> passages_;
  std::vector<Passage*> free_passages_;
};

}  // namespace spyre::model
