// SPDX-License-Identifier: Apache-2.0
#include "bringup/cli/config_dump.h"

#include <fmt/format.h>

#include "driver/pci.h"

namespace spyre::bringup {

namespace {
constexpr uint32_t kConfigBytes = 4096, kLineBytes = 16;
}

std::string DumpConfigSpaces(driver::Transport& card) {
  std::string text;
  for (driver::FunctionId function = 0;; ++function) {
    const uint32_t id = card.ConfigRead(function, driver::pci::kVendorDevice);
    if (id == driver::kNobodyAnswers) return text;
    text += fmt::format("01:{:02x}.{} {:04x}:{:04x}\n", function / 8, function % 8, id & 0xFFFF,
                        id >> 16);
    for (uint32_t offset = 0; offset < kConfigBytes; offset += 4) {
      if (offset % kLineBytes == 0) text += fmt::format("{:02x}:", offset);
      const uint32_t word = card.ConfigRead(function, offset);
      for (unsigned byte = 0; byte < 4; ++byte)
        text += fmt::format(" {:02x}", word >> (8 * byte) & 0xFF);
      if (offset % kLineBytes == kLineBytes - 4) text += '\n';
    }
    text += '\n';
  }
}

}  // namespace spyre::bringup
