// Where a device address lives: channel, and address inside the channel. The one definition, for
// the device memory of the card and for the stand-alone memory command. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/card/card_config.h"

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
    const uint64_t block = address / interleave_;
    // The channel rotates with the group of blocks, so that power-of-two strides do not all meet
    // one channel.
    const uint64_t group = block / channels_;
    const uint64_t channel = (block + group + group / channels_) % channels_;
    return {static_cast<uint32_t>(channel), group * interleave_ + address % interleave_};
  }

  // Calls visit(ChannelAddress, uint32_t bytes) for every piece of [address, address + bytes), in
  // order; a piece lies inside one block of one channel, and so inside one row.
  template <class Visit>
  void ForEachPiece(uint64_t address, uint64_t bytes, Visit visit) const {
    while (bytes > 0) {
      const uint64_t piece = std::min(bytes, interleave_ - address % interleave_);
      visit(Locate(address), static_cast<uint32_t>(piece));
      address += piece;
      bytes -= piece;
    }
  }

 private:
  uint64_t interleave_;
  uint64_t channels_;
};

}  // namespace spyre::model
