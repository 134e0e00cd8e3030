// SPDX-License-Identifier: Apache-2.0
#include "model/control/factory_firmware.h"

#include "firmware/firmware_image.h"
#include "firmware/version.h"

namespace spyre::model {
namespace {

bool IsOwn(const CardConfig& config) {
  return config.management.fidelity != ManagementFidelity::kRtl ||
         config.management.firmware.empty();
}

}  // namespace

ElfImage FactoryFirmware(const CardConfig& config) {
  return IsOwn(config) ? ParseElf(FirmwareImage(), "the built-in firmware")
                       : ReadElf(config.management.firmware);
}

std::vector<uint8_t> FactoryPackage(const CardConfig& config) {
  PackageVersion version;
  if (IsOwn(config)) version = {FW_VERSION_MAJOR, FW_VERSION_MINOR, FW_BUILD};
  return PackFirmware(FlattenElf(FactoryFirmware(config)), version);
}

}  // namespace spyre::model
