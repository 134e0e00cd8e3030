// SPDX-License-Identifier: Apache-2.0
// Opens the card that the environment asks for: the module that simulates one, or a card that is
// somewhere else. Errors: Error(kBadInput) if there is no such card, no such module, or the
// configuration is wrong; Error(kDeviceFault) if the card does not answer.
#pragma once

#include <memory>

#include "sdk/card/program_card.h"

namespace spyre::sdk {

std::unique_ptr<ProgramCard> OpenCard(const CardRequest& request);

}  // namespace spyre::sdk
