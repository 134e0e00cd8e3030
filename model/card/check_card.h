// SPDX-License-Identifier: Apache-2.0
// Checks of a card's parameters beyond the range of each. Reads the firmware's image if one is
// named; any thread.
#pragma once

#include "model/common/card_config.h"

namespace spyre::model {

// Throws Error(kBadInput) for parameters that contradict each other, naming keys and values.
void CheckCard(const CardConfig& config);

}  // namespace spyre::model
