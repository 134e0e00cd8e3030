// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "cosim/cli/common_options.h"
#include "cosim/cli/modules.h"
#include "cosim/cli/progress_bar.h"
#include "cosim/cli/run_cases.h"
#include "cosim/cli/simulated_steps.h"
#include "cosim/cli/warnings.h"
#include "cosim/gdb/gdb_server.h"
#include "cosim/report/report.h"
#include "cosim/report/report_faults.h"
#include "cosim/verdict/judged_run.h"
#include "cosim/workload/op_list_workload.h"
#include "runtime/compiler/passes/passes.h"

namespace spyre::cosim {
namespace {

// "name=value" of --dim.
void AddDimension(const std::string& text, NumberTable& dims) {
  const size_t equals = text.find('=');
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (equals == 0 || error != std::errc() || stop != end || value == 0) {
    throw BadInput("--dim {}: must be NAME=NUMBER, for example --dim rows=64", text);
  }
  dims[text.substr(0, equals)] = value;
}

// The last part of a path, also of one that ends in a slash.
std::string NameOf(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path + "/.").lexically_normal();
  return normal.parent_path().stem().string();
}

void AddCases(command_line::Command& command, RunArguments& args) {
  command
      .Add("--cases", args.cases,
           "JSON lines, each a run in a process of its own (docs/plans.md): prints one line of "
           "JSON for each; CONFIG is then what all of them have in common, and may be left out")
      .Placeholder("FILE")
      .Completes(command_line::Words::kFiles)
      .Group("Of many cases");
  command.Add("--jobs", args.jobs, "processes at a time; 0: one for each processor", 0, 1024)
      .Placeholder("N")
      .Group("Of many cases");
}

int RunCasesCommand(const RunArguments& args) {
  if (args.json || args.modules || !args.record.empty() || args.gdb_port ||
      !args.transport.empty() || !args.monitor.table.empty() || !args.monitor.metrics.empty()) {
    throw BadInput(
        "run --cases: --json, --modules, --record, --smi, --metrics, --transport and --gdb are for "
        "one run");
  }
  CatchInterrupts(0);  // the limit is of each case
  return RunCases(args, RunSessionOf, std::cout, std::cerr);
}

}  // namespace

RunConfig ConfigOf(const std::string& path, const std::vector<std::string>& sets,
                   const BundleArguments& bundle) {
  const std::string extension = std::filesystem::path(path).extension().string();
  const bool is_bundle =
      std::filesystem::is_directory(path) || extension == ".py" || extension == ".txt";
  // A launch that `exec` has kept says on which card, and where its arguments were.
  const std::string launch = path + "/launch.toml";
  const bool is_launch = is_bundle && std::filesystem::is_regular_file(launch);
  const bool is_list = extension == ".json" && !IsGraphBetweenPasses(path);
  RunConfig config = LoadConfig(is_launch                           ? launch
                                : is_bundle || extension == ".json" ? ""
                                                                    : path,
                                sets);
  if (is_bundle || (extension == ".json" && !is_list)) config.workload.bundle = path;
  if (is_list) config.workload.graph = path;
  if (!bundle.kernel.empty()) config.workload.kernel = bundle.kernel;
  if (!bundle.shapes.empty()) config.workload.shapes = bundle.shapes;
  if (!bundle.args.empty()) config.workload.args = bundle.args;
  for (const std::string& text : bundle.dims) AddDimension(text, config.workload.dims);
  const bool given = !bundle.kernel.empty() || !bundle.shapes.empty() || !bundle.args.empty() ||
                     !bundle.dims.empty();
  if (given && config.workload.bundle.empty()) {
    throw BadInput(
        "{}: --kernel, --shape, --args and --dim are for bundles; this configuration runs '{}'",
        path, config.workload.op);
  }
  return config;
}

