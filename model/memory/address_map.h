// SPDX-License-Identifier: Apache-2.0
// Where a device address lives: channel, and address inside the channel. The one definition, for
// the device memory of the card and for the stand-alone memory command. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/common/card_config.h"
#include "model/common/divisor.h"

namespace spyre::model {

struct ChannelAddress {
  uint32_t channel;
  uint64_t address;  // channel-local bytes
};

class AddressMap {
 public:
  explicit AddressMap(const MemoryConfig& config)
      : interleave_(config.interleave_bytes), channels_(config.channels) {}

  ChannelAddress Locate(uint64_t address) const {
    const Divisor::Result block = interleave_.Divide(address);
    // The channel rotates with the group of blocks, so that power-of-two strides do not all meet
    // one channel.
    const uint64_t group = channels_.Quotient(block.quotient);
    const uint64_t rotated = block.quotient + group + channels_.Quotient(group);
    return {static_cast<uint32_t>(channels_.Divide(rotated).rest),
            group * interleave_.value() + block.rest};
  }

  // Calls visit(ChannelAddress, uint32_t bytes) for every piece of [address, address + bytes), in
  // order; a piece lies inside one block of one channel, and so inside one row.
  template <class Visit>
  void ForEachPiece(uint64_t address, uint64_t bytes, Visit visit) const {
    while (bytes > 0) {
      const uint64_t piece =
          std::min(bytes, interleave_.value() - interleave_.Divide(address).rest);
      visit(Locate(address), static_cast<uint32_t>(piece));
      address += piece;
      bytes -= piece;
    }
  }

 private:
  Divisor interleave_;
  Divisor channels_;
};

}  // namespace spyre::model
