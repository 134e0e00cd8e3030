// SPDX-License-Identifier: Apache-2.0
// Number formats of the reference: written from the formats' definitions, with real arithmetic and
// on purpose not with the bit manipulation of model/contract/formats, so that one checks the other.
// Pure functions, any thread. Definitions and sources: see model/contract/formats.h.
#pragma once

#include <cstdint>

namespace spyre::cosim {

double HalfValue(uint16_t code);     // IEEE binary16; exact
uint16_t NearestHalf(double value);  // ties to even; beyond the range: infinity

double SenValue(uint16_t code);  // SEN169_FP16; exact; NINF is NaN
// One rounding from the exact value: ties away from zero; beyond the range or infinite: NINF with
// the sign; NaN: 0x7FFF; too small: zero with the sign.
uint16_t NearestSen(long double value);
uint16_t NearestSen(double value);
uint16_t SenOfHalf(uint16_t half);  // exponent 31 is as any other: infinity becomes 65536
uint16_t HalfOfSen(uint16_t sen);

// Distance between neighbouring SEN169_FP16 values at `value`.
double SenUlp(double value);

}  // namespace spyre::cosim
