// SPDX-License-Identifier: Apache-2.0
// Conversions of numbers on the host. Pure functions, any thread. C++17.
#pragma once

#include <spyrecode-host-functions/sendataconvert/sen_host_ops.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace deeptools {

// The bits of a value as a value of another type of the same size.
template <typename To, typename From>
To BinaryConvert(From value) {
  static_assert(sizeof(To) == sizeof(From));
  static_assert(std::is_trivially_copyable<To>::value && std::is_trivially_copyable<From>::value);
  To bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The SEN169_FP16 code of a constant: nearest, ties away from zero. Infinities, NaN and what is
// beyond the largest finite number give the special code, which the card treats as NaN.
uint32_t FloatToFp16Bin(float value);

// Carries out the conversion between two whole images, of the source and of the destination; what
// no box covers is left alone. Throws std::runtime_error for a pair of formats that has no
// conversion and for sizes and strides of different lengths.
void ConvertData(const data_conversion_info& conversion, const void* source, void* destination);
bool IsConversionSupported(DataFormats source, DataFormats destination);

}  // namespace deeptools
