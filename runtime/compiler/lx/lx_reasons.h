// SPDX-License-Identifier: Apache-2.0
// Why the planner leaves a buffer out of LX, in words. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compiler/lx/core_view.h"
#include "runtime/compiler/lx/lx_solver.h"

namespace spyre::compiler {

// "4 slices of device dimension 1", "all of it".
std::string ViewText(const CoreView& view);

// Why `view`, of the operation, is not that of the operations before it; nothing: no device
// dimension can carry its splits.
std::string MismatchText(const std::string& operation, const std::optional<CoreView>& before,
                         const std::optional<CoreView>& view);

// Why buffers[which] found no place, with those that are there at its time. `capacity`: bytes.
std::string NoRoomText(const std::vector<LxBuffer>& buffers,
                       const std::vector<std::optional<int64_t>>& addresses, size_t which,
                       int64_t capacity);

}  // namespace spyre::compiler
