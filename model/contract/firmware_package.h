// SPDX-License-Identifier: Apache-2.0
// A firmware image as it is stored and sent to the card: FirmwareHeader (contract/registers.h),
// then the payload. Who packs, who checks before sending and the card itself share this. Pure
// functions, any thread; hostile images get an UpdateStatus.
#pragma once

#include <contract/registers.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spyre {

// What the controller's SRAM holds when the firmware starts; all that is not payload is zero.
struct FirmwareProgram {
  uint32_t load_address = 0;
  uint32_t entry = 0;
  std::vector<uint8_t> payload;
};

struct PackageVersion {
  uint8_t major = 0;
  uint8_t minor = 0;
  uint16_t patch = 0;
};

// "1.2.3". Throws Error(kBadInput) for anything else, and for numbers above 255, 255 and 65535.
PackageVersion ParsePackageVersion(const std::string& text);
std::string VersionText(const FirmwareHeader& header);

// Header and payload, which is filled up to words with zeros. Throws Error(kBadInput) for a program
// that the card would refuse.
std::vector<uint8_t> PackFirmware(const FirmwareProgram& program, const PackageVersion& version);

// DONE, or what is wrong first, in the order of the header's use: magic, version of the header, its
// CRC, its fields, the payload. *header is what the first bytes say, zero if there are too few.
UpdateStatus CheckFirmware(const uint8_t* image, size_t bytes, FirmwareHeader* header = nullptr);

// The program of an image that CheckFirmware has found good.
FirmwareProgram UnpackFirmware(const std::vector<uint8_t>& image);

// FNV-1a of 64 bits.
uint64_t FirmwareBuildId(const uint8_t* payload, size_t bytes);

// The contract's name and description of a status.
const EnumName<UpdateStatus>& Describe(UpdateStatus status);

}  // namespace spyre
