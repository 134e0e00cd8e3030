// SPDX-License-Identifier: Apache-2.0
#include "traces/cli.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "traces/critical_path.h"
#include "traces/diff.h"
#include "traces/perfetto.h"
#include "traces/query.h"
#include "traces/report.h"
#include "traces/summary.h"
#include "traces/text.h"
#include "traces/text_export.h"
#include "traces/trace_file.h"

namespace spyre::trace {
namespace {

constexpr double kMaxNs = 1.8e16;  // of a 64-bit number of ps

enum class Format { kPerfetto, kChrome, kCsv };

struct Arguments {
  std::string file, file_b, output, kernel;
  Format format = Format::kPerfetto;
  size_t segments = 8;
  bool json = false, per_core = false, exit_code = false;
  double from_ns = 0, to_ns = kMaxNs;
  SummaryOptions summary;
  Query query;
};

void WriteFile(const std::string& path, std::ostream& out,
               const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    write(out);
    return;
  }
  OutputFile file(path, "result");
  write(file.stream());
  file.Commit();
  out << path << '\n';
}

std::string OutputPath(const Arguments& args, const char* extension) {
  std::string path = args.output.empty()
                         ? std::filesystem::path(args.file).replace_extension(extension).string()
                         : args.output;
  if (path != "-") RefuseToOverwrite(path, {args.file});
  return path;
}

int RunSummary(const Arguments& args, std::ostream& out) {
  const Trace trace = ReadTrace(args.file);
  const std::optional<KernelRun> kernel = FindKernel(trace, args.kernel);
  std::optional<CriticalPath> path;
  if (kernel) path = FollowCriticalPath(trace, *kernel);
  const Summary summary = Summarize(trace);
  if (args.json) {
    nlohmann::json json = ToJson(summary);
    json["critical_path"] = path ? ToJson(*path, args.segments) : nlohmann::json(nullptr);
    out << json.dump(2) << '\n';
  } else {
    out << ToText(summary, args.summary);
    if (path) out << ToText(*path, args.segments);
  }
  return 0;
}

int RunQuery(const Arguments& args, std::ostream& out) {
  if (!(args.from_ns <= args.to_ns)) {
    throw Error(fmt::format("--from {} is not before --to {}", args.from_ns, args.to_ns));
  }
  Query query = args.query;
  query.from_ps = static_cast<uint64_t>(args.from_ns * 1e3);
  query.to_ps = static_cast<uint64_t>(args.to_ns * 1e3);
  const Trace trace = ReadTrace(args.file);
  const QueryResult result = Select(trace, query);
  if (args.json) {
    out << ToJson(trace, result).dump(2) << '\n';
  } else {
    out << ToText(trace, result);
  }
  return 0;
}

int RunDiff(const Arguments& args, std::ostream& out) {
  const Diff diff = Compare(ReadTrace(args.file), ReadTrace(args.file_b));
  if (args.json) {
    out << ToJson(diff).dump(2) << '\n';
  } else {
    out << ToText(diff, args.per_core);
  }
  return args.exit_code && !diff.is_identical ? 1 : 0;
}

int RunExport(const Arguments& args, std::ostream& out) {
  const Trace trace = ReadTrace(args.file);
  switch (args.format) {
    case Format::kPerfetto:
      WriteFile(OutputPath(args, ".pftrace"), out,
                [&](std::ostream& file) { ExportPerfetto(trace, file); });
      break;
    case Format::kChrome:
      WriteFile(OutputPath(args, ".chrome.json"), out,
                [&](std::ostream& file) { ExportChrome(trace, file); });
      break;
    case Format::kCsv:
      WriteFile(OutputPath(args, ".csv"), out, [&](std::ostream& file) { ExportCsv(trace, file); });
      break;
  }
  return 0;
}

int RunReport(const Arguments& args, std::ostream& out) {
  const std::string path = OutputPath(args, ".html");
  if (!args.file_b.empty() && path != "-") RefuseToOverwrite(path, {args.file_b});
  const Trace trace = ReadTrace(args.file);
  std::optional<Trace> other;
  std::vector<ReportRun> runs = {{trace, args.file, ReportBeside(args.file, trace)}};
  if (!args.file_b.empty()) {
    other = ReadTrace(args.file_b);
    runs.push_back({*other, args.file_b, ReportBeside(args.file_b, *other)});
  }
  WriteFile(path, out, [&](std::ostream& file) { WriteReport(runs, file); });
  return 0;
}

}  // namespace

