// SPDX-License-Identifier: Apache-2.0
// Structure in lists of operations: loops and channels are written out, so that whoever reads the
// list sees operations with the key `after` only.
//
//   { for_each = "i", count = 4, ops = [...] }     the operations for i = 0, 1, 2, 3; `count` may
//                                                  be the name of a dimension, `from` starts later
//   { sequential = "i", count = 4, ops = [...] }   the same, and each comes after all of the
//                                                  iteration before
//   send = "c", receive = "c"                      keys of operations: the k-th that receives comes
//                                                  after the k-th that sends; with room for n in
//                                                  the list's `channels`, send k + n after receive
//                                                  k
//
// Tensors take for_each in the same form, with `tensors` instead of `ops`. In the text of a loop,
// {i}, {i+2}, {i-1}, {i*64} and {i*64+5} become numbers. Pure functions, any thread. Errors:
// Error(kBadInput) naming the entry.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace spyre::cosim {

// `list`: the object with dims, tensors, ops and channels; the latter is taken out.
void ExpandOpList(nlohmann::ordered_json& list);

// The text with the placeholders of that loop written out; those of others stay.
std::string WithLoopIndex(std::string_view text, std::string_view loop, int64_t index);

}  // namespace spyre::cosim
