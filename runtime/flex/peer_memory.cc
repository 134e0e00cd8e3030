// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/peer_memory.h"

#include "base/error.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::flex {

PeerMemory::PeerMemory(RuntimeContext& context, unsigned card, uint64_t offset, uint64_t size_bytes)
    : context_(context), card_(card), size_bytes_(size_bytes) {
  const auto lock = context_.Lock();
  driver::Device& device = context_.device();
  device.Charge(device.options().costs.map_ns);
  address_ = device.transport().MapPeer(device.function(), card, offset, size_bytes);
}

PeerMemory::~PeerMemory() {
  const auto lock = context_.Lock();
  driver::Device& device = context_.device();
  try {
    device.Charge(device.options().costs.map_ns);
    device.transport().UnmapPeer(device.function(), address_);
  } catch (const Error&) {  // the card is lost, and its mappings with it
    return;
  }
}

}  // namespace spyre::flex
