// SPDX-License-Identifier: Apache-2.0
// Which way a number of the card or the host is better: what it counts, in what unit. A clock, a
// rate or a queue is better when it is larger, a latency, an overhead or a price when it is
// smaller. Better hardware is dearer. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "cosim/config/field.h"

namespace spyre::cosim {

enum class Direction : uint8_t {
  kMoreIsFaster,
  kLessIsFaster,
  kEither,  // a threshold: which way is faster depends on the run
};

// What the card's work costs in energy; other powers are limits.
bool IsEnergy(const Field& field);

// Empty: its unit is neither a time nor a rate, such as a size.
std::optional<Direction> DirectionOf(const Field& field);

}  // namespace spyre::cosim
