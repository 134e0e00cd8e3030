// SPDX-License-Identifier: Apache-2.0
// Vital product data of a card: what it says of itself in the VPD capability of its configuration
// space.
//
// Callers: monitors, bring-up. Errors: Error(kDeviceFault) if the function has no such capability,
// does not answer it, or answers what is not VPD. Format: PCI Local Bus specification, "Vital
// Product Data".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/transport.h"

namespace spyre::driver {

struct Vpd {
  std::string name;                           // the identifier string
  std::map<std::string, std::string> fields;  // by keyword: "PN" part number, "SN" serial number
};

// Of function 0, which has the card's.
Vpd ReadVpd(Transport& card);

// The resources of `bytes`; Error(kDeviceFault) says what is wrong with them. "RV", the checksum,
// is checked and left out.
Vpd ParseVpd(const std::vector<uint8_t>& bytes);

}  // namespace spyre::driver
