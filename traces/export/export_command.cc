// SPDX-License-Identifier: Apache-2.0
#include "traces/export/export_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "traces/export/aiu_export.h"
#include "traces/export/perfetto.h"
#include "traces/export/sqlite_export.h"
#include "traces/export/text_export.h"
#include "traces/result_file.h"
#include "traces/trace_file.h"
#include "traces/window.h"

namespace spyre::trace {
namespace {

constexpr double kLatestNs = 1.8e16;  // of a 64-bit number of ps

enum class Format { kPerfetto, kChrome, kCsv, kSqlite, kAiu };

struct ExportArguments {
  std::string file, output;
  Format format = Format::kPerfetto;
  double from_ns = 0, to_ns = kLatestNs;
  bool since_launch = false;
  AiuOptions aiu;
};

Trace ReadWindow(const ExportArguments& args) {
  Trace trace = ReadTrace(args.file);
  if (!(args.from_ns <= args.to_ns))
    throw Error(fmt::format("--from {} is not before --to {}", args.from_ns, args.to_ns));
  if (args.from_ns == 0 && args.to_ns == kLatestNs) return trace;
  const uint64_t zero_ps = args.since_launch ? LaunchBeginPs(trace) : 0;
  const auto ps = [zero_ps](double ns) {
    const auto at = static_cast<uint64_t>(ns * 1e3);
    return at > UINT64_MAX - zero_ps ? UINT64_MAX : at + zero_ps;
  };
  return Touching(std::move(trace), ps(args.from_ns), ps(args.to_ns));
}

int RunExport(const ExportArguments& args, std::ostream& out) {
  const Trace trace = ReadWindow(args);
  const auto write = [&](const char* extension, void (*format)(const Trace&, std::ostream&)) {
    WriteResult(ResultPath(args.output, args.file, extension), out,
                [&](std::ostream& file) { format(trace, file); });
  };
  switch (args.format) {
    case Format::kPerfetto:
      write(".pftrace", ExportPerfetto);
      break;
    case Format::kChrome:
      write(".chrome.json", ExportChrome);
      break;
    case Format::kCsv:
      write(".csv", ExportCsv);
      break;
    case Format::kAiu: {
      const std::string path = ResultPath(args.output, args.file, ".aiu.json");
      WriteResult(path, out, [&](std::ostream& file) { ExportAiu(trace, args.aiu, file); });
      if (path == "-") break;
      for (const std::string& written : WriteIdealCycles(trace, path)) out << written << '\n';
      break;
    }
    case Format::kSqlite: {
      const std::string path = ResultPath(args.output, args.file, ".sqlite");
      if (path == "-") throw Error("--format sqlite: a database needs a file; name it with -o");
      ExportSqlite(trace, path);
      out << path << '\n';
      break;
    }
  }
  return 0;
}

}  // namespace

void AddExportCommand(command_line::Command& trace, std::ostream& out) {
  using command_line::Words;
  const auto a = std::make_shared<ExportArguments>();  // lives as long as the action
  command_line::Command& command =
      trace.AddCommand("export", "Write the trace for viewers, databases and spreadsheets");
  command.Add("FILE", a->file, "the trace file").Required().Completes(Words::kFiles);
  command
      .Add("--format", a->format,
           "for ui.perfetto.dev, chrome://tracing, a spreadsheet, SQL, or the card's own tools",
           {{"perfetto", Format::kPerfetto},
            {"chrome", Format::kChrome},
            {"csv", Format::kCsv},
            {"sqlite", Format::kSqlite},
            {"aiu", Format::kAiu}})
      .ShowDefault();
  command
      .Add("-o,--output", a->output,
           "output file, - for standard output; default: FILE with the format's extension")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Add("--from", a->from_ns, "only what ends at or after this time in ns", 0, kLatestNs)
      .Placeholder("NS");
  command.Add("--to", a->to_ns, "only what starts at or before this time in ns", 0, kLatestNs)
      .Placeholder("NS");
  command.Add("--since-launch", a->since_launch,
              "times count from when the first operation of the launches was queued");
  command.Add("--rank", a->aiu.rank, "aiu: the rank of this card").ShowDefault();
  command.Add("--world-size", a->aiu.world_size, "aiu: of so many").ShowDefault();
  command.Action([a, &out] { return RunExport(*a, out); });
}

}  // namespace spyre::trace
