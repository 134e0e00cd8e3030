// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/ranges.h"
#include "traces/critical_path.h"
#include "traces/run_results.h"
#include "traces/summary.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

double PathNs(uint64_t ps) { return static_cast<double>(ps) / 1e3; }

double ShareOf(uint64_t time_ps, const CriticalPath& path) {
  return Ratio(static_cast<double>(time_ps),
               static_cast<double>(path.kernel.end_ps - path.kernel.start_ps));
}

std::vector<const PathSegment*> Longest(const CriticalPath& path, size_t count) {
  std::vector<const PathSegment*> segments;
  segments.reserve(path.segments.size());
  for (const PathSegment& segment : path.segments) segments.push_back(&segment);
  StableSort(segments, [](const PathSegment* a, const PathSegment* b) {
    return a->length_ps() > b->length_ps();
  });
  if (segments.size() > count) segments.resize(count);
  return segments;
}

std::string Busy(const std::optional<double>& share) {
  return share ? FormatPercent(*share) : std::string("-");
}

nlohmann::json BusyJson(const std::optional<double>& share) {
  return share ? nlohmann::json(*share) : nlohmann::json(nullptr);
}

}  // namespace

std::string ToText(const CriticalPath& path, size_t longest) {
  const uint64_t total = path.kernel.end_ps - path.kernel.start_ps;
  std::string out =
      fmt::format("\nCritical path of kernel {}, {}: {} from {}\n", path.kernel.number,
                  Printable(path.kernel.name), FormatTime(total), FormatTime(path.kernel.start_ps));
  Table shares({"depends on", "time", "share", "segments", "memory busy", "pt busy"});
  for (const PathShare& share : path.shares) {
    shares.Add({share.kind, FormatTime(share.time_ps), FormatPercent(ShareOf(share.time_ps, path)),
                fmt::to_string(share.segments), Busy(share.memory_busy), Busy(share.pt_busy)});
  }
  if (!shares.empty()) out += shares.ToString();
  if (path.recorded_from_ps > 0) {
    out += fmt::format(
        "  Records from before {} were dropped: what the kernel depended on is known from then "
        "on.\n",
        FormatTime(path.recorded_from_ps));
  }
  const bool has_units =
      AnyFits(path.segments, [](const PathSegment& s) { return !s.unit.empty(); });
  if (!has_units && path.recorded_from_ps > 0) return out;
  if (!has_units) {
    return out +
           "  No unit's slices are recorded: trace.categories = [\"core\", \"control\"] does.\n";
  }
  if (path.causes) {
    const Bound bound = BoundOf(*path.causes);
    out += fmt::format("  Bound by {}: {} of the path was spent on it or waiting for it\n",
                       ResourceText(bound.resource), FormatPercent(bound.share()));
    out += CausesText(*path.causes, "    ");
  }
  out += "  Longest segments\n";
  Table table({"unit", "depends on", "instruction", "since start", "time", "share"}, 3);
  for (const PathSegment* segment : Longest(path, longest)) {
    table.Add({segment->unit.empty() ? "-" : segment->unit, segment->kind,
               segment->name.empty() ? "-" : segment->name,
               FormatTime(segment->start_ps - path.kernel.start_ps),
               FormatTime(segment->length_ps()),
               FormatPercent(ShareOf(segment->length_ps(), path))});
  }
  return out + table.ToString("    ");
}

nlohmann::json ToJson(const CriticalPath& path, size_t longest) {
  nlohmann::json out = {{"kernel", path.kernel.number},
                        {"name", path.kernel.name},
                        {"flow", path.kernel.flow},
                        {"start_ns", PathNs(path.kernel.start_ps)},
                        {"device_ns", PathNs(path.kernel.end_ps - path.kernel.start_ps)},
                        {"segments", path.segments.size()},
                        {"recorded_from_ns", PathNs(path.recorded_from_ps)},
                        {"shares", nlohmann::json::array()},
                        {"longest", nlohmann::json::array()}};
  if (path.causes) out["bounds"] = ToJson(*path.causes);
  for (const PathShare& share : path.shares) {
    out["shares"].push_back({{"kind", share.kind},
                             {"time_ns", PathNs(share.time_ps)},
                             {"share", ShareOf(share.time_ps, path)},
                             {"segments", share.segments},
                             {"memory_busy", BusyJson(share.memory_busy)},
                             {"pt_busy", BusyJson(share.pt_busy)}});
  }
  for (const PathSegment* segment : Longest(path, longest)) {
    out["longest"].push_back({{"unit", segment->unit},
                              {"kind", segment->kind},
                              {"name", segment->name},
                              {"start_ns", PathNs(segment->start_ps)},
                              {"time_ns", PathNs(segment->length_ps())},
                              {"share", ShareOf(segment->length_ps(), path)}});
  }
  return out;
}

}  // namespace spyre::trace
