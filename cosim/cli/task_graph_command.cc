// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/task_graph_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "cosim/cli/task_graph_interpreter.h"
#include "cosim/cli/task_graph_words.h"
#include "runtime/graph/task_graph.h"
#include "runtime/graph/task_trace.h"
#include "traces/recording/recorder.h"
#include "traces/trace_file.h"

namespace spyre::cosim {
namespace {

using runtime::TaskGraph;

constexpr const char* kTraceFile = ".sctrace";
constexpr uint64_t kPsPerCycle = 1000;

runtime::StartPolicy StartOf(const std::string& text) {
  if (text == "after_orchestration") return runtime::StartPolicy::AfterOrchestration();
  LineWords words(text);
  const int64_t tasks = words.Number("--start, unless it is after_orchestration,", 0, INT32_MAX);
  words.End();
  return runtime::StartPolicy::Threshold(tasks);
}

bool DispatchIsFixed(const std::string& name) {
  const std::vector<std::string> names = {"any", "round_robin"};
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw BadInput("'{}' is not a dispatch; there are: {}{}", name, Joined(names, ", "),
                   DidYouMean(name, names));
  }
  return name == names[1];
}

uint32_t BatchOf(const GraphCommandOptions& options) {
  const std::vector<std::string> names = {"immediate", "batched", "rate_limited"};
  if (std::find(names.begin(), names.end(), options.timing) == names.end()) {
    throw BadInput("'{}' is not a timing; there are: {}{}", options.timing, Joined(names, ", "),
                   DidYouMean(options.timing, names));
  }
  const bool takes_time = options.timing != names[0];
  if (takes_time != (options.issue_cycles > 0)) {
    throw BadInput("--timing {} with --issue-cycles {}: {}", options.timing, options.issue_cycles,
                   takes_time ? "say how long the host takes for a task"
                              : "they are for the timings batched and rate_limited");
  }
  if (options.timing != names[1] && options.batch != 1)
    throw BadInput("--batch {}: it is for --timing batched", options.batch);
  return options.batch;
}

// A process for each pool, a track for each worker, a nanosecond for each cycle.
trace::Trace TraceOf(const TaskGraph& graph, const runtime::Simulation& simulation) {
  std::vector<uint32_t> by_pool = simulation.workers.by_pool;
  if (by_pool.empty()) by_pool = {simulation.workers.total};
  trace::Recorder recorder(std::max<size_t>(simulation.trace.size(), 1));
  std::vector<trace::TrackId> tracks;
  for (size_t pool = 0; pool < by_pool.size(); ++pool) {
    for (uint32_t worker = 0; worker < by_pool[pool]; ++worker)
      tracks.push_back(
          recorder.AddTrack(fmt::format("pool {}", pool), fmt::format("worker {}", worker)));
  }
  for (const runtime::TraceEntry& entry : simulation.trace) {
    recorder.Slice(trace::kCore, tracks.at(entry.worker),
                   recorder.Intern(graph.FunctionName(entry.function)),
                   static_cast<uint64_t>(entry.start_cycle) * kPsPerCycle,
                   static_cast<uint64_t>(entry.end_cycle) * kPsPerCycle, 0, 0,
                   static_cast<uint32_t>(entry.task));
  }
  return trace::Snapshot(recorder, fmt::format("{{\"tasks\":{},\"end_cycle\":{}}}",
                                               simulation.tasks, simulation.end_cycle));
}

runtime::TaskGraphOptions GraphOptionsOf(const GraphCommandOptions& options) {
  runtime::TaskGraphOptions graph;
  graph.conformance = runtime::ConformanceOf(options.conformance);
  graph.deps = runtime::DependenciesOf(options.deps);
  graph.ready = runtime::ReadyPolicyOf(options.ready);
  graph.workers = options.workers;
  graph.start = StartOf(options.start);
  return graph;
}

runtime::SimulationWorkers WorkersOf(const GraphCommandOptions& options) {
  runtime::SimulationWorkers workers;
  workers.fixed = DispatchIsFixed(options.dispatch);
  workers.issue_cycles = static_cast<int64_t>(options.issue_cycles);
  workers.batch = BatchOf(options);
  return workers;
}

void WriteTrace(const GraphInterpreter& interpreter, const std::string& path) {
  if (interpreter.simulation() == nullptr)
    throw BadInput("{}: the program has no `simulate` to trace", path);
  if (std::filesystem::path(path).extension() == kTraceFile) {
    trace::WriteTrace(TraceOf(*interpreter.graph(), *interpreter.simulation()), path);
    return;
  }
  OutputFile file(path, "trace");
  runtime::ExportChrome(*interpreter.graph(), *interpreter.simulation(), file.stream());
  file.Commit();
}

void RunFile(const GraphCommandOptions& options, GraphInterpreter& interpreter) {
  NoteInput(options.file);
  std::ifstream file(options.file, std::ios::binary);
  if (!file || std::filesystem::is_directory(options.file)) {
    throw BadInput("{}: cannot read the file of commands", options.file);
  }
  interpreter.Run(options.file, file);
}

}  // namespace

void AddGraphCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command = root.AddCommand(
      "graph", "A task graph from text commands: who waits for whom, and a schedule");
  command.Footer(
      "Exit status: 0 done; 2 bad input, with the number of the line.\n"
      "The commands are in docs/task-graph.md.");
  const auto options = std::make_shared<GraphCommandOptions>();
  GraphCommandOptions& o = *options;
  command.Add("FILE", o.file, "commands, one a line; -: standard input")
      .ShowDefault()
      .Completes(Words::kFiles);
  command.Add("--conformance", o.conformance, "strict or safe")
      .ShowDefault()
      .Placeholder("NAME")
      .Suggests({"strict", "safe"});
  command.Add("--deps", o.deps, "exact, bytes, explicit, hybrid or hybrid_bytes")
      .ShowDefault()
      .Placeholder("NAME")
      .Suggests({"exact", "bytes", "explicit", "hybrid", "hybrid_bytes"});
  command.Add("--ready", o.ready, "fifo, work_steal or priority")
      .ShowDefault()
      .Placeholder("NAME")
      .Suggests({"fifo", "work_steal", "priority"});
  command
      .Add("--start", o.start,
           "when tasks are handed out: once more than so many are known, or after_orchestration")
      .ShowDefault()
      .Placeholder("TASKS")
      .Suggests({"0", "after_orchestration"});
  command
      .Add("--dispatch", o.dispatch,
           "of the simulation: any, a free worker takes a task; round_robin, task n is worker n's, "
           "modulo the workers of its pool")
      .ShowDefault()
      .Placeholder("NAME")
      .Suggests({"any", "round_robin"});
  command
      .Add("--timing", o.timing,
           "of the simulation: immediate, all tasks are known at once; rate_limited, one every "
           "--issue-cycles; batched, --batch together")
      .ShowDefault()
      .Placeholder("NAME")
      .Suggests({"immediate", "batched", "rate_limited"});
  command.Add("--issue-cycles", o.issue_cycles, "cycles that the host takes to issue a task")
      .ShowDefault();
  command.Add("--batch", o.batch, "of --timing batched: tasks of a batch").ShowDefault();
  command.Add("--deques", o.workers, "of work_steal: workers of each pool").ShowDefault();
  command
      .Add("--trace", o.trace,
           "write the last simulation: FILE.sctrace for spyre-cosim trace, else Chrome's format")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Action([options] {
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    return RunGraphCommand(*options, std::cin, std::cout, std::cerr);
  });
}

int RunGraphCommand(const GraphCommandOptions& options, std::istream& standard_input,
                    std::ostream& out, std::ostream& messages) {
  GraphInterpreter interpreter(GraphOptionsOf(options), WorkersOf(options), out, messages);
  if (options.file == "-") {
    interpreter.Run("standard input", standard_input);
  } else {
    RunFile(options, interpreter);
  }
  if (!options.trace.empty()) WriteTrace(interpreter, options.trace);
  return 0;
}

}  // namespace spyre::cosim
