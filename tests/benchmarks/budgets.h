// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is meant to be, and what a run of the benchmarks has of it. Pure
// functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "tests/benchmarks/results.h"

namespace spyre::benchmarks {

struct Budget {
  const char* what;
  const char* benchmark;  // its name in results
  const char* counter;
  double limit;
  bool is_most;  // false: the least
};
const std::vector<Budget>& Budgets();

// A Markdown table of the budgets whose benchmarks ran, and a line that names the machine; "" if
// none ran.
std::string BudgetTable(const Results& results);

// `page` with the text between kBegin and kEnd replaced. Throws Error(kBadInput), naming the page,
// if it has no such place.
inline constexpr const char* kBegin = "<!-- budgets: written by benchmarks --write-docs -->\n";
inline constexpr const char* kEnd = "<!-- end of budgets -->";
std::string WithTable(const std::string& page, const std::string& table, const std::string& name);

}  // namespace spyre::benchmarks
