// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/interrupt_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {
namespace {

using namespace driver::vfio_user;  // NOLINT: the names of one header

// Anything else that can be written to could make the server wait.
bool IsEventfd(const Descriptor& descriptor) {
  std::error_code error;
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor.get());
  return std::filesystem::read_symlink(link, error) == "anon_inode:[eventfd]";
}

}  // namespace

int InterruptLines::Set(std::string_view payload, std::vector<Descriptor> descriptors) {
  IrqSet set;
  if (payload.size() < sizeof(set)) return EINVAL;
  std::memcpy(&set, payload.data(), sizeof(set));
  const std::string_view data = payload.substr(sizeof(set));
  const uint32_t type = set.flags & kIrqDataTypes;
  const uint32_t action = set.flags & kIrqActions;
  if (set.argsz < sizeof(set) || (set.flags & ~(kIrqDataTypes | kIrqActions)) != 0) return EINVAL;
  if (type != kIrqDataNone && type != kIrqDataBool && type != kIrqDataEventfd) return EINVAL;
  if (action != kIrqMask && action != kIrqUnmask && action != kIrqTrigger) return EINVAL;
  if (set.index >= kPciIrqs || (type != kIrqDataEventfd && !descriptors.empty())) return EINVAL;
  if (set.count == 0) {  // everything of this kind off
    if (type != kIrqDataNone || action != kIrqTrigger || set.start != 0) return EINVAL;
    if (set.index == kMsiIrq) Clear();
    return 0;
  }
  const uint32_t vectors = set.index == kMsiIrq ? kMsiVectors : 0;
  if (set.start >= vectors || set.count > vectors - set.start) return EINVAL;
  if (type == kIrqDataBool && data.size() != set.count) return EINVAL;
  if (type == kIrqDataEventfd) {
    // Events of masking itself are for hosts that mask; here only the client does.
    if (action != kIrqTrigger) return EINVAL;
    if (!descriptors.empty() && descriptors.size() != set.count) return EINVAL;
    for (const Descriptor& descriptor : descriptors)
      if (!IsEventfd(descriptor)) return EINVAL;
    for (uint32_t i = 0; i < set.count; ++i)
      lines_[set.start + i] = descriptors.empty() ? Descriptor() : std::move(descriptors[i]);
    return 0;
  }
  for (uint32_t i = 0; i < set.count; ++i) {
    if (type == kIrqDataBool && data[i] == 0) continue;
    const unsigned vector = set.start + i;
    const unsigned bit = 1u << vector;
    if (action == kIrqTrigger) Raise(vector);
    if (action == kIrqMask) masked_ |= bit;
    if (action == kIrqUnmask) {
      masked_ &= ~bit;
      if ((std::exchange(pending_, pending_ & ~bit) & bit) != 0) Raise(vector);
    }
  }
  return 0;
}

void InterruptLines::Raise(unsigned vector) {
  if ((masked_ >> vector & 1) != 0) {
    pending_ |= 1u << vector;
    return;
  }
  const Descriptor& line = lines_[vector];
  if (!line) return;
  // A count that is full is an interrupt that has not been taken: this one adds nothing.
  pollfd poller{line.get(), POLLOUT, 0};
  if (poll(&poller, 1, 0) != 1 || (poller.revents & POLLOUT) == 0) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(line.get(), &one, sizeof(one));
}

void InterruptLines::Clear() {
  lines_ = {};
  masked_ = pending_ = 0;
}

}  // namespace spyre::cosim
