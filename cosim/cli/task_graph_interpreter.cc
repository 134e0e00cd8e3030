// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/task_graph_interpreter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "cosim/cli/task_graph_loops.h"
#include "cosim/cli/task_graph_memory.h"
#include "cosim/cli/task_graph_words.h"
#include "runtime/graph/graph_workers.h"

namespace spyre::cosim {
namespace {

using runtime::TaskGraph;
using runtime::TaskId;

// Cycles of the classes of `cyc`.
constexpr int64_t kClassCycles[] = {1, 7, 13, 20, 50, 64, 100, 250};
constexpr runtime::WindowOverflow kModes[] = {
    runtime::WindowOverflow::kBenchmark, runtime::WindowOverflow::kAbort,
    runtime::WindowOverflow::kStall, runtime::WindowOverflow::kStall};

std::string ListOf(const std::vector<TaskId>& tasks) {
  return fmt::format("[{}]", Joined(tasks, ","));
}

}  // namespace

class GraphInterpreter::Impl {
 public:
  Impl(const runtime::TaskGraphOptions& options, const runtime::SimulationWorkers& workers,
       std::ostream& out, std::ostream& messages)
      : out_(out),
        messages_(messages),
        graph_options_(options),
        workers_(workers),
        loops_([this](std::string_view line, uint64_t number) { ExecuteLine(line, number); }) {
    graph_options_.window.overflow = kModes[0];
    runtime::CheckOptions(graph_options_);
  }

  void Run(const std::string& name, std::istream& in) {
    LineReader lines(in, name);
    for (std::string line; lines.Next(line);) {
      loops_.Take(line, lines.number());
    }
    loops_.Finish();
  }

  // nullptr: there is none yet.
  const TaskGraph* graph() const { return graph_.get(); }
  const runtime::Simulation* simulation() const { return simulation_ ? &*simulation_ : nullptr; }

 private:
  using Command = void (Impl::*)(LineWords&);

  static const std::unordered_map<std::string_view, Command>& Commands() {
    static const std::unordered_map<std::string_view, Command> commands{
        {"window", &Impl::Window},     {"max_fanout", &Impl::MaxFanout},
        {"mode", &Impl::Mode},         {"workers", &Impl::Workers},
        {"dual", &Impl::Dual},         {"pools", &Impl::Pools},
        {"alloc", &Impl::Alloc},       {"channel", &Impl::AddChannel},
        {"cyc", &Impl::Cycles},        {"in", &Impl::In},
        {"out", &Impl::Out},           {"inout", &Impl::InOut},
        {"after", &Impl::After},       {"tensor", &Impl::Tensor},
        {"send", &Impl::Send},         {"receive", &Impl::Receive},
        {"submit", &Impl::Submit},     {"pop", &Impl::Pop},
        {"popv", &Impl::PopVector},    {"popc", &Impl::PopCube},
        {"complete", &Impl::Complete}, {"run", &Impl::RunTasks},
        {"simulate", &Impl::Simulate}, {"dump", &Impl::Dump},
    };
    return commands;
  }

  void ExecuteLine(std::string_view line, uint64_t number) {
    LineWords words(line, last_task_);
    try {
      Execute(words);
      words.End();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      throw BadInput("line {}: {}", number, error.what());
    }
    if (!graph_) return;
    for (const runtime::Diagnostic& diagnostic : graph_->TakeDiagnostics()) {
      messages_ << fmt::format("line {}: {}\n", number, runtime::ToText(diagnostic));
    }
  }

