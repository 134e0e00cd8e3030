// SPDX-License-Identifier: Apache-2.0
// IoAddresses: which IO virtual addresses a function's mappings take, out of those that its IOMMU
// and its own address lines reach.
//
// Units: bytes. Sizes and addresses are multiples of the page, which is a power of two. Threads:
// none of its own; the owner serialises. Errors: no room left is BadInput, with how much is mapped.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "driver/transport.h"

namespace spyre::driver {

struct IoRange {
  IoAddress first = 0;
  IoAddress last = 0;  // itself included, so that a range may end at the top of the address space
};

class IoAddresses {
 public:
  // ranges: ascending, without overlaps. Page 0 is never given away: a null address in a ring is a
  // mistake that the IOMMU is to find.
  IoAddresses(const std::vector<IoRange>& ranges, uint64_t page_bytes, unsigned address_bits);

  // The lowest free place of `bytes`, rounded up to pages.
  IoAddress Allocate(uint64_t bytes);
  // What Allocate gave. Its size, rounded up to pages; 0 if nothing starts there.
  uint64_t Release(IoAddress address);

  uint64_t mapped_bytes() const { return mapped_bytes_; }

 private:
  uint64_t page_bytes_;
  std::vector<IoRange> ranges_;
  std::map<IoAddress, uint64_t> used_;  // first address -> bytes
  uint64_t mapped_bytes_ = 0;
};

}  // namespace spyre::driver
