// SPDX-License-Identifier: Apache-2.0
#include "driver/host_buffer.h"

#include <cstring>
#include <new>

#include "base/error.h"

namespace spyre::driver {

HostBuffer::HostBuffer(Transport& transport, FunctionId function, size_t size)
    : transport_(transport),
      function_(function),
      size_(size),
      data_(static_cast<uint8_t*>(::operator new (size, std::align_val_t{kAlignment}))) {
  std::memset(data_, 0, size);
  try {
    io_address_ = transport_.MapHost(function_, data_, size_);
  } catch (...) {
    ::operator delete (data_, std::align_val_t{kAlignment});
    throw;
  }
}

HostBuffer::~HostBuffer() {
  try {
    transport_.UnmapHost(function_, io_address_);
  } catch (const Error&) {
    // The card is gone, and its mappings with it; the memory is ours again either way.
  }
  ::operator delete (data_, std::align_val_t{kAlignment});
}

}  // namespace spyre::driver
