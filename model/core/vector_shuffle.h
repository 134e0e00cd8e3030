// SPDX-License-Identifier: Apache-2.0
// Rearranging and converting sticks, without time and without SystemC. Semantics: kVtranspose and
// kVconvert in model/contract/program.h. Pure functions, any thread; pointers may be unaligned.
#pragma once

#include <cstddef>

#include "model/contract/program.h"

namespace spyre::model {

// 64 sticks of 64 16-bit elements, `a_stick` bytes apart, to their transpose. dst may overlap a.
void TransposeBlock(void* dst, size_t dst_stick, const void* a, size_t a_stick);

bool IsWidening(ConvertFn fn);  // one stick to two
// One narrow stick from or to the wide ones at +0 and +pair bytes. dst may overlap a. scale and
// shift: to SENINT8 only. Throws Error(kBadInput) for a function beyond the enumeration.
void ConvertStick(ConvertFn fn, void* dst, const void* a, size_t pair, float scale, float shift);

}  // namespace spyre::model
