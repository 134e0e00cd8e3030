// SPDX-License-Identifier: Apache-2.0
// The entry of the module spyre_card.
#include <modules/spyre_card.h>

#include "cosim/program/program_session.h"

extern "C" __attribute__((visibility("default"))) void SPYRE_CARD(
    std::unique_ptr<spyre::sdk::ProgramCard>& card, const spyre::sdk::CardRequest& request) {
  card = std::make_unique<spyre::cosim::ProgramSession>(request);
}
