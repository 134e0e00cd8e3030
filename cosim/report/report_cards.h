// SPDX-License-Identifier: Apache-2.0
// The cards of a run in report.json and in the summary: what each did, and what they did together.
// Pure functions.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// "cards" of report.json, and "collective"; that is null if the cards do nothing together.
nlohmann::ordered_json CardsJson(const RunResult& result);
nlohmann::ordered_json CollectiveJson(const RunResult& result);
// "collectives" of report.json: those of a list, in order.
nlohmann::ordered_json ListCollectivesJson(const RunResult& result);

// From the beginning of the collective on the first card to its end on the last one, of several the
// sum; 0: there is none.
uint64_t CollectivePs(const RunResult& result);
// From the first launch operation to the last one's end, or that of the collective.
uint64_t ProgramPs(const RunResult& result);
// What the time of the card that took longest for the collective went to; empty: there is none.
std::string CollectiveBound(const RunResult& result);
// "all-reduce by a ring of 4 in 120.300 us"; empty: the cards do nothing together.
std::string CollectiveTime(const RunResult& result);
// One row for each card, and a line about the collective; empty: there is one card.
std::string CardsTable(const RunResult& result, size_t width);

}  // namespace spyre::cosim
