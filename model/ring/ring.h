// The ring: one stop per core plus the memory interface, a data link each way between neighbours,
// and a partial-sum link each way. Carries bursts between cores and device memory (unicast and
// multicast) and messages between cores.
//
// Cores and the control processor bind to `core_socket` (in order: core 0 .. N-1, then the control
// processor, which sits at the memory stop). An address with kPeerBit set names LX of another core:
// bits 0..31 the LX address, bits 32..47 the core. Everything else is a physical device address.
//
// b_transport may wait only for the partners of a multicast; time is otherwise added to the delay.
// Kernel thread only.
#pragma once

#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <deque>
#include <map>
#include <memory>
#include <systemc>
#include <vector>

#include "model/card/card_config.h"
#include "model/card/resource.h"
#include "model/card/transfer.h"

namespace spyre::model {

class Ring : public sc_core::sc_module {
 public:
  static constexpr uint64_t kPeerBit = 1ull << 63;
  static uint64_t PeerAddress(unsigned core, uint64_t lx_address) {
    return kPeerBit | (static_cast<uint64_t>(core) << 32) | lx_address;
  }

  tlm_utils::multi_passthrough_target_socket<Ring> core_socket{"core_socket"};
  tlm_utils::simple_initiator_socket<Ring> memory_socket{"memory_socket"};
  tlm_utils::multi_passthrough_initiator_socket<Ring> lx_socket{
      "lx_socket"};  // to each core's LX, in core order

  Ring(const sc_core::sc_module_name& name, const CardConfig& config, trace::Recorder* recorder);

  // Ends half-assembled multicasts of a job that is being torn down: their waiting members see that
  // it is aborted.
  void AbandonMulticasts();
  std::vector<UnitStatistics> Statistics() const;

 private:
  // A multicast read that waits for its members.
  struct Multicast {
    uint32_t arrived = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;
    bool mismatch = false;
    bool complete = false;
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
    std::vector<uint64_t> done_ps;  // per core
    sc_core::sc_event event;
  };

  void Transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void Unicast(tlm::tlm_generic_payload& payload, const Transfer& transfer,
               sc_core::sc_time& delay);
  void ReadMulticast(tlm::tlm_generic_payload& payload, Transfer& transfer,
                     sc_core::sc_time& delay);
  void Deliver(Multicast& multicast, uint32_t group, uint64_t data_ps, uint64_t flow);
  void SendToPeer(tlm::tlm_generic_payload& payload, const Transfer& transfer,
                  sc_core::sc_time& delay);
  uint64_t Travel(std::vector<Resource>& clockwise, std::vector<Resource>& counter, int from,
                  int to, uint64_t bytes, uint64_t width, uint64_t start_ps, uint64_t flow);
  int Distance(int from, int to, bool clockwise) const;
  uint64_t HopPs(int hops) const { return static_cast<uint64_t>(hops) * hop_ps_; }
  uint64_t MemoryPort(uint64_t bytes, uint64_t start_ps, uint64_t flow);

  const CardConfig& config_;
  const int stops_;
  const int memory_stop_;
  const uint64_t hop_ps_;
  std::vector<Resource> clockwise_, counter_;  // link i: from stop i to its neighbour in that sense
  std::vector<Resource> psum_clockwise_, psum_counter_;
  std::vector<Resource> memory_ports_;
  std::map<uint32_t, std::deque<std::shared_ptr<Multicast>>> multicasts_;  // by group mask
};

}  // namespace spyre::model
