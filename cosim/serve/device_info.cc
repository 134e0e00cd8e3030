// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/device_info.h"

#include <contract/registers.h>

#include <cstring>

#include "model/pcie/config_layout.h"

namespace spyre::cosim {
namespace {

namespace protocol = driver::vfio_user;

// The request, if it is whole and leaves room for the fixed part of the reply, which is alike.
template <typename T>
std::optional<T> Take(std::string_view request) {
  T value;
  if (request.size() < sizeof(T)) return std::nullopt;
  std::memcpy(&value, request.data(), sizeof(T));
  if (value.argsz < sizeof(T)) return std::nullopt;
  return value;
}

}  // namespace

uint32_t DeviceInfo::regions() const {
  return clock ? protocol::kTimeRegion + 1 : protocol::kPciRegions;
}

uint64_t DeviceInfo::RegionBytes(uint32_t index) const {
  const bool physical = function == 0;
  switch (index) {
    case 0:
      return physical ? kBar0Bytes : kVfBar0Bytes;
    case 2:
      return physical ? kBar2Bytes : 0;
    case 4:
      return physical ? kBar4Bytes : 0;
    case protocol::kConfigRegion:
      return model::kConfigBytes;
    case protocol::kTimeRegion:
      return clock ? protocol::kTimeRegionBytes : 0;
    default:
      return 0;
  }
}

std::optional<std::string> DeviceInfo::Answer(protocol::Command command,
                                              std::string_view request) const {
  if (command == protocol::Command::kGetRegionInfo) return AnswerRegion(request);
  if (command == protocol::Command::kGetInfo) {
    if (!Take<protocol::DeviceInfo>(request)) return std::nullopt;
    const protocol::DeviceInfo info{sizeof(info), protocol::kDeviceReset | protocol::kDevicePci,
                                    regions(), protocol::kPciIrqs};
    return std::string(BytesOf(info));
  }
  if (command == protocol::Command::kGetIrqInfo) {
    const auto asked = Take<protocol::IrqInfo>(request);
    if (!asked || asked->index >= protocol::kPciIrqs) return std::nullopt;
    const protocol::IrqInfo info{sizeof(info), protocol::kIrqEventfd, asked->index,
                                 asked->index == protocol::kMsiIrq ? kMsiVectors : 0u};
    return std::string(BytesOf(info));
  }
  // BARs are reached by messages only, so that each access has its place in the card's time.
  auto fds = Take<protocol::RegionIoFds>(request);
  if (command != protocol::Command::kGetRegionIoFds || !fds || fds->flags != 0 || fds->count != 0 ||
      fds->index >= regions()) {
    return std::nullopt;
  }
  fds->argsz = sizeof(*fds);
  return std::string(BytesOf(*fds));
}

// Capabilities are there only if there is room for them; the size says how much they need.
std::optional<std::string> DeviceInfo::AnswerRegion(std::string_view request) const {
  const auto asked = Take<protocol::RegionInfo>(request);
  if (!asked || asked->index >= regions()) return std::nullopt;
  const bool time = asked->index == protocol::kTimeRegion;
  const protocol::RegionTypeCapability type{2, 1, 0, protocol::kTimeRegionType,
                                            protocol::kTimeRegionSubtype};
  protocol::RegionInfo info;
  info.argsz = sizeof(info) + (time ? sizeof(type) : 0);
  info.index = asked->index;
  info.size = RegionBytes(asked->index);
  if (info.size != 0) info.flags = protocol::kRegionReadable | protocol::kRegionWritable;
  if (!time || asked->argsz < info.argsz) return std::string(BytesOf(info));
  info.flags |= protocol::kRegionCapabilities;
  info.capabilities = sizeof(info);
  return std::string(BytesOf(info)).append(BytesOf(type));
}

}  // namespace spyre::cosim