void AddRunCommand(command_line::Command& root, const Invocation& invocation) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("run", "Run a configuration or a bundle on the card");
  command.Footer(kExitText);
  const auto args = std::make_shared<RunArguments>();
  RunArguments& a = *args;
  command
      .Add("CONFIG", a.config,
           "TOML file (docs/configuration.md lists the keys), list of operations or graph of `opt` "
           "in JSON "
           "(docs/compiler.md), directory of an SDSC bundle or OpSpec source (docs/bundles.md)")
      .Completes(Words::kFiles);
  AddSets(command, a.sets);
  AddCases(command, a);
  command
      .Add("--gdb", a.gdb_port,
           "wait on this port of 127.0.0.1 for GDB, which debugs the firmware on the management "
           "controller (docs/debugging.md); 0: any free port",
           0, UINT16_MAX)
      .Placeholder("PORT");
  AddShapes(command, a.bundle);
  command.Add("--args", a.bundle.args, ".npy file of every input in order, \"\" or none: generated")
      .SplitAt(',')
      .Placeholder("FILE,...")
      .Completes(Words::kFiles)
      .Group("Of a bundle");
  command.Add("--dim", a.bundle.dims, "value of a symbolic dimension")
      .Placeholder("NAME=N")
      .Group("Of a bundle");
  command
      .Add("--out", a.out,
           "directory for report.json, the trace and tensors (out/ and the file's name)")
      .Placeholder("DIR")
      .Completes(Words::kDirectories)
      .Group("Output");
  command
      .Add("--record", a.record,
           "write what the host does to the card, for replay (docs/replay.md)")
      .Placeholder("FILE")
      .Completes(Words::kFiles)
      .Group("Output");
  AddMonitorOptions(command, a.monitor);
  command
      .Add("--transport", a.transport,
           "vfio-user:DIR: run on the card that `serve` serves there (docs/serve.md), without its "
           "trace and counters")
      .Placeholder("CARD");
  command_line::Option& json =
      command
          .Add("--json", a.json,
               "print report.json, nothing else, on standard output; of a bad input, error with "
               "type and kind")
          .Group("Output");
  command
      .Add("--details", a.details,
           "print more than the verdict: numbers, where the time went, kernels, units, files")
      .Excludes(json)
      .Group("Output");
  command
      .Add("--limit", a.limit, "seconds of wall time after which the run is ended; 0: none", 0,
           1'000'000'000)
      .Placeholder("SECONDS");
  command
      .Add("--estimate-next", a.estimate_next,
           "estimate what the verdict proposes next, instead of simulating it with a small run, "
           "which takes as long as the run again")
      .Group("Output");
  command.Add("--no-progress", a.no_progress, "no progress bar").Group("Output");
  command
      .Add("--modules", a.modules,
           "print the CMake targets that this run needs beside spyre-cosim, one a line, and run "
           "nothing")
      .Group("Output");
  command.Action([args, &invocation] {
    if (!args->cases.empty()) return RunCasesCommand(*args);
    if (args->config.empty()) throw BadInput("run: CONFIG is required, or --cases FILE");
    try {
      return static_cast<int>(RunCommand(*args, invocation));
    } catch (const Error& error) {  // who reads standard output reads this there as well
      if (args->json && error.kind() == ErrorKind::kBadInput)
        std::cout << compiler::ErrorLine(error) << std::flush;
      throw;
    }
  });
}

ExitStatus RunCommand(const RunArguments& args, const Invocation& invocation) {
  // With a debugger, signals have their usual effect.
  if (!args.gdb_port) CatchInterrupts(args.limit);
  RunConfig config = ConfigOf(args.config, args.sets, args.bundle);
  if (!args.transport.empty()) config.trace.enabled = false;  // the card's events are elsewhere
  if (args.modules) {
    for (const std::string& target : ModulesOf(config)) std::cout << target << "\n";
    return kDone;
  }
  std::string out = args.out;
  if (out.empty()) out = "out/" + NameOf(args.config);
  SimulatedSteps steps(args);
  std::unique_ptr<ProgressBar> bar;
  if (!args.json && !args.no_progress && isatty(STDERR_FILENO) != 0)
    bar = std::make_unique<ProgressBar>();
  std::unique_ptr<GdbServer> gdb;
  if (args.gdb_port) gdb = std::make_unique<GdbServer>(static_cast<uint16_t>(*args.gdb_port));
  std::optional<GrowingFile> table;
  const std::unique_ptr<PrintingMonitor> monitor = MakeMonitor(args.monitor, table);
  JudgedRun run = [&] {
    try {
      return RunAndJudge(config, out,
                         {bar.get(),
                          gdb.get(),
                          args.record,
                          args.transport,
                          {args.config},
                          PrintWarnings,
                          monitor.get()});
    } catch (const FaultedRun& fault) {
      bar.reset();
      if (args.json) std::cout << FaultedReportJson(fault) << std::flush;
      throw;
    }
  }();
  bar.reset();
  steps.AddTo(run.result);
  const std::string report = WriteReport(run);
  const TextStyle style = invocation.StyleOf(STDOUT_FILENO);
  std::cout << (args.json      ? report
                : args.details ? ReportSummary(run.result, invocation.program, run.other(), style,
                                               run.expectations)
                               : ReportVerdict(run.result, run.other(), style, run.expectations))
            << std::flush;
  const ExitStatus status = run.Status();
  if (gdb) gdb->SetExitStatus(status);
  return status;
}

}  // namespace spyre::cosim
