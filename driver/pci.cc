// SPDX-License-Identifier: Apache-2.0
#include "driver/pci.h"

#include "base/error.h"

namespace spyre::driver {
namespace {

constexpr int kMaxCapabilities = 48;           // (256 - 64) / 4: more means a loop
constexpr int kMaxExtendedCapabilities = 960;  // (4096 - 256) / 4

}  // namespace

std::optional<uint32_t> FindCapability(Transport& transport, FunctionId function, uint8_t id) {
  if (!(transport.ConfigRead(function, pci::kCommandStatus) & pci::kStatusCapabilityList)) {
    return std::nullopt;
  }
  uint32_t offset = transport.ConfigRead(function, pci::kCapabilityPointer) & 0xFC;
  for (int i = 0; offset != 0; ++i) {
    if (i == kMaxCapabilities || offset < 0x40) {
      throw DeviceFault("function {}: PCI capability list is broken at offset 0x{:02x}", function,
                        offset);
    }
    const uint32_t header = transport.ConfigRead(function, offset);
    if ((header & 0xFF) == id) return offset;
    offset = (header >> 8) & 0xFC;
  }
  return std::nullopt;
}

std::optional<uint32_t> FindExtendedCapability(Transport& transport, FunctionId function,
                                               uint16_t id) {
  uint32_t offset = 0x100;
  for (int i = 0; offset != 0; ++i) {
    if (i == kMaxExtendedCapabilities || offset < 0x100) {
      throw DeviceFault("function {}: PCI extended capability list is broken at offset 0x{:03x}",
                        function, offset);
    }
    const uint32_t header = transport.ConfigRead(function, offset);
    if (header == 0 || header == 0xFFFFFFFF) return std::nullopt;  // no list
    if ((header & 0xFFFF) == id) return offset;
    offset = (header >> 20) & 0xFFC;
  }
  return std::nullopt;
}

void RequirePresent(FunctionId function, uint32_t value, const char* what) {
  if (value != kNobodyAnswers) return;
  throw DeviceFault(
      "function {}: {}: the card does not answer; it was removed, or its link is down", function,
      what)
      .Subject(fmt::format("function {}", function));
}

}  // namespace spyre::driver
