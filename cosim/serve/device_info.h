// SPDX-License-Identifier: Apache-2.0
// What a function of the card is to a vfio-user client: its regions and interrupts. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/transport.h"
#include "driver/vfio_user_protocol.h"

namespace spyre::cosim {

struct DeviceInfo {
  driver::FunctionId function = 0;
  bool clock = false;  // the client uses the card's clock, so there is a region for it

  uint32_t regions() const;
  uint64_t RegionBytes(uint32_t index) const;  // 0: the function has no such region

  // Payloads of replies to kGetInfo, kGetRegionInfo, kGetRegionIoFds and kGetIrqInfo. Empty: the
  // request is not a valid one.
  std::optional<std::string> Answer(driver::vfio_user::Command command,
                                    std::string_view request) const;

 private:
  std::optional<std::string> AnswerRegion(std::string_view request) const;
};

}  // namespace spyre::cosim
