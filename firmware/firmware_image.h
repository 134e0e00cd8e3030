// SPDX-License-Identifier: Apache-2.0
// The firmware as it is built for the controller: an ELF executable, linked into the program.
#pragma once

#include <cstdint>
#include <vector>

extern "C" {
extern const uint8_t spyre_firmware_image_begin[];
extern const uint8_t spyre_firmware_image_end[];
}

namespace spyre {

inline std::vector<uint8_t> FirmwareImage() {
  return {spyre_firmware_image_begin, spyre_firmware_image_end};
}

}  // namespace spyre
