// SPDX-License-Identifier: Apache-2.0
// What the client of one function asks for beside its own card (driver/vfio_user_protocol.h):
// messages of other clients, memory windows of other cards, and names for its kernels in the trace.
// Kernel thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "cosim/host/inprocess_transport.h"
#include "cosim/serve/mailboxes.h"
#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {

class NeighbourAccess {
 public:
  // Both must outlive this.
  NeighbourAccess(InProcessTransport& card, driver::FunctionId function, Mailboxes& mail)
      : card_(card), function_(function), mail_(mail) {}

  // A read or write of the clock's region; empty or false: nothing of this is there, or it is
  // refused.
  std::optional<std::string> Read(uint64_t offset, uint64_t count) const;
  bool Write(uint64_t offset, const std::string& data);
  // Whether a message has come for this number, and taking it, for Read.
  bool HasMail(uint32_t to) const { return mail_.Has(to); }
  void TakeMail(uint32_t to);
  std::string Received() const;  // as kTimeMessage reads it
  // The client is gone: what it could reach it no longer can.
  void Clear();

  // Hears what is for the trace: what COMPUTEs are called, by correlation, and what the client did
  // with others.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void Name(size_t card, uint64_t correlation, const std::string& name) = 0;
    virtual void Slice(size_t card, const driver::vfio_user::HostSlice& slice,
                       const std::string& name) = 0;
  };
  // listener: must outlive this. card: its number for the listener.
  void TellTo(Listener* listener, size_t card) {
    listener_ = listener;
    card_number_ = card;
  }

 private:
  bool MapPeer(const driver::vfio_user::PeerMapping& mapping);

  InProcessTransport& card_;
  const driver::FunctionId function_;
  Mailboxes& mail_;
  Listener* listener_ = nullptr;  // null: nobody
  size_t card_number_ = 0;
  Mailboxes::Mail received_;                 // last
  std::multiset<driver::IoAddress> mapped_;  // peers
  driver::IoAddress last_mapped_ = 0;
};

}  // namespace spyre::cosim
