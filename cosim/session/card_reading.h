// SPDX-License-Identifier: Apache-2.0
// A reading of a card in this process, as a monitor would make it through the registers, but
// without an access: nothing in the simulation notices. Kernel thread.
#pragma once

#include "cosim/smi/reading.h"
#include "model/card/card.h"

namespace spyre::cosim {

// What the card knows; what the runtime and the host know is the caller's to add.
SmiReading ReadCard(model::Card& card);

}  // namespace spyre::cosim
