// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/direction.h"

#include <array>
#include <string>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

// Keys whose unit alone does not say which way is faster.
struct Special {
  const char* key;
  Direction direction;
};
constexpr Special kSpecial[] = {
    {"card.memory.t_refi_ps", Direction::kMoreIsFaster},  // less refresh
    {"card.memory.write_high", Direction::kEither},
    {"card.memory.write_low", Direction::kEither},
    {"card.memory.reads_per_turn", Direction::kEither},
    {"card.memory.write_idle_ns", Direction::kEither},
    {"card.memory.starvation_ns", Direction::kEither},
    {"card.ring.detour_ns", Direction::kEither},
    {"card.ring.multicast_exponent_percent", Direction::kLessIsFaster},
    {"card.ring.multicast_cohort", Direction::kMoreIsFaster},
    {"card.pcie.framing_bytes", Direction::kLessIsFaster},
    {"card.pcie.header_bytes", Direction::kLessIsFaster},
    {"card.pcie.completion_header_bytes", Direction::kLessIsFaster},
    {"card.pcie.dllp_bytes", Direction::kLessIsFaster},
};

constexpr std::array<const char*, 7> kLatencies = {"ns",     "ps",    "cycles", "0.01 cycles",
                                                   "passes", "ns/MB", "ns/KiB"};
constexpr std::array<const char*, 20> kRates = {
    "MHz",      "bytes/cycle", "MAC/cycle", "x fp16",     "elements/cycle",
    "bursts",   "requests",    "channels",  "MT/s",       "bytes/us",
    "bytes/ns", "%",           "entries",   "packets",    "16 bytes",
    "MB/s",     "GB/s",        "lanes",     "operations", "functions"};

template <size_t N>
bool Has(const std::array<const char*, N>& units, std::string_view unit) {
  return AnyFits(units, [&](const char* one) { return unit == one; });
}

}  // namespace

bool IsEnergy(const Field& field) {
  return field.unit == "fJ" || field.key == "card.power.idle_mw" ||
         field.key == "card.power.busy_mw";
}

std::optional<Direction> DirectionOf(const Field& field) {
  for (const Special& special : kSpecial)
    if (field.key == special.key) return special.direction;
  if (IsEnergy(field) || Has(kLatencies, field.unit)) return Direction::kLessIsFaster;
  if (Has(kRates, field.unit)) return Direction::kMoreIsFaster;
  return std::nullopt;
}

}  // namespace spyre::cosim
