// SPDX-License-Identifier: Apache-2.0
// The report of a board: what it is, what its firmware counts, and the results of the ladder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bringup/ladder/board.h"
#include "bringup/ladder/results.h"

namespace spyre::bringup {

// identity, capabilities, firmware, counters, error_log. Resets the board and opens its physical
// function; what cannot be read is a string `error`, with what could be read before it. The thread
// of the tests, when none is running.
nlohmann::ordered_json DescribeBoard(Board& board);

// One HTML page that needs no other file. board: of DescribeBoard. about: rows at the top, as
// backend, level and seed. Pure function, any thread.
std::string ReportPage(const nlohmann::ordered_json& about, const nlohmann::ordered_json& board,
                       const LadderResult& result);

}  // namespace spyre::bringup
