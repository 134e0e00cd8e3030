// SPDX-License-Identifier: Apache-2.0
// The numbers of an array's tasks as Slurm writes them: "1-4,7,9-12". Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::cosim {

// tasks: ascending, each once.
std::string FormatTasks(const std::vector<uint64_t>& tasks);

// Also with brackets round it and with a limit of tasks at a time behind it, "[3-8%2]", as Slurm
// prints tasks that wait. Empty if the text is nothing of that kind, or names more than ten
// million.
std::vector<uint64_t> ParseTasks(std::string_view text);

}  // namespace spyre::cosim
