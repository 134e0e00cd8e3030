// SPDX-License-Identifier: Apache-2.0
// The host memory that is mapped for a card's DMA, by IO address. Plain data of one owner; any one
// thread. Does not own the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "driver/transport.h"

namespace spyre::cosim {

class HostMappings {
 public:
  void Add(driver::FunctionId function, driver::IoAddress address, uint8_t* host, size_t size) {
    mappings_[address] = {function, host, size};
  }
  void Remove(driver::IoAddress address) { mappings_.erase(address); }

  // Where [address, address + bytes) of the function lies; null if it is not in one mapping.
  uint8_t* Find(driver::FunctionId function, driver::IoAddress address, uint64_t bytes) const {
    const auto next = mappings_.upper_bound(address);
    if (next == mappings_.begin()) return nullptr;
    const auto& [base, mapping] = *std::prev(next);
    const uint64_t offset = address - base;
    const bool inside = offset <= mapping.size && bytes <= mapping.size - offset;
    return mapping.function == function && inside ? mapping.host + offset : nullptr;
  }

 private:
  struct Mapping {
    driver::FunctionId function;
    uint8_t* host;
    size_t size;
  };
  std::map<driver::IoAddress, Mapping> mappings_;
};

}  // namespace spyre::cosim
