// SPDX-License-Identifier: Apache-2.0
// The host memory that is mapped for a card's DMA, by function and IO address. Plain data of one
// owner; any one thread. Does not own the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "driver/transport.h"

namespace spyre::cosim {

class HostMappings {
 public:
  // Brings a copy of somebody else's memory up to date before it is looked at.
  using Refresh = std::function<void(driver::FunctionId function, driver::IoAddress address,
                                     uint64_t bytes, uint8_t* host)>;
  void RefreshBy(Refresh refresh) { refresh_ = std::move(refresh); }

  void Add(driver::FunctionId function, driver::IoAddress address, uint8_t* host, size_t size) {
    mappings_[{function, address}] = {host, size};
  }
  // False: there is none at this address.
  bool Remove(driver::FunctionId function, driver::IoAddress address) {
    return mappings_.erase({function, address}) == 1;
  }

  void Clear() { mappings_.clear(); }
  size_t size() const { return mappings_.size(); }

  // Where [address, address + bytes) of the function lies; null if it is not in one mapping.
  uint8_t* Find(driver::FunctionId function, driver::IoAddress address, uint64_t bytes) const {
    const auto next = mappings_.upper_bound({function, address});
    if (next == mappings_.begin()) return nullptr;
    const auto& [place, mapping] = *std::prev(next);
    const uint64_t offset = address - place.second;
    if (place.first != function || offset > mapping.size || bytes > mapping.size - offset)
      return nullptr;
    if (refresh_) refresh_(function, address, bytes, mapping.host + offset);
    return mapping.host + offset;
  }

 private:
  struct Mapping {
    uint8_t* host;
    size_t size;
  };
  std::map<std::pair<driver::FunctionId, driver::IoAddress>, Mapping> mappings_;
  Refresh refresh_;
};

}  // namespace spyre::cosim
