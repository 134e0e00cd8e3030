// SPDX-License-Identifier: Apache-2.0
// The way of a block of the card to device memory. What it sends is what a grant of the Mmu allows,
// in the name of the function to which that was given; it has no other way to name an address of
// device memory. Kernel thread only; Send never blocks.
#pragma once

#include <cstdint>
#include <systemc>

#include "base/error.h"
#include "model/common/split_socket.h"
#include "model/common/transfer.h"
#include "model/contract/memory_map.h"
#include "model/mmu/grant.h"

namespace spyre::model {

// Throws Error(kInternal) unless the grant stands and allows that.
inline void RequireGrant(const Grant& grant, uint8_t permission) {
  if (grant.stands() && grant.Permits(permission)) return;
  throw InternalError("mmu: an access of function {} to {:#x} without {} grant", grant.function(),
                      grant.address(), grant.stands() ? "such a" : "a standing");
}

class DevicePort {
 public:
  explicit DevicePort(const char* name) : socket_(name) {}

  template <class Target>
  void bind(Target& target) {
    socket_.bind(target);
  }

  // Reads or writes what `grant` is of, from or to `data`, `delay` from now. The rest of
  // payload.info is the caller's to fill in. Payload and data belong to the target until the
  // client's Complete, which may come before Send returns.
  void Send(TransferPayload& payload, tlm::tlm_command command, const Grant& grant, uint8_t* data,
            const sc_core::sc_time& delay) {
    RequireGrant(grant, command == tlm::TLM_READ_COMMAND ? kPermissionRead : kPermissionWrite);
    payload.info.function = grant.function();
    socket_.Send(payload.Prepare(command, grant.address(), data, grant.bytes()), delay);
  }

  // To a target that is not device memory, and for whose addresses the caller answers.
  void SendAside(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    socket_->b_transport(payload, delay);
  }

 private:
  SplitSocket socket_;
};

}  // namespace spyre::model
