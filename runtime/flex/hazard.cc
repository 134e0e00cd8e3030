// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/hazard.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/joined.h"

namespace spyre::flex {
namespace {

constexpr std::array<const char*, 4> kModes{"off", "error", "warning", "event"};

}  // namespace

std::vector<std::string> HazardModeNames() { return {kModes.begin(), kModes.end()}; }

HazardMode HazardModeFromName(const std::string& name) {
  for (size_t i = 0; i < kModes.size(); ++i) {
    if (name == kModes[i]) return static_cast<HazardMode>(i);
  }
  throw BadInput("hazards '{}': it is one of {}", name, Joined(kModes, ", "));
}

const char* Name(HazardMode mode) { return kModes.at(static_cast<size_t>(mode)); }

const char* Name(HazardKind kind) {
  switch (kind) {
    case HazardKind::kReadAfterWrite:
      return "RAW";
    case HazardKind::kWriteAfterRead:
      return "WAR";
    case HazardKind::kWriteAfterWrite:
      return "WAW";
  }
  return "unknown";
}

std::string ToString(const HazardOperation& operation) {
  std::string text = fmt::format("stream {}, {}", operation.stream, operation.name);
  if (!operation.label.empty()) text += fmt::format(" ({})", operation.label);
  return text;
}

std::string ToString(const Hazard& hazard) {
  const char* const did = hazard.kind == HazardKind::kWriteAfterRead ? "reads" : "writes";
  const char* const does = hazard.kind == HazardKind::kReadAfterWrite ? "read" : "written";
  std::string text = fmt::format("{}: {} bytes at {} are {} by [{}], and [{}] {} them",
                                 Name(hazard.kind), hazard.size, ToString(hazard.handle), does,
                                 ToString(hazard.later), ToString(hazard.earlier), did);
  if (hazard.shared_bytes > hazard.size) {
    text += fmt::format(" ({} bytes in several places)", hazard.shared_bytes);
  }
  return text;
}

}  // namespace spyre::flex
