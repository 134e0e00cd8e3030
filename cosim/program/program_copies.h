// SPDX-License-Identifier: Apache-2.0
// What a program has copied between the host and the card. Pure functions; sizes in bytes.
#pragma once

#include <cstdint>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

struct ProgramCopies {
  uint64_t count = 0;
  uint64_t to_card = 0, from_card = 0;
};
ProgramCopies CopiesOf(const RunResult& result);

}  // namespace spyre::cosim
