// SPDX-License-Identifier: Apache-2.0
// The leave to touch a range of device memory. Only the Mmu gives one, after it has checked the
// function, the range and the permission, and only with one can a block send an access of a
// function to device memory (device_port.h, model/core/multicast_port.h). So there is no way from a
// function to memory that has not been checked, and whoever adds one needs a grant for it.
//
// A grant stands until anything is taken away from any function; then whoever holds it asks again.
// It is a value, refers to the Mmu that gave it, and must not outlive that. Kernel thread only.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace spyre::model {

class Grant {
 public:
  Grant() = default;  // of nothing; does not stand

  uint16_t function() const { return function_; }
  uint64_t address() const { return address_; }  // physical
  uint64_t bytes() const { return bytes_; }
  // Nothing was taken away from anybody since it was given.
  bool stands() const { return withdrawals_ != nullptr && *withdrawals_ == given_at_; }
  bool Permits(uint8_t permission) const { return (permission_ & permission) == permission; }

  // [address + offset, + bytes) of it. Throws Error(kInternal) if that is not a part of it.
  Grant Part(uint64_t offset, uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset) {
      throw InternalError("mmu: bytes [{}, {}) of a grant of {} bytes of function {}", offset,
                          offset + bytes, bytes_, function_);
    }
    Grant part = *this;
    part.address_ += offset;
    part.bytes_ = bytes;
    return part;
  }
  // Takes the first `bytes` off its front, and returns them.
  Grant Take(uint64_t bytes) {
    const Grant first = Part(0, bytes);
    *this = Part(bytes, bytes_ - bytes);
    return first;
  }

 private:
  friend class Mmu;
  Grant(uint16_t function, uint64_t address, uint64_t bytes, uint8_t permission,
        const uint64_t* withdrawals)
      : function_(function),
        permission_(permission),
        address_(address),
        bytes_(bytes),
        withdrawals_(withdrawals),
        given_at_(*withdrawals) {}

  uint16_t function_ = 0;
  uint8_t permission_ = 0;
  uint64_t address_ = 0;
  uint64_t bytes_ = 0;
  const uint64_t* withdrawals_ = nullptr;  // the Mmu's count
  uint64_t given_at_ = 0;
};

}  // namespace spyre::model
