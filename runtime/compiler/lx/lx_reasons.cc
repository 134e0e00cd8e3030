// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/lx/lx_reasons.h"

#include <fmt/format.h>

#include "base/joined.h"

namespace spyre::compiler {

std::string ViewText(const CoreView& view) {
  std::vector<std::string> dims;
  for (const CoreViewDim& dim : view)
    dims.push_back(fmt::format("{} slices of device dimension {}", dim.slices, dim.device_dim));
  return dims.empty() ? "all of it" : fmt::format("{}", Joined(dims, ", "));
}

std::string MismatchText(const std::string& operation, const std::optional<CoreView>& before,
                         const std::optional<CoreView>& view) {
  if (!view)
    return fmt::format("'{}': no device dimension can carry the splits of its loops", operation);
  if (before && !(*before == *view)) {
    return fmt::format(
        "'{}' has each core use another part than the operations before it: {}, not {}", operation,
        ViewText(*view), ViewText(*before));
  }
  return fmt::format("'{}' has its reduction cut, and every core holds partial results only",
                     operation);
}

std::string NoRoomText(const std::vector<LxBuffer>& buffers,
                       const std::vector<std::optional<int64_t>>& addresses, size_t which,
                       int64_t capacity) {
  const LxBuffer& buffer = buffers[which];
  std::string text = fmt::format("no room: each core needs {} bytes of the {} that LX has for data",
                                 buffer.size, capacity);
  std::vector<std::string> others;
  for (size_t o = 0; o < buffers.size(); ++o) {
    const bool together = buffers[o].start < buffer.end && buffer.start < buffers[o].end;
    if (o != which && addresses[o] && together)
      others.push_back(
          fmt::format("{} has {} at {}", buffers[o].name, buffers[o].size, *addresses[o]));
  }
  if (!others.empty()) text += fmt::format(", and {}", Joined(others, ", "));
  const int64_t tiles = capacity > 0 ? (buffer.size + capacity - 1) / capacity : 0;
  if (tiles > 1) text += fmt::format("; of {} tiles in a loop it would need 1/{}", tiles, tiles);
  return text;
}

}  // namespace spyre::compiler
