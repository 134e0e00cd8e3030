// SPDX-License-Identifier: Apache-2.0
// The way of a core to loads that it shares with others. As with DevicePort, what it asks for is
// what a grant of the Mmu allows. Kernel thread only; Join never blocks.
#pragma once

#include <cstdint>
#include <systemc>

#include "model/mmu/device_port.h"
#include "model/ring/multicast.h"

namespace spyre::model {

class MulticastPort {
 public:
  explicit MulticastPort(const char* name) : port_(name) {}

  void bind(MulticastTransport& transport) { port_.bind(transport); }

  // See MulticastBurst and MulticastTransport.
  void Join(TransferRequest transfer, void* place, uint64_t asks_ps, const Grant& grant,
            uint8_t* data, const PathTime* path, MulticastMember& member) {
    RequireGrant(grant, kPermissionRead);
    transfer.function = grant.function();
    port_->JoinMulticast(
        transfer,
        {place, asks_ps, grant.address(), data, static_cast<uint32_t>(grant.bytes()), path},
        member);
  }

 private:
  sc_core::sc_port<MulticastTransport> port_;
};

}  // namespace spyre::model
