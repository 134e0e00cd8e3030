// SPDX-License-Identifier: Apache-2.0
// What a rank tells the others when it comes to a collective: what it calls, and where its areas
// are in its card's memory window. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/collectives/collective_call.h"

namespace spyre::sdk {

struct Announcement {
  uint64_t number = 0;  // of the rank's collective
  runtime::CollectiveCall call;
  unsigned card = 0;
  uint64_t data = 0, result = 0, inbox = 0;  // in the window
  std::vector<uint64_t> blocks;              // of a result that is not in one piece

  std::string Text() const;
  static Announcement Parse(const std::string& text);
};

}  // namespace spyre::sdk
