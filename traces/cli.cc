// SPDX-License-Identifier: Apache-2.0
#include "traces/cli.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "traces/critical_path.h"
#include "traces/diff.h"
#include "traces/diff_explain.h"
#include "traces/lx_occupancy.h"
#include "traces/query.h"
#include "traces/report.h"
#include "traces/result_file.h"
#include "traces/summary.h"
#include "traces/text.h"
#include "traces/trace_file.h"
#include "traces/window.h"

namespace spyre::trace {
namespace {

constexpr double kMaxNs = 1.8e16;  // of a 64-bit number of ps

struct Arguments {
  std::string file, file_b, output, kernel;
  size_t segments = 8, rows = 20;
  bool json = false, per_core = false, exit_code = false, since_launch = false;
  uint64_t top = 0;
  TimeUnit unit = TimeUnit::kNs;
  std::vector<std::string> categories;
  double from_ns = 0, to_ns = kMaxNs, tolerance_percent = 0;
  SummaryOptions summary;
  Query query;
};

// The window of --from and --to, in ps of the trace's own time.
struct Window {
  uint64_t from_ps, to_ps;
};

// Times of the command line count from the launches with --since-launch.
uint64_t ZeroPs(const Arguments& args, const Trace& trace) {
  return args.since_launch ? LaunchBeginPs(trace) : 0;
}

Window WindowOf(const Arguments& args, const Trace& trace) {
  if (!(args.from_ns <= args.to_ns)) {
    throw Error(fmt::format("--from {} is not before --to {}", args.from_ns, args.to_ns));
  }
  const uint64_t zero_ps = ZeroPs(args, trace);
  const auto ps = [zero_ps](double ns) {
    const auto at = static_cast<uint64_t>(ns * 1e3);
    return at > UINT64_MAX - zero_ps ? UINT64_MAX : at + zero_ps;
  };
  return {ps(args.from_ns), ps(args.to_ns)};
}

int RunSummary(const Arguments& args, std::ostream& out) {
  Trace trace = ReadTrace(args.file);
  if (args.from_ns > 0 || args.to_ns < kMaxNs) {
    const Window window = WindowOf(args, trace);
    trace = CutTo(std::move(trace), window.from_ps, window.to_ps);
  }
  const std::optional<KernelRun> kernel = FindKernel(trace, args.kernel);
  std::optional<CriticalPath> path;
  if (kernel) path = FollowCriticalPath(trace, *kernel);
  const Summary summary = Summarize(trace);
  if (args.json) {
    nlohmann::json json = ToJson(summary);
    json["critical_path"] = path ? ToJson(*path, args.segments) : nlohmann::json(nullptr);
    out << DumpJson(json, 2) << '\n';
  } else {
    out << ToText(summary, args.summary);
    if (path) out << ToText(*path, args.segments);
  }
  return 0;
}

int RunQuery(const Arguments& args, std::ostream& out) {
  Query query = args.query;
  const Trace trace = ReadTrace(args.file);
  const Window window = WindowOf(args, trace);
  query.from_ps = window.from_ps;
  query.to_ps = window.to_ps;
  if (!args.categories.empty()) {
    try {
      query.categories = CategoryMask(args.categories);
    } catch (const std::invalid_argument& error) {
      throw Error(fmt::format("--category: {}", error.what()));
    }
  }
  if (args.top > 0) {
    query.order = Order::kTime;
    query.limit = args.top;
  }
  const QueryResult result = Select(trace, query);
  if (args.json) {
    out << DumpJson(ToJson(trace, result), 2) << '\n';
  } else {
    out << ToText(trace, result, {args.unit, ZeroPs(args, trace)});
  }
  return 0;
}

int RunDiff(const Arguments& args, std::ostream& out) {
  const Trace a = ReadTrace(args.file), b = ReadTrace(args.file_b);
  const Diff diff = Compare(a, b);
  const Explanation explanation = Explain(a, b);
  const double tolerance = args.tolerance_percent / 100;
  if (args.json) {
    nlohmann::json json = ToJson(diff);
    json["explanation"] = ToJson(explanation);
    out << DumpJson(json, 2) << '\n';
  } else {
    out << ToText(diff, args.per_core);
    if (!diff.is_identical) out << ToText(explanation, tolerance);
  }
  if (!args.exit_code || diff.is_identical) return 0;
  return args.tolerance_percent == 0 || DiffersBy(explanation, tolerance) ? 1 : 0;
}

int RunLx(const Arguments& args, std::ostream& out) {
  const Trace trace = ReadTrace(args.file);
  const LxOccupancy occupancy = LxOverTime(trace);
  if (args.json) {
    out << DumpJson(ToJson(occupancy), 2) << '\n';
  } else {
    out << ToText(occupancy, LaunchBeginPs(trace), args.rows);
  }
  return 0;
}

int RunReport(const Arguments& args, std::ostream& out) {
  // The page of two runs is not that of the first.
  const std::string path =
      ResultPath(args.output, args.file, args.file_b.empty() ? ".html" : ".compared.html");
  const Trace trace = ReadTrace(args.file);
  std::optional<Trace> other;
  std::vector<ReportRun> runs = {{trace, args.file, ReportBeside(args.file, trace)}};
  if (!args.file_b.empty()) {
    other = ReadTrace(args.file_b);
    runs.push_back({*other, args.file_b, ReportBeside(args.file_b, *other)});
  }
  WriteResult(path, out, [&](std::ostream& file) { WriteReport(runs, file); });
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

  const auto add_window = [&](Command& command, const char* from, const char* to) {
    command.Add("--from", a->from_ns, from, 0, kMaxNs).Placeholder("NS");
    command.Add("--to", a->to_ns, to, 0, kMaxNs).Placeholder("NS");
    command.Add("--since-launch", a->since_launch,
                "times count from when the first operation of the launches was queued");
  };

  Command& report =
      add("report", "Write one HTML page: timeline, plots and tables of one run or two", RunReport);
  report
      .Add("FILE_B", a->file_b,
           "the trace of a second run, shown beside the first: what changed, and one time axis")
      .Completes(Words::kFiles);
  add_output(report,
             "output file, - for standard output; default: FILE with .html, of two runs with "
             ".compared.html");

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
  add_window(summary, "figures of the time from here on, in ns", "and up to here, in ns");
  summary.Add("--segments", a->segments, "single segments of the path shown").ShowDefault();

  Command& query = add("query", "Print the records that match", RunQuery);
  add_json(query);
  query.Add("--track", a->query.track, "part of process/track, as in \"core 03/pt\"");
  query.Add("--name", a->query.name, "part of the record's name");
  query.Add("--flow", a->query.flow, "correlation id of a control block");
  add_window(query, "records that end at or after this time in ns",
             "records that start at or before this time in ns");
  query.Add("--category", a->categories, "host, control, core, wait, memory, ring, ...")
      .Placeholder("NAME");
  query
      .Add("--unit", a->unit, "of the times shown",
           {{"ps", TimeUnit::kPs},
            {"ns", TimeUnit::kNs},
            {"us", TimeUnit::kUs},
            {"ms", TimeUnit::kMs}})
      .ShowDefault();
  query
      .Add("--sort", a->query.order, "by start, or the longest or the largest first",
           {{"start", Order::kStart}, {"time", Order::kTime}, {"bytes", Order::kBytes}})
      .ShowDefault();
  query.Add("--top", a->top, "the N longest").Placeholder("N");
  query.Add("--limit", a->query.limit, "records shown").ShowDefault();

  Command& lx = add("lx", "Print what the scratchpads of the cores (LX) held, over time", RunLx);
  add_json(lx);
  lx.Add("--rows", a->rows, "times shown, and buffers of each program").ShowDefault();

  Command& diff = add("diff", "Compare two runs: what takes longer, what moves more", RunDiff);
  diff.Add("FILE_B", a->file_b, "the trace to compare with").Required().Completes(Words::kFiles);
  add_json(diff);
  diff.Add("--per-core", a->per_core, "every unit, not only every group");
  diff.Add("--exit-code", a->exit_code, "exit with 1 when the runs differ");
  diff.Add("--tolerance", a->tolerance_percent,
           "with --exit-code: the launches may take so much longer or shorter; kernels that differ "
           "by less are not shown",
           0, 1e6)
      .Placeholder("PERCENT");
}

}  // namespace spyre::trace
