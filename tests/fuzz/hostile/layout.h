// SPDX-License-Identifier: Apache-2.0
// Where everybody's memory is in the tests of a hostile function: tenants, intruders and guards in
// turn, so that whoever leaves its own memory is in somebody else's.
#pragma once

#include <array>
#include <cstdint>

#include "driver/transport.h"

namespace spyre::fuzz {

inline constexpr driver::FunctionId kTenants[] = {1, 2};
inline constexpr driver::FunctionId kIntruders[] = {3, 4};
inline constexpr driver::FunctionId kFunctions = 4;

inline constexpr uint64_t kPlaceBytes = 256 << 10;
inline constexpr uint64_t kPlacesBase = 8ull << 30;

struct Place {
  driver::FunctionId function;  // 0: a guard, which is nobody's
  int region;
};
inline constexpr std::array<Place, 13> kPlaces = {{{0, 0},
                                                   {1, 0},
                                                   {3, 0},
                                                   {2, 0},
                                                   {3, 1},
                                                   {1, 1},
                                                   {4, 0},
                                                   {0, 0},
                                                   {2, 1},
                                                   {4, 1},
                                                   {1, 2},
                                                   {2, 2},
                                                   {0, 0}}};

inline uint64_t PlaceBase(size_t place) { return kPlacesBase + place * kPlaceBytes; }
inline uint64_t PlaceOf(driver::FunctionId function, int region) {
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    if (kPlaces[i].function == function && kPlaces[i].region == region) return PlaceBase(i);
  }
  return 0;
}

}  // namespace spyre::fuzz
