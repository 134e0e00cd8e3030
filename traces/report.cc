// SPDX-License-Identifier: Apache-2.0
#include "traces/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "traces/critical_path.h"
#include "traces/deflate.h"
#include "traces/report_levels.h"
#include "traces/report_slices.h"
#include "traces/run_results.h"
#include "traces/summary.h"
#include "traces/window.h"

namespace spyre::trace {
namespace {

using Json = nlohmann::json;

constexpr size_t kPaths = 24;                 // of the longest kernels
constexpr size_t kPathRecords = 100'000'000;  // looked at for them: following one reads all
constexpr size_t kPathSegments = 20'000;      // drawn of one path
constexpr size_t kKernelsListed = 20'000;
constexpr uint64_t kMaxReportBytes = 256 << 20;  // that of a bundle of thousands of steps
// Fields of report.json that the script of the page shows; the rest of it is large, or in the
// trace.
constexpr const char* kReportFields[] = {"workload", "window_ns", "launch_ns",  "verified",
                                         "division", "roofline",  "lost_time",  "balance",
                                         "overlap",  "host",      "decisions",  "device_memory",
                                         "memory",   "kernels",   "corrections"};

// What the page's time counts from, and what it opens on: the launches, or the whole run if there
// are none.
Interval WindowOfPage(const Trace& trace, const Summary& summary) {
  const Interval launches = LaunchWindow(trace);
  return launches.end_ps > launches.start_ps ? launches
                                             : Interval{summary.begin_ps, summary.end_ps};
}

Json TracksJson(const Trace& trace, const PageSlices& slices) {
  auto tracks = Json::array();
  for (const PageTrack& track : slices.tracks) {
    tracks.push_back({{"process", trace.tracks[track.id].process},
                      {"name", trace.tracks[track.id].name},
                      {"lanes", track.lanes},
                      {"slices", track.slices}});
  }
  return tracks;
}

Json KernelsJson(const std::vector<KernelRun>& kernels, const RunResults& results) {
  const auto of = [](const auto& map, uint64_t flow, auto none) {
    const auto found = map.find(flow);
    return found == map.end() ? none : found->second;
  };
  auto list = Json::array();
  for (const KernelRun& kernel : kernels) {
    if (list.size() == kKernelsListed) break;
    list.push_back({{"number", kernel.number},
                    {"name", kernel.name},
                    {"flow", kernel.flow},
                    {"start_ps", kernel.start_ps},
                    {"end_ps", kernel.end_ps},
                    {"label", of(results.labels, kernel.flow, std::string())},
                    {"program", of(results.programs, kernel.flow, std::string())},
                    {"macs", of(results.macs, kernel.flow, uint64_t{0})}});
  }
  return list;
}

// Segments are flat, five numbers each: kind and unit (indices, unit -1 for none), name (of the
// trace, -1 for none), start, length.
Json PathJson(const CriticalPath& path, const std::map<std::string, size_t>& track_of,
              const std::map<std::string, size_t>& name_of) {
  std::vector<std::string> kinds;
  auto segments = Json::array();
  const auto index = [](const auto& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? int64_t{-1} : static_cast<int64_t>(found->second);
  };
  for (const PathSegment& segment : path.segments) {
    if (segments.size() >= kPathSegments * 5) break;
    auto kind = std::find(kinds.begin(), kinds.end(), segment.kind);
    if (kind == kinds.end()) kind = kinds.insert(kind, segment.kind);
    segments.insert(segments.end(),
                    {kind - kinds.begin(), index(track_of, segment.unit),
                     index(name_of, segment.name), segment.start_ps, segment.length_ps()});
  }
  auto shares = Json::array();
  for (const PathShare& share : path.shares) {
    const auto busy = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json();
    };
    shares.push_back({{"kind", share.kind},
                      {"segments", share.segments},
                      {"time_ps", share.time_ps},
                      {"memory_busy", busy(share.memory_busy)},
                      {"pt_busy", busy(share.pt_busy)}});
  }
  return {{"kernel", path.kernel.number},
          {"kinds", kinds},
          {"segments", segments},
          {"all_segments", path.segments.size()},
          {"recorded_from_ps", path.recorded_from_ps},
          {"shares", shares}};
}

Json PathsJson(const Trace& trace, const PageSlices& slices, std::vector<KernelRun> kernels) {
  std::map<std::string, size_t> track_of, name_of;
  for (size_t i = 0; i < slices.tracks.size(); ++i) {
    const Track& track = trace.tracks[slices.tracks[i].id];
    track_of[track.process + "/" + track.name] = i;
  }
  for (size_t i = 0; i < trace.names.size(); ++i) name_of[trace.names[i]] = i;
  StableSort(kernels, [](const KernelRun& a, const KernelRun& b) {
    return a.end_ps - a.start_ps > b.end_ps - b.start_ps;
  });
  const size_t affordable = kPathRecords / std::max<size_t>(trace.records.size(), 1) + 1;
  kernels.resize(std::min({kernels.size(), kPaths, affordable}));
  StableSort(kernels, [](const KernelRun& a, const KernelRun& b) { return a.number < b.number; });
  auto paths = Json::array();
  for (const KernelRun& kernel : kernels) {
    paths.push_back(PathJson(FollowCriticalPath(trace, kernel), track_of, name_of));
  }
  return paths;
}

Json HeadJson(const ReportRun& run, const Summary& summary, const PageSlices& slices,
              const PageLevels& levels, const Interval& launch,
              const std::vector<KernelRun>& kernels, size_t blocks) {
  const Trace& trace = run.trace;
  Json figures = ToJson(summary);
  for (auto& stream : figures["streams"]) stream.erase("operations");  // they are slices
  auto kinds = Json::array();
  for (const auto& [name, category] : slices.kinds) {
    kinds.push_back({{"name", name}, {"category", CategoryName(static_cast<Category>(category))}});
  }
  Json report = Json::object();
  if (run.report.is_object()) {
    for (const char* field : kReportFields) {
      if (run.report.contains(field)) report[field] = run.report[field];
    }
    for (const char* list : {"kernels", "corrections"}) {
      if (!report.contains(list) || !report[list].is_array()) continue;
      for (auto& kernel : report[list]) kernel.erase("step_executions");
    }
  }
  return {
      {"title", Printable(run.title)},
      {"begin_ps", summary.begin_ps},
      {"end_ps", summary.end_ps},
      {"launch", {launch.start_ps, launch.end_ps}},
      {"names", trace.names},
      {"kinds", kinds},
      {"tracks", TracksJson(trace, slices)},
      {"blocks", blocks},
      {"block_slices", kPageBlockSlices},
      {"slices", slices.records.size()},
      {"merged_below_ps", slices.merged_below_ps},
      {"levels",
       {{"bins", kLevelBins},
        {"from_ps", levels.from_ps},
        {"to_ps", levels.to_ps},
        {"tracks", levels.tracks}}},
      {"kernels", KernelsJson(kernels, summary.results)},
      {"all_kernels", kernels.size()},
      {"lx", {{"core_bytes", summary.results.lx_bytes}, {"programs", ToJson(summary.results.lx)}}},
      {"paths", PathsJson(trace, slices, kernels)},
      {"summary", figures},
      {"report", run.report.is_object() ? report : Json(nullptr)}};
}

std::string ForHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void WriteElement(std::ostream& out, const std::string& id, std::string_view bytes) {
  out << "<script type=\"text/plain\" id=\"" << id << "\">" << Base64(Deflate(bytes))
      << "</script>\n";
}

void WriteRun(const ReportRun& run, size_t number, size_t max_slices, std::ostream& out) {
  const Summary summary = Summarize(run.trace);
  const std::vector<KernelRun> kernels = Kernels(run.trace);
  const Interval launch = WindowOfPage(run.trace, summary);
  const PageSlices slices = SlicesForPage(run.trace, summary.begin_ps, max_slices);
  const PageLevels levels = MakeLevels(slices, launch.start_ps, launch.end_ps);
  const std::vector<std::string> blocks = EncodeSlices(run.trace, slices);
  const std::string prefix = fmt::format("run-{}-", number);
  WriteElement(out, prefix + "head",
               DumpJson(HeadJson(run, summary, slices, levels, launch, kernels, blocks.size())));
  WriteElement(out, prefix + "levels", levels.bytes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    WriteElement(out, fmt::format("{}slices-{}", prefix, i), blocks[i]);
  }
}

// What `run` has printed, by report.json: the page says it before anything else, and without a
// script.
std::string VerdictHtml(const ReportRun& run, bool named) {
  std::string rows;
  const auto row = [&rows](const std::string& label, const std::string& text,
                           std::string_view style = "") {
    if (!text.empty())
      rows += fmt::format("<dt{0}>{1}</dt><dd{0}>{2}</dd>", style, label, ForHtml(text));
  };
  if (named) row("run", Printable(run.title));
  const Json verdict = run.report.is_object() ? run.report.value("verdict", Json()) : Json();
  if (!verdict.is_object()) {
    return "<section class=\"verdict\" aria-label=\"Verdict\">Whether the results of this run are "
           "right is not known here: the report.json that it wrote does not lie beside its "
           "trace.</section>";
  }
  const auto text = [](const Json& object, const char* field) {
    const auto value = object.find(field);
    return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
  };
  const std::string status = text(verdict, "status");
  const bool good = status == "verified", bad = status == "wrong" || status == "fault";
  const auto is_status = [](const std::string& label) {
    return label == "verified" || label == "WRONG" || label == "FAULT" || label == "not verified" ||
           label == "problem";
  };
  const Json lines = verdict.value("lines", Json());
  if (lines.is_array()) {
    for (const Json& line : lines) {
      if (!line.is_object()) continue;
      const std::string label = text(line, "label");
      row(label, text(line, "text"), is_status(label) ? " class=\"status\"" : "");
    }
  } else {  // of a version that did not write the lines
    row("ran", text(verdict, "ran"));
    row(status, text(verdict, "checked"), " class=\"status\"");
    for (const char* field : {"time", "trust", "bound"}) row(field, text(verdict, field));
  }
  return fmt::format("<section class=\"verdict{}\" aria-label=\"Verdict\"><dl>{}</dl></section>",
                     good  ? " good"
                     : bad ? " bad"
                           : "",
                     rows);
}

}  // namespace

