// SPDX-License-Identifier: Apache-2.0
// What a host does to a configuration space, for its tests.
#pragma once

#include <cstdint>
#include <set>

#include "model/pcie/config_space.h"

namespace spyre::model::test {

// Follows the capability list as a host does. Returns 0 if there is none with that ID.
inline uint32_t FindCapability(const ConfigSpace& space, uint32_t id) {
  std::set<uint32_t> seen;
  uint32_t at = space.Read32(config::kCapabilityPointer) & 0xFC;
  while (at != 0 && seen.insert(at).second) {
    const uint32_t header = space.Read32(at);
    if ((header & 0xFF) == id) return at;
    at = header >> 8 & 0xFC;
  }
  return 0;
}

inline uint32_t FindExtendedCapability(const ConfigSpace& space, uint32_t id) {
  std::set<uint32_t> seen;
  uint32_t at = 0x100;
  while (at != 0 && seen.insert(at).second) {
    const uint32_t header = space.Read32(at);
    if ((header & 0xFFFF) == id) return at;
    at = header >> 20 & 0xFFC;
  }
  return 0;
}

// The sizing protocol: write ones, read the mask back, restore.
inline uint64_t SizeOf64BitBar(ConfigSpace& space, uint32_t offset) {
  const uint32_t low = space.Read32(offset);
  const uint32_t high = space.Read32(offset + 4);
  space.Write32(offset, 0xFFFFFFFF);
  space.Write32(offset + 4, 0xFFFFFFFF);
  const uint64_t mask =
      static_cast<uint64_t>(space.Read32(offset + 4)) << 32 | (space.Read32(offset) & ~0xFu);
  space.Write32(offset, low);
  space.Write32(offset + 4, high);
  return ~mask + 1;
}

inline void EnableVfs(ConfigSpace& physical, uint32_t count) {
  physical.Write32(config::kNumVfs, count);
  physical.Write32(config::kVfBar0, 0x40000000);
  physical.Write32(config::kVfBar0 + 4, 0x8);
  physical.Write32(config::kSriovControl, config::kVfEnable | config::kVfMemoryEnable);
}

}  // namespace spyre::model::test
