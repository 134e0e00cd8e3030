// SPDX-License-Identifier: Apache-2.0
// Calls of VFIO whose answer is a structure with a chain of capabilities behind it.
#pragma once

#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace spyre::driver {

// The answer, or nothing where the call fails. The kernel says in argsz how much room it needs.
template <class Info>
std::vector<uint8_t> Ask(int fd, unsigned long request, Info info) {
  info.argsz = sizeof(info);
  if (ioctl(fd, request, &info) != 0) return {};
  std::vector<uint8_t> bytes(std::max<size_t>(info.argsz, sizeof(info)));
  info.argsz = static_cast<uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &info, sizeof(info));
  if (ioctl(fd, request, bytes.data()) != 0) return {};
  return bytes;
}

// Where the capability `id` starts in what Ask gave; the first is at `offset`, and 0 ends the list.
inline std::optional<size_t> FindInfo(const std::vector<uint8_t>& bytes, uint32_t offset,
                                      uint16_t id) {
  vfio_info_cap_header header;
  for (size_t at = offset; at != 0 && at + sizeof(header) <= bytes.size(); at = header.next) {
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.id == id) return at;
    if (header.next <= at) break;
  }
  return std::nullopt;
}

}  // namespace spyre::driver
