// SPDX-License-Identifier: Apache-2.0
// Cycles of a task that has none of its own, by a word in its function's name.
#pragma once

#include <cstdint>
#include <string_view>

namespace spyre::runtime {

// Source: the estimates of the public pto-isa runtime (docs/task-graph.md has the table). The first
// group of words that matches decides: "rowexpanddiv" is an expansion.
int64_t DefaultCycles(std::string_view function);

}  // namespace spyre::runtime
