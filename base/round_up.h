// SPDX-License-Identifier: Apache-2.0
// Division of whole numbers that rounds up. Both numbers are positive or the first is 0; the sum of
// both fits their type.
#pragma once

#include <type_traits>

namespace spyre {

// In the type of the value.
template <typename Integer>
constexpr Integer CeilDiv(Integer value, std::common_type_t<Integer> unit) {
  return (value + unit - 1) / unit;
}

// The least multiple of `unit` that is not less than `value`.
template <typename Integer>
constexpr Integer RoundUp(Integer value, std::common_type_t<Integer> unit) {
  return CeilDiv(value, unit) * unit;
}

}  // namespace spyre
