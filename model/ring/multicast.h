// SPDX-License-Identifier: Apache-2.0
// Multicast loads: reads of device memory whose data several cores take as they go by. Each core of
// a group joins the multicast with its own request for the same bytes; the n-th request of a core
// for a group belongs to the n-th multicast of that group.
//
// The ring implements MulticastTransport, the load units of cores are members. Nothing here blocks.
// Kernel thread only.
#pragma once

#include <cstdint>
#include <systemc>
#include <tlm>

#include "model/common/transfer.h"

namespace spyre::model {

// What a member asks for.
struct MulticastBurst {
  void* place;       // the member's own name for it, until its end
  uint64_t asks_ps;  // now or later
  uint64_t address;  // of device memory
  uint8_t* data;     // where the bytes go; the member's, until the end
  uint32_t bytes;
  const PathTime* path = nullptr;  // up to asks_ps; not kept. null if paths are not wanted
};

// How it ended for a member.
struct MulticastEnd {
  tlm::tlm_response_status status;  // COMMAND_ERROR: members asked for different bytes
  uint64_t done_ps;                 // the last byte is at the member's stop; now or later
  uint64_t joined_ps = 0;           // when the last member asked; 0: not all have
  uint16_t last_stop = 0;           // and which it was
  PathTime path{};                  // by way of the last member, until memory has the data
  BurstTimes times{};               // since the last member asked
};

class MulticastMember {
 public:
  // Called once for each burst, maybe before JoinMulticast returns; the member may join the next
  // multicast from here.
  virtual void MulticastEnded(void* place, const MulticastEnd& end) = 0;

 protected:
  ~MulticastMember() = default;
};

class MulticastTransport : public virtual sc_core::sc_interface {
 public:
  // transfer: group, stop of the member, and the job's function, flow and data; the same for all
  // members but for the stop. Multicasts that a torn-down job leaves behind: Ring.
  virtual void JoinMulticast(const TransferRequest& transfer, const MulticastBurst& burst,
                             MulticastMember& member) = 0;
};

}  // namespace spyre::model
