// SPDX-License-Identifier: Apache-2.0
// Device memory of another card, as streams of a context reach it: a part of that card's memory
// window (BAR2), which its physical function has opened (driver::PhysicalFunction::OpenPeerWindow).
//
//   flex::PeerMemory inbox(context, 1, address_in_the_window_of_card_1, bytes);
//   context.DefaultStream().CopyToPeer(mine, inbox, 0, bytes);
//
// Owner: whoever copies; the copies must have completed before it goes, and the context must
// outlive it. What the peer does with the memory meanwhile, and when it may look, is between the
// two: the card orders nothing across cards, except that what a copy wrote is there before anything
// that the host sends the peer once it knows of the copy's completion (PCI Express ordering of
// posted writes). Errors: BadInput if there is no such card or the window is smaller. Copies to
// memory that does not answer fail with HOST_FAULT, as those to host memory that is not mapped.
#pragma once

#include <cstdint>

#include "driver/transport.h"

namespace spyre::flex {

class RuntimeContext;

class PeerMemory {
 public:
  // [offset, offset + size) of the window of card `card`.
  PeerMemory(RuntimeContext& context, unsigned card, uint64_t offset, uint64_t size_bytes);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  unsigned card() const { return card_; }
  driver::IoAddress address() const { return address_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  RuntimeContext& context_;
  const unsigned card_;
  const uint64_t size_bytes_;
  driver::IoAddress address_ = 0;
};

}  // namespace spyre::flex
