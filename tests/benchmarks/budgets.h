// SPDX-License-Identifier: Apache-2.0
// The tables of docs/performance.md: how fast the simulator is meant to be and what a run of the
// benchmarks has of it, and what transports cost. Pure functions, any thread.
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

// A Markdown table of what it costs to reach a card by each transport; "" if not all were measured.
std::string TransportTable(const Results& results);

// A place of a page that holds a table.
struct Place {
  const char* begin;
  const char* end;
};
inline constexpr Place kBudgets{"<!-- budgets: written by benchmarks --write-docs -->\n",
                                "<!-- end of budgets -->"};
inline constexpr Place kTransports{"<!-- transports: written by benchmarks --write-docs -->\n",
                                   "<!-- end of transports -->"};

// `page` with the text at the place replaced. Throws Error(kBadInput), naming the page, if it has
// no such place.
std::string WithTable(const std::string& page, const Place& place, const std::string& table,
                      const std::string& name);

}  // namespace spyre::benchmarks
