// SPDX-License-Identifier: Apache-2.0
// Copies with conversion as the card's own software makes them on the host: the pairs of
// ConvertElements (formats.h), and those that it does not have:
//   - float16 -> bfloat16; int64 <-> SEN169_FP16 (nearest even, NaN is 0); int64 <-> uint32 (the
//     low 32 bits); float32 <-> SENUINT2 (nearest even, saturating, NaN is 0), which packs four
//     elements in a byte, the lowest bits first.
// Pure functions, any thread. Errors: Error(kBadInput) for a pair that there is not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/contract/formats.h"
#include "model/contract/stick_layout.h"

namespace spyre {

// Converts `count` elements; pointers need no alignment.
using ConvertBlock = void (*)(const uint8_t* source, uint8_t* destination, size_t count);
ConvertBlock FindHostConversion(DataFormat from, DataFormat to);  // null: there is none
ConvertBlock FindConversion(DataFormat from, DataFormat to);      // of ConvertElements; likewise

int HostBitsPerElement(DataFormat format);  // as BitsPerElement, and of SENUINT2

// As RunConversion, with these conversions.
void RunHostConversion(const DataConversion& conversion, const void* source, void* destination);

}  // namespace spyre