Json ReportBeside(const std::string& trace_path, const Trace& trace) {
  const auto path = std::filesystem::path(trace_path).replace_filename("report.json");
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return nullptr;
  Json report;
  try {
    report = SortedJsonIfAny(ReadFile(path.string(), "report", kMaxReportBytes));
  } catch (const spyre::Error&) {
    return nullptr;  // the page is of the trace: it does without
  }
  if (!report.is_object() || !report.contains("trace") || !report["trace"].is_object())
    return nullptr;
  return report["trace"].value("digest", Json()) == fmt::format("{:016x}", trace.digest)
             ? report
             : Json(nullptr);
}

void WriteReport(const std::vector<ReportRun>& runs, std::ostream& out, size_t max_slices) {
  std::string_view page = kReportPage;
  const auto write_until = [&](std::string_view mark) {
    const size_t at = page.find(mark);
    out << page.substr(0, at);
    page.remove_prefix(at + mark.size());
  };
  std::string title;
  for (const ReportRun& run : runs) {
    title += fmt::format("{}{}", title.empty() ? "" : " and ", Printable(run.title));
  }
  write_until("%TITLE%");
  out << ForHtml(title);
  write_until("%VERDICT%");
  for (const ReportRun& run : runs) out << VerdictHtml(run, runs.size() > 1);
  write_until("%DATA%");
  for (size_t i = 0; i < runs.size(); ++i) WriteRun(runs[i], i, max_slices, out);
  out << page;
}

}  // namespace spyre::trace
