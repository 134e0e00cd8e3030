// SPDX-License-Identifier: Apache-2.0
// Infinities and NaN among the host's numbers of a copy with conversion. The card has no such
// numbers but one code for all of them, so that whoever looks for the first one that went wrong
// wants to know where they come and go. Pure function, any thread.
#pragma once

#include <cstdint>

#include "model/contract/stick_layout.h"

namespace spyre::sdk {

// Of the elements that the boxes touch on the host's side: the source's, or else the destination's.
// 0 for formats without such numbers.
uint64_t CountSpecialNumbers(const DataConversion& conversion, bool source, const void* host);

}  // namespace spyre::sdk
