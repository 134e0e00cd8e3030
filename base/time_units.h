// SPDX-License-Identifier: Apache-2.0
// Simulated time is counted in picoseconds.
#pragma once

#include <cstdint>

namespace spyre {

inline constexpr double kPsPerSecond = 1e12;

inline double Nanoseconds(double ps) { return ps / 1e3; }
inline double Nanoseconds(uint64_t ps) { return Nanoseconds(static_cast<double>(ps)); }

}  // namespace spyre