  void Execute(LineWords& words) {
    const std::string_view name = words.Next("the command");
    const auto command = Commands().find(name);
    if (command == Commands().end()) {
      std::vector<std::string> names;
      for (const auto& entry : Commands()) names.emplace_back(entry.first);
      names.insert(names.end(), {"for_each", "sequential", "end"});
      std::sort(names.begin(), names.end());
      throw BadInput("'{}' is not a command{}; there are: {}", name,
                     DidYouMean(std::string(name), names), Joined(names, ", "));
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

  void Window(LineWords& words) {
    RequireNoGraph("window");
    graph_options_.window.tasks = words.Count("the window");
    runtime::CheckOptions(graph_options_);
  }
  void MaxFanout(LineWords& words) {
    RequireNoGraph("max_fanout");
    graph_options_.max_fanout = words.Count("max_fanout");
    runtime::CheckOptions(graph_options_);
  }
  void Mode(LineWords& words) {
    mode_ = words.Number("the mode", 0, 3);
    graph_options_.window.overflow = kModes[mode_];
    if (graph_) graph_->SetOverflow(kModes[mode_]);
  }
  void Workers(LineWords& words) { workers_.total = words.Count("the number of workers"); }
  void Dual(LineWords& words) {
    const uint32_t vector = words.Count("the number of vector workers");
    SetPools({vector, words.Count("the number of cube workers")});
  }
  void Pools(LineWords& words) {
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

  void Alloc(LineWords& words) {
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
    if (task == runtime::kNoTask) return;
    last_task_ = task;
    for (const TaskId before : loops_.scopes().Add(task)) Graph().After(task, before);
  }
  void Cycles(LineWords& words) {
    const TaskId task = words.Task();
    Graph().SetCycles(task, kClassCycles[words.Number("the class of cycles", 0, 7)]);
  }
  void In(LineWords& words) { Argument(words, runtime::Access::kIn); }
  void Out(LineWords& words) { Argument(words, runtime::Access::kOut); }
  void InOut(LineWords& words) { Argument(words, runtime::Access::kInOut); }
  void Argument(LineWords& words, runtime::Access access) {
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
  void After(LineWords& words) {
    const TaskId task = words.Task();
    Graph().After(task, words.Task());
  }
  void Tensor(LineWords& words) {
    runtime::TensorPlace place;
    place.tensor = words.Buffer();
    place.address = static_cast<uint64_t>(words.Number("the address", 0));
    place.element_bytes = words.Count("the bytes of an element", 1);
    do {
      place.shape.push_back(words.Number("a dimension", 1));
    } while (words.left() > 0);
    Graph().PlaceTensor(place);
  }
  // Tasks that sent to a channel and received from it, and how many sends may be ahead.
  struct Channel {
    std::optional<size_t> room;
    std::vector<TaskId> sent, received;
  };
  void AddChannel(LineWords& words) {
    const std::string name(words.Next("the channel"));
    channels_[name].room = words.Count("the room of the channel", 1);
  }
  void Send(LineWords& words) {
    const TaskId task = words.Task();
    const std::string name(words.Next("the channel"));
    Channel& channel = channels_[name];
    if (channel.room && channel.sent.size() >= *channel.room) {
      const size_t receive = channel.sent.size() - *channel.room;
      if (receive >= channel.received.size()) {
        throw BadInput("the channel '{}' has room for {}, and {} of {} have been received", name,
                       *channel.room, channel.received.size(), channel.sent.size());
      }
      Graph().After(task, channel.received[receive]);
    }
    channel.sent.push_back(task);
  }
  void Receive(LineWords& words) {
    const TaskId task = words.Task();
    const std::string name(words.Next("the channel"));
    Channel& channel = channels_[name];
    if (channel.received.size() >= channel.sent.size())
      throw BadInput("the channel '{}' has been sent {} times, and each was received", name,
                     channel.sent.size());
    Graph().After(task, channel.sent[channel.received.size()]);
    channel.received.push_back(task);
  }
  void Submit(LineWords& words) { Graph().Submit(words.Task()); }
  void Pop(LineWords& words) {
    uint32_t queue = TaskGraph::kSharedQueue;
    if (words.left() > 0) {
      queue = Graph().QueueOf(
          static_cast<uint32_t>(words.Number("the pool", 0, int64_t{graph_options_.pools} - 1)));
    }
    const uint32_t worker = words.left() > 0 ? words.Count("the worker") : 0;
    words.End();
    Answer("pop", Graph().PopQueue(queue, worker));
  }
  void PopVector(LineWords& words) {
    words.End();
    Answer("popv", Graph().PopQueue(TaskGraph::kSharedQueue + 1));
  }
  void PopCube(LineWords& words) {
    words.End();
    Answer("popc", Graph().PopQueue(TaskGraph::kSharedQueue + 2));
  }
  void Complete(LineWords& words) {
    const TaskId task = words.Task();
    Graph().Complete(task, words.left() > 0 ? words.Count("the worker") : 0);
  }
  void RunTasks(LineWords& words) {
    const uint32_t threads = words.left() > 0 ? words.Count("the number of threads", 1) : 1;
    words.End();
    GraphMemory memory(Graph());
    const runtime::GraphRun run = runtime::RunOnThreads(
        Graph(), threads, [&memory](TaskId task, uint32_t) { memory.Run(task); });
    out_ << fmt::format("{{\"r\":\"run\",\"tasks\":{},\"digest\":\"{:016x}\"}}\n", run.tasks,
                        memory.Digest());
  }
  void Simulate(LineWords& words) {
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
  void Dump(LineWords& words) {
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
  GraphLoops loops_;
  TaskId last_task_ = runtime::kNoTask;
  std::map<std::string, Channel> channels_;
};

GraphInterpreter::GraphInterpreter(const runtime::TaskGraphOptions& options,
                                   const runtime::SimulationWorkers& workers, std::ostream& out,
                                   std::ostream& messages)
    : impl_(std::make_unique<Impl>(options, workers, out, messages)) {}

GraphInterpreter::~GraphInterpreter() = default;

void GraphInterpreter::Run(const std::string& name, std::istream& in) { impl_->Run(name, in); }

const TaskGraph* GraphInterpreter::graph() const { return impl_->graph(); }

const runtime::Simulation* GraphInterpreter::simulation() const { return impl_->simulation(); }

}  // namespace spyre::cosim
