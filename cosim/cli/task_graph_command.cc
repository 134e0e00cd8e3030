// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/task_graph_command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/nearest.h"
#include "runtime/graph/task_graph.h"
#include "runtime/graph/task_trace.h"

namespace spyre::cosim {
namespace {

using runtime::TaskGraph;
using runtime::TaskId;

// Cycles of the classes of `cyc`.
constexpr int64_t kClassCycles[] = {1, 7, 13, 20, 50, 64, 100, 250};
constexpr runtime::WindowOverflow kModes[] = {
    runtime::WindowOverflow::kBenchmark, runtime::WindowOverflow::kAbort,
    runtime::WindowOverflow::kStall, runtime::WindowOverflow::kStall};

// The words of one line, taken from left to right.
class Words {
 public:
  explicit Words(std::string_view line) {
    constexpr std::string_view kSpace = " \t\r\n\v\f";
    size_t begin = line.find_first_not_of(kSpace);
    while (begin != std::string_view::npos && line[begin] != '#') {
      const size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
      words_.push_back(line.substr(begin, end - begin));
      begin = line.find_first_not_of(kSpace, end);
    }
  }

  bool empty() const { return words_.empty(); }
  size_t left() const { return words_.size() - next_; }
  std::string_view Next(const char* what) {
    if (left() == 0) throw BadInput("{} is missing", what);
    return words_[next_++];
  }
  int64_t Number(const char* what, int64_t min = INT64_MIN, int64_t max = INT64_MAX) {
    const std::string_view word = Next(what);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) {
      throw BadInput("{} is '{}'; it must be a whole number of at most 64 bits", what, word);
    }
    if (value < min || value > max) {
      throw BadInput("{} is {}; it must be between {} and {}", what, value, min, max);
    }
    return value;
  }
  uint32_t Count(const char* what, int64_t min = 0) {
    return static_cast<uint32_t>(Number(what, min, INT32_MAX));
  }
  // A task may be one that does not exist: the graph decides what to do with it.
  TaskId Task() { return Number("the task", INT32_MIN, INT32_MAX); }
  runtime::TensorId Buffer() { return static_cast<uint64_t>(Number("the buffer", 0)); }
  void End() const {
    if (left() > 0) throw BadInput("'{}' is one word too many", words_[next_]);
  }

 private:
  std::vector<std::string_view> words_;
  size_t next_ = 0;
};

std::string ListOf(const std::vector<TaskId>& tasks) {
  return fmt::format("[{}]", fmt::join(tasks, ","));
}

class Interpreter {
 public:
  Interpreter(const GraphCommandOptions& options, std::ostream& out, std::ostream& messages)
      : out_(out), messages_(messages) {
    graph_options_.conformance = runtime::ConformanceOf(options.conformance);
    graph_options_.deps = runtime::DependenciesOf(options.deps);
    graph_options_.ready = runtime::ReadyPolicyOf(options.ready);
    graph_options_.workers = options.workers;
    graph_options_.window.overflow = kModes[0];
    runtime::CheckOptions(graph_options_);
  }

  void Run(const std::string& name, std::istream& in) {
    LineReader lines(in, name);
    for (std::string line; lines.Next(line);) {
      const uint64_t number = lines.number();
      Words words(line);
      if (words.empty()) continue;
      try {
        Execute(words);
        words.End();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kBadInput) throw;
        throw BadInput("line {}: {}", number, error.what());
      }
      if (!graph_) continue;
      for (const runtime::Diagnostic& diagnostic : graph_->TakeDiagnostics()) {
        messages_ << fmt::format("line {}: {}\n", number, runtime::ToText(diagnostic));
      }
    }
  }

  void WriteTrace(const std::string& path) {
    if (!simulation_) throw BadInput("{}: the program has no `simulate` to trace", path);
    OutputFile file(path, "trace");
    runtime::ExportChrome(*graph_, *simulation_, file.stream());
    file.Commit();
  }

 private:
  using Command = void (Interpreter::*)(Words&);

  static const std::unordered_map<std::string_view, Command>& Commands() {
    static const std::unordered_map<std::string_view, Command> commands{
        {"window", &Interpreter::Window},
        {"max_fanout", &Interpreter::MaxFanout},
        {"mode", &Interpreter::Mode},
        {"workers", &Interpreter::Workers},
        {"dual", &Interpreter::Dual},
        {"pools", &Interpreter::Pools},
        {"alloc", &Interpreter::Alloc},
        {"cyc", &Interpreter::Cycles},
        {"in", &Interpreter::In},
        {"out", &Interpreter::Out},
        {"inout", &Interpreter::InOut},
        {"after", &Interpreter::After},
        {"tensor", &Interpreter::Tensor},
        {"submit", &Interpreter::Submit},
        {"pop", &Interpreter::Pop},
        {"popv", &Interpreter::PopVector},
        {"popc", &Interpreter::PopCube},
        {"complete", &Interpreter::Complete},
        {"simulate", &Interpreter::Simulate},
        {"dump", &Interpreter::Dump},
    };
    return commands;
  }

