// SPDX-License-Identifier: Apache-2.0
// The card's vital product data as bytes: what the VPD capability of the configuration space shows.
// Format: PCI Local Bus specification, "Vital Product Data": an identifier string, then read-only
// fields, of which the last makes the sum of all bytes up to it 0, then the end.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/card_config.h"

namespace spyre::model {

// The image with the card's names from `config`: a whole number of words, padded with zeros.
std::vector<uint8_t> VpdImage(const VpdConfig& config);

}  // namespace spyre::model
