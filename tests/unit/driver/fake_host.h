// SPDX-License-Identifier: Apache-2.0
// Host memory as a FakeCard reaches it: through mappings, each with unmapped addresses behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "driver/transport.h"
#include "model/contract/memory_map.h"

namespace spyre::test {

class FakeHost {
 public:
  driver::IoAddress Map(void* host, size_t size) {
    const driver::IoAddress io = next_;
    next_ += AlignUp(size, kPage) + kPage;
    mappings_[io] = {static_cast<uint8_t*>(host), size};
    return io;
  }
  void Unmap(driver::IoAddress io) {
    if (mappings_.erase(io) == 0) throw BadInput("unmap of 0x{:x}, which is not mapped", io);
  }
  size_t mappings() const { return mappings_.size(); }

  // nullptr if they do not lie in one mapping.
  uint8_t* Bytes(driver::IoAddress io, size_t size) const {
    auto it = mappings_.upper_bound(io);
    if (it == mappings_.begin()) return nullptr;
    --it;
    if (io - it->first + size > it->second.size) return nullptr;
    return it->second.data + (io - it->first);
  }

 private:
  static constexpr uint64_t kPage = 4096;
  struct Mapping {
    uint8_t* data;
    size_t size;
  };
  std::map<driver::IoAddress, Mapping> mappings_;
  driver::IoAddress next_ = 0x100000;
};

}  // namespace spyre::test