  void Execute(Words& words) {
    const std::string_view name = words.Next("the command");
    const auto command = Commands().find(name);
    if (command == Commands().end()) {
      std::vector<std::string> names;
      for (const auto& entry : Commands()) names.emplace_back(entry.first);
      std::sort(names.begin(), names.end());
      throw BadInput("'{}' is not a command{}; there are: {}", name,
                     DidYouMean(std::string(name), names), fmt::join(names, ", "));
    }
    (this->*command->second)(words);
  }

  TaskGraph& Graph() {
    if (!graph_) graph_ = TaskGraph::Create(graph_options_);
    return *graph_;
  }
  void RequireNoGraph(const char* what) const {
    if (graph_) throw BadInput("{} must come before the first task", what);
  }

  void Window(Words& words) {
    RequireNoGraph("window");
    graph_options_.window.tasks = words.Count("the window");
    runtime::CheckOptions(graph_options_);
  }
  void MaxFanout(Words& words) {
    RequireNoGraph("max_fanout");
    graph_options_.max_fanout = words.Count("max_fanout");
    runtime::CheckOptions(graph_options_);
  }
  void Mode(Words& words) {
    mode_ = words.Number("the mode", 0, 3);
    graph_options_.window.overflow = kModes[mode_];
    if (graph_) graph_->SetOverflow(kModes[mode_]);
  }
  void Workers(Words& words) { workers_.total = words.Count("the number of workers"); }
  void Dual(Words& words) {
    const uint32_t vector = words.Count("the number of vector workers");
    SetPools({vector, words.Count("the number of cube workers")});
  }
  void Pools(Words& words) {
    std::vector<uint32_t> workers;
    do {
      workers.push_back(words.Count("the number of workers of a pool", 1));
    } while (words.left() > 0);
    SetPools(std::move(workers));
  }
  void SetPools(std::vector<uint32_t> workers) {
    graph_options_.pools = static_cast<uint32_t>(workers.size());
    runtime::CheckOptions(graph_options_);
    if (graph_) graph_->SetPools(graph_options_.pools);
    workers_.by_pool = std::move(workers);
  }

