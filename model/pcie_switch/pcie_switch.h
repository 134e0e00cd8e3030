// SPDX-License-Identifier: Apache-2.0
// A PCIe switch: one port to the host, and one for each card. Cards behind it share the port to the
// host, and reach the memory windows (BAR2) of each other without it.
//
//                 host bridges (one for each card)
//                        │  uplink: shared, each way
//                 ┌── PcieSwitch ──┐
//                 │ port 0   port 1│ ...   a card's link ends here (LinkEnd)
//                 card 0     card 1
//
// Routing: a request of a card goes to a peer if its address lies in a range that AllowPeer has
// opened for that card, and to the host otherwise, as access control of a switch (ACS) has it: what
// was not opened is the root complex's to refuse. Requests of the host know their card.
//
// Time: a packet is stored, takes forward_ns, and then waits for the wire of the port that it
// leaves by: the uplink, or the link of a card, in the order in which packets ask and with
// flow-control credits as PcieLink has them. A sender has its credits back when its packet has left
// the switch, so a busy port slows its senders down. Data of peers move at the call, and cost the
// time of the links and peer_read_ns; the peer's memory channels are not asked.
//
// Kernel thread only. Errors: TLM responses, as PcieEndpoint's outbound has them.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/transfer.h"
#include "model/pcie/endpoint.h"
#include "model/pcie/host_access.h"
#include "model/pcie/link.h"
#include "parameters/card_parameters.h"

namespace spyre::model {

class PcieSwitch : public sc_core::sc_module {
 public:
  // uplink: how packets of the port to the host are made and what host memory costs, of which
  // lanes, rate and one_way_ns are the switch's. recorder: may be null; must outlive the switch.
  PcieSwitch(const sc_core::sc_module_name& name, const SwitchConfig& config, PcieConfig uplink,
             bool contended, trace::Recorder* recorder);
  ~PcieSwitch() override;

  // One for each card, in the order in which they are added.
  class Port;
  Port& AddPort(PcieEndpoint& card);
  size_t ports() const { return ports_.size(); }

  // Lets `function` of the card at `from` reach [address, address + bytes), which must lie in the
  // window of the card at `to`.
  void AllowPeer(size_t from, uint16_t function, size_t to, uint64_t address, uint64_t bytes);
  // False: nothing was allowed from there on.
  bool ForbidPeer(size_t from, uint16_t function, uint64_t address);

  std::vector<UnitStatistics> Statistics() const;  // of the uplink

 private:
  const SwitchConfig config_;
  PcieLink uplink_;
  std::vector<std::unique_ptr<Port>> ports_;
};

class PcieSwitch::Port : public sc_core::sc_module, private LinkEnd {
 public:
  // Towards the host.
  tlm_utils::simple_target_socket<Port, kSocketBits, HostAccessProtocol> from_host{"from_host"};
  tlm_utils::simple_initiator_socket<Port, kSocketBits, TransferProtocol> to_host{"to_host"};

  Port(const sc_core::sc_module_name& name, PcieSwitch& owner, PcieEndpoint& card);
  ~Port() override { card_.link().EndAt(nullptr); }

 private:
  friend class PcieSwitch;
  // What the card may reach of a peer.
  struct Range {
    uint16_t function;
    size_t peer;
    uint64_t address, bytes;
  };

  WriteTimes TakeWrite(uint64_t at_ps, uint64_t address, uint64_t bytes) override;
  uint64_t TakeRequest(uint64_t at_ps, uint64_t address) override;
  uint64_t Answer(uint64_t request_ps, uint64_t address, uint64_t bytes) override;
  void FromHost(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned FromHostDebug(tlm::tlm_generic_payload& payload) {
    return to_card_->transport_dbg(payload);
  }
  void FromCard(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  const Range* Find(uint64_t address, uint64_t bytes) const;
  PcieLink* PeerLink(uint64_t address) const;  // null: the request goes to the host

  PcieSwitch& owner_;
  PcieEndpoint& card_;
  tlm_utils::simple_initiator_socket<Port, kSocketBits, HostAccessProtocol> to_card_{"to_card"};
  tlm_utils::simple_target_socket<Port, kSocketBits, TransferProtocol> from_card_{"from_card"};
  std::vector<Range> ranges_;
  const uint64_t forward_ps_;
};

}  // namespace spyre::model
