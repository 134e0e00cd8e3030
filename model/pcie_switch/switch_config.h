// SPDX-License-Identifier: Apache-2.0
// Parameters of a PCIe switch with their defaults and reasons. Plain data.
#pragma once

#include <cstdint>

namespace spyre::model {

struct SwitchConfig {
  uint64_t lanes = 16;          // of the port to the host
  uint64_t rate_mts = 32000;    // of a lane of that port
  uint64_t forward_ns = 115;    // from the end of a packet at one port to its start at another
  uint64_t uplink_ns = 150;     // one way between the switch and the host
  uint64_t peer_read_ns = 150;  // a card's memory window: from a peer's request to its data
};

// visitor: as DescribeCard's.
template <class Visitor>
void DescribeSwitch(SwitchConfig& c, Visitor& v) {
  v.Number("lanes", c.lanes, 1, 32, "lanes",
           "Width of the switch's port to the host; a power of two. As wide as a card's, so that "
           "several cards share it",
           "assumed");
  v.Number("rate_mts", c.rate_mts, 8000, 32000, "MT/s",
           "Of a lane of that port: Gen5 32000, Gen4 16000, Gen3 8000", "assumed");
  v.Number("forward_ns", c.forward_ns, 0, 100000, "ns",
           "From a packet's end at one port to its start at another; data sheets of Gen5 switches "
           "say 100 to 120 ns",
           "assumed");
  v.Number("uplink_ns", c.uplink_ns, 0, 100000, "ns",
           "One way between switch and host, as card.pcie.one_way_ns is between a card and what it "
           "is plugged into; less, because host_memory_ns has the root complex",
           "assumed");
  v.Number("peer_read_ns", c.peer_read_ns, 0, 100000, "ns",
           "From a peer's read request reaching a card to its data leaving the memory window: idle "
           "device memory and the ports on the way",
           "assumed");
}

}  // namespace spyre::model
