// SPDX-License-Identifier: Apache-2.0
#include "sdk/comms/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace spyre::sdk {

std::string Announcement::Text() const {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", number,
                     static_cast<unsigned>(call.collective), static_cast<unsigned>(call.algorithm),
                     call.bytes, call.type.empty() ? "-" : call.type, call.root, call.peer, card,
                     data, result, inbox, blocks.size(), fmt::join(blocks, " "));
}

Announcement Announcement::Parse(const std::string& text) {
  Announcement a;
  unsigned collective = 0, algorithm = 0;
  size_t blocks = 0;
  std::istringstream words(text);
  words >> a.number >> collective >> algorithm >> a.call.bytes >> a.call.type >> a.call.root >>
      a.call.peer >> a.card >> a.data >> a.result >> a.inbox >> blocks;
  a.call.collective = static_cast<runtime::Collective>(collective);
  a.call.algorithm = static_cast<runtime::CollectiveAlgorithm>(algorithm);
  if (a.call.type == "-") a.call.type.clear();
  a.blocks.resize(blocks);
  for (uint64_t& block : a.blocks) words >> block;
  return a;
}

}  // namespace spyre::sdk
