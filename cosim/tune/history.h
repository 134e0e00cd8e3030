// SPDX-License-Identifier: Apache-2.0
// What `tune` tried, as tables and as a page with plots. Pure functions, any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cosim/tune/tune.h"

namespace spyre::cosim {

// "155.501 us": the objective of a trial, or why there is none: "infeasible".
std::string FigureText(const TuneResult& result, const TuneTrial& trial);
// "-52.7 %", against the plan as given.
std::string ChangeText(const TuneResult& result, const TuneTrial& trial);

// How many plans did not run for each reason, the most frequent first: those that the compiler
// refused in advance, and trials.
std::vector<std::pair<std::string, uint64_t>> ReasonsOf(const TuneResult& result);

// A row for each trial: number, stage, plan, expected_ns, status, reason, the figures, and whether
// it is the best. In JSON the plan is an object of keys and values.
std::string HistoryCsv(const TuneResult& result);
std::string HistoryLines(const TuneResult& result);
std::string HistoryPage(const TuneResult& result);

}  // namespace spyre::cosim
