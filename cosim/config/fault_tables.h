// SPDX-License-Identifier: Apache-2.0
// [[fault]] of a configuration: what is to go wrong with the card (docs/faults.md). Which keys a
// kind knows is in model/fault/fault_kind.h. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "cosim/config/field.h"
#include "model/common/card_config.h"

namespace spyre::cosim {

// The faults that the tables declare for `card`, in their order. Throws Error(kBadInput) with file
// and line of the table for unknown keys, keys that its kind does not know, places that
// the card does not have, and values out of range.
std::vector<model::FaultSpec> ReadFaults(const TableList& tables, const model::CardConfig& card);

// The part of docs/configuration.md about them.
std::string FaultReference();

}  // namespace spyre::cosim
