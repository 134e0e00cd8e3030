// SPDX-License-Identifier: Apache-2.0
// The ways to a card that every bring-up program has: the simulated card in the process, a card
// that another process serves, and a card in this machine.
#pragma once

#include <string>
#include <vector>

#include "bringup/cli/program.h"
#include "bringup/ladder/board.h"
#include "cosim/config/config.h"

namespace spyre::bringup {

struct BackendArguments {
  std::string backend = "inproc";  // NAME[:REST]
  // What the card should be: a configuration, and keys over it. None of both: not known, unless the
  // card is simulated, which is then as --backend or the preset says.
  std::string card;
  std::vector<std::string> sets;
};

// Opens it. Error(kBadInput) for an unknown backend or a bad configuration, and what the transport
// says if there is no card.
Backend OpenBackend(const BackendArguments& arguments, const std::vector<BackendKind>& more);

// What a card of this configuration has.
Expected ExpectedOf(const cosim::RunConfig& config);

}  // namespace spyre::bringup
