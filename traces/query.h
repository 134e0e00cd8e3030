// SPDX-License-Identifier: Apache-2.0
// Picking records out of a trace: `trace query`. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

enum class Order { kStart, kTime, kBytes };  // by start; the longest, the largest first
enum class TimeUnit { kPs, kNs, kUs, kMs };

struct Query {
  std::string track;     // part of "process/track"; empty: any
  std::string name;      // part of the name; empty: any
  uint64_t from_ps = 0;  // records that touch [from_ps, to_ps]
  uint64_t to_ps = UINT64_MAX;
  uint64_t flow = 0;  // correlation id, 0: any
  uint32_t categories = kAll;
  Order order = Order::kStart;
  uint64_t limit = 100;
};

struct QueryResult {
  std::vector<const Record*> records;  // in the order asked for; they live as long as the trace
  uint64_t matches = 0;                // records may be fewer: limit
};

QueryResult Select(const Trace& trace, const Query& query);
// Times in `unit`, counted from zero_ps; what starts before is negative.
struct QueryTimes {
  TimeUnit unit = TimeUnit::kNs;
  uint64_t zero_ps = 0;
};
std::string ToText(const Trace& trace, const QueryResult& result, const QueryTimes& times = {});
nlohmann::json ToJson(const Trace& trace, const QueryResult& result);

}  // namespace spyre::trace
