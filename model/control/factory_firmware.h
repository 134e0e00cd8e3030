// SPDX-License-Identifier: Apache-2.0
// The firmware that the card leaves the factory with. Pure functions, any thread.
#pragma once

#include <vector>

#include "model/common/card_config.h"
#include "model/common/elf_image.h"

namespace spyre::model {

// RTL: management.firmware, or else the one built from firmware/. Behavioural: always that, as its
// code for the host is what runs. Throws Error(kBadInput) for a file that is not firmware.
ElfImage FactoryFirmware(const CardConfig& config);

// It as an image for the flash: with the version of firmware/, or 0.0.0 for another.
std::vector<uint8_t> FactoryPackage(const CardConfig& config);

}  // namespace spyre::model
