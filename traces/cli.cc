#include "traces/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

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

constexpr int kBadInputStatus = 2;
constexpr double kMaxNs = 1.8e16;  // of a 64-bit number of ps

struct Arguments {
  std::string file, file_b, format = "perfetto", output, kernel;
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
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file) write(file);
  file.close();
  if (!file) throw Error(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  out << path << '\n';
}

std::string OutputPath(const Arguments& args, const char* extension) {
  if (!args.output.empty()) return args.output;
  return std::filesystem::path(args.file).replace_extension(extension).string();
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

int RunQuery(Arguments args, std::ostream& out) {
  if (!(args.from_ns <= args.to_ns)) {
    throw Error(fmt::format("--from {} is not before --to {}", args.from_ns, args.to_ns));
  }
  args.query.from_ps = static_cast<uint64_t>(args.from_ns * 1e3);
  args.query.to_ps = static_cast<uint64_t>(args.to_ns * 1e3);
  const Trace trace = ReadTrace(args.file);
  const QueryResult result = Select(trace, args.query);
  if (args.json) {
    out << ToJson(trace, result).dump(2) << '\n';
  } else {
    out << ToText(trace, result);
  }
  return 0;
}

int RunDiff(const Arguments& args, std::ostream& out) {
  const Diff diff = Compare(Summarize(ReadTrace(args.file)), Summarize(ReadTrace(args.file_b)));
  if (args.json) {
    out << ToJson(diff).dump(2) << '\n';
  } else {
    out << ToText(diff, args.per_core);
  }
  return args.exit_code && !diff.is_identical ? 1 : 0;
}

int RunExport(const Arguments& args, std::ostream& out) {
  const Trace trace = ReadTrace(args.file);
  if (args.format == "perfetto") {
    WriteFile(OutputPath(args, ".pftrace"), out,
              [&](std::ostream& file) { ExportPerfetto(trace, file); });
  } else if (args.format == "chrome") {
    WriteFile(OutputPath(args, ".chrome.json"), out,
              [&](std::ostream& file) { ExportChrome(trace, file); });
  } else {
    WriteFile(OutputPath(args, ".csv"), out, [&](std::ostream& file) { ExportCsv(trace, file); });
  }
  return 0;
}

int RunReport(const Arguments& args, std::ostream& out) {
  const Trace trace = ReadTrace(args.file);
  WriteFile(OutputPath(args, ".html"), out,
            [&](std::ostream& file) { WriteReport(trace, args.file, file); });
  return 0;
}

}  // namespace

int RunTraceCommand(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  CLI::App app("Where the time of a run went. FILE is the trace that `spyre-cosim run` writes.",
               "spyre-cosim trace");
  app.require_subcommand(1);
  Arguments a;
  const auto add = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("FILE", a.file, "the trace file")->required();
    return command;
  };
  const auto add_json = [&](CLI::App* command) {
    command->add_flag("--json", a.json, "machine-readable output");
  };
  const auto add_output = [&](CLI::App* command, const char* what) {
    command->add_option("-o,--output", a.output, what);
  };

  auto* summary = add("summary", "Print kernels, streams, units, and what a kernel waited for");
  add_json(summary);
  summary->add_flag("--per-core", a.summary.per_core, "a row for every unit, not only every group");
  summary->add_option("--operations", a.summary.stream_operations, "rows shown per stream (16)");
  summary->add_option("--kernel", a.kernel,
                      "the kernel whose critical path is shown: its number in order of start, "
                      "from 0, or its name; default: the longest");
  summary->add_option("--segments", a.segments, "single segments of the path shown (8)");

  auto* query = add("query", "Print the records that match");
  add_json(query);
  query->add_option("--track", a.query.track, "part of process/track, as in \"core 03/pt\"");
  query->add_option("--name", a.query.name, "part of the record's name");
  query->add_option("--flow", a.query.flow, "correlation id of a control block");
  query->add_option("--from", a.from_ns, "records that end at or after this time in ns")
      ->check(CLI::Range(0.0, kMaxNs));
  query->add_option("--to", a.to_ns, "records that start at or before this time in ns")
      ->check(CLI::Range(0.0, kMaxNs));
  query->add_option("--limit", a.query.limit, "records shown (100)");

  auto* diff = add("diff", "Compare two runs: what takes longer, what moves more");
  diff->add_option("FILE_B", a.file_b, "the trace to compare with")->required();
  add_json(diff);
  diff->add_flag("--per-core", a.per_core, "every unit, not only every group");
  diff->add_flag("--exit-code", a.exit_code, "exit with 1 when the runs differ");

  auto* export_command = add("export", "Write the trace for viewers and spreadsheets");
  export_command->add_option("--format", a.format, "perfetto (default), chrome or csv")
      ->check(CLI::IsMember({"perfetto", "chrome", "csv"}));
  add_output(export_command,
             "output file, - for standard output; default: FILE with the format's "
             "extension");
  auto* report = add("report", "Write one HTML page: timeline and tables");
  add_output(report, "output file, - for standard output; default: FILE with .html");

  try {
    const auto is_command = [&](const std::string& word) {
      return !app.get_subcommands(
                     [&](const CLI::App* command) { return command->get_name() == word; })
                  .empty();
    };
    if (!args.empty() && args[0].substr(0, 1) != "-" && !is_command(args[0])) {
      throw Error(
          fmt::format("no command '{}'; there are summary, query, diff, export and report "
                      "(--help tells more)",
                      Printable(args[0])));
    }
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    if (summary->parsed()) return RunSummary(a, out);
    if (query->parsed()) return RunQuery(a, out);
    if (diff->parsed()) return RunDiff(a, out);
    if (export_command->parsed()) return RunExport(a, out);
    return RunReport(a, out);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help, out, err);
  } catch (const CLI::ParseError& error) {
    err << "spyre-cosim trace: " << error.what() << "\nSee `spyre-cosim trace --help`.\n";
  } catch (const Error& error) {
    err << "spyre-cosim trace: " << error.what() << '\n';
  }
  return kBadInputStatus;
}

}  // namespace spyre::trace
