// SPDX-License-Identifier: Apache-2.0
#include "traces/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/text.h"

namespace spyre::trace {
namespace {

std::string TrackName(const Trace& trace, const Record& record) {
  const Track& track = trace.tracks[record.track];
  return track.process + "/" + track.name;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A number of the unit with ps digits: "-1.250".
std::string TimeIn(TimeUnit unit, uint64_t ps, uint64_t zero_ps) {
  static constexpr uint64_t kPs[] = {1, 1'000, 1'000'000, 1'000'000'000};
  const uint64_t one = kPs[static_cast<size_t>(unit)];
  const uint64_t distance = ps >= zero_ps ? ps - zero_ps : zero_ps - ps;
  const std::string sign = ps < zero_ps ? "-" : "";
  if (one == 1) return fmt::format("{}{}", sign, distance);
  const int digits = static_cast<int>(unit) * 3;
  return fmt::format("{}{}.{:0{}}", sign, distance / one, distance % one, digits);
}

const char* UnitName(TimeUnit unit) {
  static constexpr const char* kNames[] = {"ps", "ns", "us", "ms"};
  return kNames[static_cast<size_t>(unit)];
}

uint64_t LengthOf(const Record* record) { return record->end_ps - record->start_ps; }

}  // namespace

QueryResult Select(const Trace& trace, const Query& query) {
  // Text is compared once per track and name, not once per record.
  std::vector<bool> tracks, names;
  for (const Track& track : trace.tracks) {
    tracks.push_back(Contains(track.process + "/" + track.name, query.track));
  }
  for (const std::string& name : trace.names) names.push_back(Contains(name, query.name));

  QueryResult result;
  for (const Record& record : trace.records) {
    if (!tracks[record.track] || !names[record.name]) continue;
    if ((record.category & query.categories) == 0) continue;
    if (record.end_ps < query.from_ps || record.start_ps > query.to_ps) continue;
    if (query.flow != 0 && record.flow != query.flow) continue;
    result.records.push_back(&record);
  }
  std::stable_sort(result.records.begin(), result.records.end(),
                   [order = query.order](const Record* a, const Record* b) {
                     if (order == Order::kTime && LengthOf(a) != LengthOf(b))
                       return LengthOf(a) > LengthOf(b);
                     if (order == Order::kBytes && a->bytes != b->bytes) return a->bytes > b->bytes;
                     return a->start_ps < b->start_ps;
                   });
  result.matches = result.records.size();
  if (result.matches > query.limit) result.records.resize(static_cast<size_t>(query.limit));
  return result;
}

std::string ToText(const Trace& trace, const QueryResult& result, const QueryTimes& times) {
  const std::string unit = UnitName(times.unit);
  Table table(
      {"track", "name", "category", "start " + unit, "time " + unit, "bytes", "flow", "detail"}, 3);
  for (const Record* record : result.records) {
    table.Add({TrackName(trace, *record), trace.names[record->name],
               CategoryName(static_cast<Category>(record->category)),
               TimeIn(times.unit, record->start_ps, times.zero_ps),
               TimeIn(times.unit, LengthOf(record), 0), fmt::to_string(record->bytes),
               fmt::to_string(record->flow), fmt::to_string(record->detail)});
  }
  std::string out = table.empty() ? "" : table.ToString("");
  if (trace.dropped > 0) {
    out += fmt::format(
        "The oldest {} records of the run were dropped. None that ends after {} is missing.\n",
        trace.dropped, FormatTime(trace.whole_from_ps));
  }
  if (trace.is_interrupted) out += kInterrupted;
  if (result.records.size() == result.matches) {
    return out + fmt::format("{} records\n", result.matches);
  }
  return out + fmt::format("{} of {} records (--limit N shows more)\n", result.records.size(),
                           result.matches);
}

nlohmann::json ToJson(const Trace& trace, const QueryResult& result) {
  auto records = nlohmann::json::array();
  for (const Record* record : result.records) {
    records.push_back({{"process", trace.tracks[record->track].process},
                       {"track", trace.tracks[record->track].name},
                       {"name", trace.names[record->name]},
                       {"category", CategoryName(static_cast<Category>(record->category))},
                       {"start_ps", record->start_ps},
                       {"end_ps", record->end_ps},
                       {"bytes", record->bytes},
                       {"flow", record->flow},
                       {"detail", record->detail}});
  }
  return {{"matches", result.matches},
          {"dropped", trace.dropped},
          {"interrupted", trace.is_interrupted},
          {"records", records}};
}

}  // namespace spyre::trace
