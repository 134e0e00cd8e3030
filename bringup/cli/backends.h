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
  std::string card;                // configuration of the card; "": the preset, or that of inproc
  std::vector<std::string> sets;   // over it
};

// Opens it. Error(kBadInput) for an unknown backend or a bad configuration, and what the transport
// says if there is no card.
Backend OpenBackend(const BackendArguments& arguments, const std::vector<BackendKind>& more);

// What a card of this configuration has.
Expected ExpectedOf(const cosim::RunConfig& config);

}  // namespace spyre::bringup
