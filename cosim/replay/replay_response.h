// SPDX-License-Identifier: Apache-2.0
// Comparing what cards give: responses field by field, outputs byte by byte or page by page.
#pragma once

#include <contract/registers.h>

#include <string>
#include <string_view>
#include <vector>

#include "cosim/replay/replay.h"

namespace spyre::cosim {

// "sequence 5, DMA_OUT, OK"
std::string ResponseText(const Response& response);

// Fields that differ, but for times and CRC, which differ between cards; phase only if with_phase.
std::vector<FieldDifference> CompareResponses(const Response& recorded, const Response& replayed,
                                              bool with_phase);

// The first difference of two outputs in the form of OutputData, of `bytes` bytes each; "" as name
// if they are equal.
FieldDifference CompareOutputs(std::string_view recorded, std::string_view replayed,
                               uint64_t bytes);

}  // namespace spyre::cosim
