// SPDX-License-Identifier: Apache-2.0
// Simulated time is counted in picoseconds.
#pragma once

namespace spyre {

inline constexpr double kPsPerSecond = 1e12;

}  // namespace spyre
