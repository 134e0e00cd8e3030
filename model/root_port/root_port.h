// SPDX-License-Identifier: Apache-2.0
// The card on a memory-mapped bus: a PCIe root port whose other side speaks the TLM-2.0 base
// protocol (generic payloads without extensions), so that the card works in simulations that know
// nothing of it.
//
//   bus ── from_bus ── RootPort ── PcieEndpoint::inbound    processors reach the card
//   bus ── to_bus ──── RootPort ── PcieEndpoint::outbound   the card reaches memory, and sends MSIs
//
// from_bus: the 1 MiB from `ecam_base` on are the configuration spaces (ECAM): function n at n * 4
// KiB. Any other address is decoded by the card, with the BARs as software has set them. A
// configuration space that does not exist reads as all ones; other addresses that nothing answers
// get ADDRESS_ERROR. b_transport never waits: the delay grows by what the link takes, and a write
// is posted. transport_dbg and DMI: as model/pcie/endpoint.h says. Payloads whose streaming width
// is less than their length are refused (BURST_ERROR).
//
// to_bus: b_transport only. Reads are called from the card's threads, and the target may wait. Its
// response is the completion that the card gets (endpoint.h); a target that leaves INCOMPLETE is a
// host that does not answer.
// Writes are posted: they are called from a thread of the root port at the time at which they
// arrive, in their order; until then reads of the card see what was written. One that the bus
// refuses is reported as a warning ("/spyre/root_port"), since the card hears of it no more than on
// PCIe. Transfers of operations that are timing only reach no memory. An MSI is a write of 4 bytes.
//
// Kernel thread only.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <map>
#include <systemc>
#include <utility>
#include <vector>

#include "model/common/transfer.h"
#include "model/pcie/endpoint.h"

namespace spyre::model {

struct RootPortConfig {
  uint64_t ecam_base = 0xE000'0000;  // where QEMU's and many PCs' is
};

// Everything but the sockets of the bus, whose width is a matter of type.
class RootPortBase : public sc_core::sc_module {
 protected:
  // The endpoint's two outer sockets are bound here.
  RootPortBase(const sc_core::sc_module_name& name, PcieEndpoint& endpoint,
               const RootPortConfig& config);
  ~RootPortBase() override;

  void FromBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned FromBusDebug(tlm::tlm_generic_payload& payload);
  bool FromBusDirect(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& direct);

 private:
  struct Posted {
    uint64_t address;
    std::vector<uint8_t> data;
  };
  using Order = std::pair<uint64_t, uint64_t>;  // arrival in ps, number

  virtual void CallBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) = 0;
  virtual void RevokeDirectOfBus() = 0;
  // The payload for the card, of what the bus asks for.
  tlm::tlm_generic_payload& ForCard(const tlm::tlm_generic_payload& payload);
  bool IsConfig(uint64_t address) const;
  void FromCard(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void ReadBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void DeliverPosted();  // process
  void CardRevoked(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) { RevokeDirectOfBus(); }

  tlm_utils::simple_initiator_socket<RootPortBase, kSocketBits, HostAccessProtocol> to_card_{
      "to_card"};
  tlm_utils::simple_target_socket<RootPortBase, kSocketBits, TransferProtocol> from_card_{
      "from_card"};
  const RootPortConfig config_;
  tlm::tlm_generic_payload for_card_;
  HostAccess access_;
  std::map<Order, Posted> posted_;
  uint64_t posted_count_ = 0;
  sc_core::sc_event posted_event_;
};

template <unsigned kBusBits = 32>
class RootPort final : public RootPortBase {
 public:
  tlm_utils::simple_target_socket<RootPort, kBusBits> from_bus{"from_bus"};
  tlm_utils::simple_initiator_socket<RootPort, kBusBits> to_bus{"to_bus"};

  RootPort(const sc_core::sc_module_name& name, PcieEndpoint& endpoint,
           const RootPortConfig& config = {})
      : RootPortBase(name, endpoint, config) {
    from_bus.register_b_transport(this, &RootPort::FromBus);
    from_bus.register_transport_dbg(this, &RootPort::FromBusDebug);
    from_bus.register_get_direct_mem_ptr(this, &RootPort::FromBusDirect);
  }

 private:
  void CallBus(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
    to_bus->b_transport(payload, delay);
  }
  void RevokeDirectOfBus() override { from_bus->invalidate_direct_mem_ptr(0, UINT64_MAX); }
};

}  // namespace spyre::model
