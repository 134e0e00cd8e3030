// SPDX-License-Identifier: Apache-2.0
// Times in report.json are nanoseconds, those of the simulation picoseconds.
#pragma once

#include <cstdint>

namespace spyre::cosim {

inline double Ns(uint64_t ps) { return static_cast<double>(ps) / 1000; }

}  // namespace spyre::cosim
