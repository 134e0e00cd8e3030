// SPDX-License-Identifier: Apache-2.0
// Host memory that the card can reach: allocated, mapped, and released together.
//
// Owner: a queue (rings). Threads: that of its owner. Not for user data, which the runtime maps in
// place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/transport.h"

namespace spyre::driver {

class HostBuffer {
 public:
  static constexpr size_t kAlignment = 4096;  // a page: what an IOMMU maps

  // Zeroed memory of `size` bytes, mapped for `function`.
  HostBuffer(Transport& transport, FunctionId function, size_t size);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  IoAddress io_address() const { return io_address_; }

 private:
  Transport& transport_;
  FunctionId function_;
  size_t size_;
  uint8_t* data_;
  IoAddress io_address_ = 0;
};

}  // namespace spyre::driver
