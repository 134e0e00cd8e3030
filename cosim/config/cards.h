// SPDX-License-Identifier: Apache-2.0
// Several cards of a configuration: their part of the table of keys, and [[card]], which numbers
// them. Pure functions, any thread. Errors: Error(kBadInput) naming the card and the key.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cosim/config/config.h"

namespace spyre::cosim {

inline constexpr uint64_t kMaxCards = 16;

void DescribeCards(FieldCollector& f, CardsConfig& cards);

// [[card]] tables with the numbers 0, 1, 2, ... become one [card], that of card 0, which all cards
// are like; returns how many there are. Nothing if `document` has none. `name`: of the document.
std::optional<uint64_t> NumberedCards(toml::table& document, const std::string& name);

// What no single key can be wrong about.
void CheckCards(const RunConfig& config);

}  // namespace spyre::cosim