  void Alloc(Words& words) {
    runtime::TaskSpec spec;
    spec.function = Graph().Function(words.Next("the name of the function"));
    // Vector and cube tasks are told apart even where they share workers.
    spec.pool = static_cast<uint32_t>(
        words.Number("the pool", 0, std::max<int64_t>(graph_options_.pools, 2) - 1));
    if (words.left() > 0) {
      spec.priority = static_cast<int32_t>(words.Number("the priority", INT32_MIN, INT32_MAX));
    }
    words.End();
    const TaskId task = Graph().Alloc(spec);
    if (task == runtime::kNoTask && !Graph().aborted()) {
      throw BadInput(
          "the window of {} tasks is full, and mode {} waits for task {}, which nothing here can "
          "complete meanwhile; complete it before, or use a larger window",
          graph_options_.window.tasks, mode_, Graph().oldest());
    }
    Answer("alloc", task);
  }
  void Cycles(Words& words) {
    const TaskId task = words.Task();
    Graph().SetCycles(task, kClassCycles[words.Number("the class of cycles", 0, 7)]);
  }
  void In(Words& words) { Argument(words, runtime::Access::kIn); }
  void Out(Words& words) { Argument(words, runtime::Access::kOut); }
  void InOut(Words& words) { Argument(words, runtime::Access::kInOut); }
  void Argument(Words& words, runtime::Access access) {
    const TaskId task = words.Task();
    const runtime::TensorId tensor = words.Buffer();
    // Offsets, then extents. Fewer than four numbers are a truncated line, not one dimension.
    const size_t rank = std::max<size_t>(words.left() / 2, 2);
    std::vector<int64_t> offset;
    std::vector<int64_t> extent;
    for (size_t d = 0; d < rank; ++d) offset.push_back(words.Number("an offset"));
    for (size_t d = 0; d < rank; ++d) extent.push_back(words.Number("an extent"));
    words.End();
    Graph().Add(task, access, runtime::Region::Of(tensor, offset, extent));
  }
  void After(Words& words) {
    const TaskId task = words.Task();
    Graph().After(task, words.Task());
  }
  void Tensor(Words& words) {
    runtime::TensorPlace place;
    place.tensor = words.Buffer();
    place.address = static_cast<uint64_t>(words.Number("the address", 0));
    place.element_bytes = words.Count("the bytes of an element", 1);
    do {
      place.shape.push_back(words.Number("a dimension", 1));
    } while (words.left() > 0);
    Graph().PlaceTensor(place);
  }
  void Submit(Words& words) { Graph().Submit(words.Task()); }
  void Pop(Words& words) {
    uint32_t queue = TaskGraph::kSharedQueue;
    if (words.left() > 0) {
      queue = Graph().QueueOf(
          static_cast<uint32_t>(words.Number("the pool", 0, int64_t{graph_options_.pools} - 1)));
    }
    const uint32_t worker = words.left() > 0 ? words.Count("the worker") : 0;
    words.End();
    Answer("pop", Graph().PopQueue(queue, worker));
  }
  void PopVector(Words& words) {
    words.End();
    Answer("popv", Graph().PopQueue(TaskGraph::kSharedQueue + 1));
  }
  void PopCube(Words& words) {
    words.End();
    Answer("popc", Graph().PopQueue(TaskGraph::kSharedQueue + 2));
  }
  void Complete(Words& words) {
    const TaskId task = words.Task();
    Graph().Complete(task, words.left() > 0 ? words.Count("the worker") : 0);
  }
  void Simulate(Words& words) {
    words.End();
    simulation_ = Graph().Simulate(workers_);
    out_ << "{\"r\":\"sim\",\"trace\":[";
    const char* separator = "";
    for (const runtime::TraceEntry& entry : simulation_->trace) {
      out_ << separator
           << fmt::format("[{},{},{}]", entry.worker, entry.start_cycle, entry.end_cycle);
      separator = ",";
    }
    out_ << "]}\n";
  }
  void Dump(Words& words) {
    words.End();
    const TaskGraph& graph = Graph();
    out_ << fmt::format(
        "{{\"r\":\"state\",\"next_task_id\":{},\"active\":{},\"oldest\":{},\"aborted\":{},"
        "\"scheduled\":{},\"completed\":{},\"tasks\":[",
        graph.next_task(), graph.active(), graph.oldest(), graph.aborted() ? 1 : 0,
        graph.scheduled(), graph.completed());
    const TaskId first = std::max<TaskId>(0, graph.next_task() - graph_options_.window.tasks);
    for (TaskId task = first; task < graph.next_task(); ++task) {
      const runtime::TaskView view = graph.View(task);
      out_ << fmt::format(
          "{}{{\"id\":{},\"slot\":{},\"fanin\":{},\"complete\":{},\"args\":{},\"earliest\":{},"
          "\"fanout\":{}}}",
          task == first ? "" : ",", task, view.slot, view.fanin, view.complete ? 1 : 0, view.args,
          view.earliest_cycle, ListOf(view.fanout));
    }
    out_ << fmt::format("],\"ready\":{},\"ready_vector\":{},\"ready_cube\":{}",
                        ListOf(graph.Ready(0)), ListOf(graph.Ready(1)), ListOf(graph.Ready(2)));
    for (uint32_t pool = 2; pool < graph_options_.pools; ++pool) {
      out_ << fmt::format(",\"ready_{}\":{}", pool, ListOf(graph.Ready(1 + pool)));
    }
    out_ << "}\n";
  }

  void Answer(const char* what, TaskId task) {
    out_ << fmt::format("{{\"r\":\"{}\",\"v\":{}}}\n", what, task);
  }

  std::ostream& out_;
  std::ostream& messages_;
  runtime::TaskGraphOptions graph_options_;
  int64_t mode_ = 0;
  runtime::SimulationWorkers workers_;
  std::unique_ptr<TaskGraph> graph_;  // made when the first command needs it
  std::optional<runtime::Simulation> simulation_;
};

void RunFile(const GraphCommandOptions& options, Interpreter& interpreter) {
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
  command.Add("--deques", o.workers, "of work_steal: workers of each pool").ShowDefault();
  command.Add("--trace", o.trace, "write the last simulation as a Chrome trace")
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
  Interpreter interpreter(options, out, messages);
  if (options.file == "-") {
    interpreter.Run("standard input", standard_input);
  } else {
    RunFile(options, interpreter);
  }
  if (!options.trace.empty()) interpreter.WriteTrace(options.trace);
  return 0;
}

}  // namespace spyre::cosim