void AddTraceCommands(command_line::Command& trace, std::ostream& out) {
  using command_line::Command;
  using command_line::Option;
  using command_line::Words;
  const auto a = std::make_shared<Arguments>();  // lives as long as the actions
  const auto add = [&](const char* name, const char* what,
                       int (*run)(const Arguments&, std::ostream&)) -> Command& {
    Command& command = trace.AddCommand(name, what);
    command.Add("FILE", a->file, "the trace file").Required().Completes(Words::kFiles);
    command.Action([a, run, &out] { return run(*a, out); });
    return command;
  };
  const auto add_json = [&](Command& command) {
    command.Add("--json", a->json, "machine-readable output");
  };
  const auto add_output = [&](Command& command, const char* what) {
    command.Add("-o,--output", a->output, what).Placeholder("FILE").Completes(Words::kFiles);
  };

  Command& report =
      add("report", "Write one HTML page: timeline, plots and tables of one run or two", RunReport);
  report
      .Add("FILE_B", a->file_b,
           "the trace of a second run, shown beside the first: what changed, and one time axis")
      .Completes(Words::kFiles);
  add_output(report, "output file, - for standard output; default: FILE with .html");

  Command& summary =
      add("summary", "Print kernels, streams, units, and what a kernel waited for", RunSummary);
  add_json(summary);
  summary.Add("--per-core", a->summary.per_core, "a row for every unit, not only every group");
  summary.Add("--operations", a->summary.stream_operations, "rows shown per stream").ShowDefault();
  summary
      .Add("--kernel", a->kernel,
           "the kernel whose critical path is shown: its number in order of start, from 0, or its "
           "name; default: the longest")
      .Placeholder("KERNEL");
  summary.Add("--segments", a->segments, "single segments of the path shown").ShowDefault();

  Command& query = add("query", "Print the records that match", RunQuery);
  add_json(query);
  query.Add("--track", a->query.track, "part of process/track, as in \"core 03/pt\"");
  query.Add("--name", a->query.name, "part of the record's name");
  query.Add("--flow", a->query.flow, "correlation id of a control block");
  query.Add("--from", a->from_ns, "records that end at or after this time in ns", 0, kMaxNs)
      .Placeholder("NS");
  query.Add("--to", a->to_ns, "records that start at or before this time in ns", 0, kMaxNs)
      .Placeholder("NS");
  query.Add("--limit", a->query.limit, "records shown").ShowDefault();

  Command& diff = add("diff", "Compare two runs: what takes longer, what moves more", RunDiff);
  diff.Add("FILE_B", a->file_b, "the trace to compare with").Required().Completes(Words::kFiles);
  add_json(diff);
  diff.Add("--per-core", a->per_core, "every unit, not only every group");
  diff.Add("--exit-code", a->exit_code, "exit with 1 when the runs differ");

  Command& export_command =
      add("export", "Write the trace for viewers and spreadsheets", RunExport);
  export_command
      .Add("--format", a->format, "for ui.perfetto.dev, chrome://tracing, or a spreadsheet",
           {{"perfetto", Format::kPerfetto}, {"chrome", Format::kChrome}, {"csv", Format::kCsv}})
      .ShowDefault();
  add_output(export_command,
             "output file, - for standard output; default: FILE with the format's extension");
}

}  // namespace spyre::trace
