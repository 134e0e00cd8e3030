// SPDX-License-Identifier: Apache-2.0
// The results of a ladder as text for people. Pure functions, any thread.
#pragma once

#include <string>

#include "base/terminal.h"
#include "bringup/ladder/results.h"

namespace spyre::bringup {

// Of one test: a line, and below it the message if it did not pass, and what was measured.
std::string Line(const TestResult& test, const TextStyle& style);
// A table by rungs, and the sums.
std::string Summary(const LadderResult& result, const TextStyle& style);

}  // namespace spyre::bringup
