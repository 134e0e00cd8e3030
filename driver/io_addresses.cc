// SPDX-License-Identifier: Apache-2.0
#include "driver/io_addresses.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::driver {

IoAddresses::IoAddresses(const std::vector<IoRange>& ranges, uint64_t page_bytes,
                         unsigned address_bits)
    : page_bytes_(page_bytes) {
  const IoAddress top = address_bits >= 64 ? ~IoAddress{0} : (IoAddress{1} << address_bits) - 1;
  for (const IoRange& range : ranges) {
    const IoAddress first = std::max(range.first, IoAddress{page_bytes});
    const IoAddress last = std::min(range.last, top);
    if (first <= last && last - first >= page_bytes - 1) ranges_.push_back({first, last});
  }
}

IoAddress IoAddresses::Allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > ~uint64_t{0} - page_bytes_) {
    throw BadInput("a mapping of {} bytes: at least 1 is expected, and less than the address space",
                   bytes)
        .Subject("host memory")
        .Value(bytes);
  }
  const uint64_t size = (bytes + page_bytes_ - 1) & ~(page_bytes_ - 1);
  for (const IoRange& range : ranges_) {
    IoAddress at = (range.first + page_bytes_ - 1) & ~(page_bytes_ - 1);
    for (auto next = used_.lower_bound(at);; ++next) {
      const bool behind = next == used_.end() || next->first > range.last;
      const IoAddress last = behind ? range.last : next->first - 1;
      if (at <= last && last - at >= size - 1) {
        used_[at] = size;
        mapped_bytes_ += size;
        return at;
      }
      if (behind || range.last - next->first < next->second) break;
      at = next->first + next->second;
    }
  }
  throw BadInput(
      "no IO virtual address is left for {} bytes: {} bytes are mapped, and the IOMMU and the "
      "function's address lines reach no further",
      size, mapped_bytes_)
      .Subject("host memory")
      .Value(size);
}

uint64_t IoAddresses::Release(IoAddress address) {
  const auto found = used_.find(address);
  if (found == used_.end()) return 0;
  const uint64_t size = found->second;
  mapped_bytes_ -= size;
  used_.erase(found);
  return size;
}

}  // namespace spyre::driver
