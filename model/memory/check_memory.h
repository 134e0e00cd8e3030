// SPDX-License-Identifier: Apache-2.0
// Memory parameters that contradict each other, or the LPDDR5 standard, are refused here. Called by
// CheckCard; pure function.
#pragma once

#include "model/common/card_config.h"

namespace spyre::model {

// Throws Error(kBadInput) naming the keys, their values, and what would be right.
void CheckMemory(const MemoryConfig& memory);

}  // namespace spyre::model
