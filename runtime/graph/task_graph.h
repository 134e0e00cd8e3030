// SPDX-License-Identifier: Apache-2.0
// The task graph: tasks say which regions they read and write, the graph finds who waits for whom,
// keeps the ready ones in a queue for each pool of execution units, and releases the next ones when
// a task completes. It knows no card and runs nothing: an executor pops ready tasks, runs them and
// completes them as the answers arrive.
//
//   graph->Alloc -> AddInput, AddOutput, AddInOut, After -> Submit        the orchestration
//   graph->Pop -> (run) -> Complete                                       the executor
//
// Threads: none of its own; calls come from one thread at a time. Nothing blocks: where the
// original waits, Alloc answers kNoTask. Memory is bounded by the window. Errors: in safe,
// Error(kBadInput) for every misuse, which leaves the graph as it was. In strict, misuse is ignored
// as the original does, and noted in TakeDiagnostics.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/graph/ready_queue.h"
#include "runtime/graph/task_options.h"
#include "runtime/graph/task_record.h"
#include "runtime/graph/task_region.h"

namespace spyre::runtime {

using FunctionId = int32_t;

struct TaskSpec {
  FunctionId function = 0;  // of TaskGraph::Function
  uint32_t pool = 0;        // ignored while the graph has one pool
  int32_t priority = 0;     // higher goes first under the policy `priority`
  int64_t cycles = -1;      // what Simulate charges; -1: by the function's name
};

// One task, for dumps and tests.
struct TaskView {
  TaskId id;
  uint32_t slot;
  int32_t fanin;
  bool complete;
  uint32_t args;
  int64_t earliest_cycle;
  std::vector<TaskId> fanout;
};

struct TaskArgument {
  Access access;
  Region region;
};

// What strict passes over in silence or with a line of text.
struct Diagnostic {
  enum class Kind : uint8_t {
    kNoSuchTask,
    kTooManyArguments,
    kFanoutFull,
    kWindowFull,
    kQueueFull,
    kDeadlock,
    kTooManyWorkers
  };
  Kind kind;
  int64_t value;  // the task; of kDeadlock, tasks that wait; of kTooManyWorkers, workers
};
std::string ToText(const Diagnostic& diagnostic);

// Execution units that Simulate has. total: of a graph with one pool, 0 for 4. by_pool: of a graph
// with more.
struct SimulationWorkers {
  uint32_t total = 0;
  std::vector<uint32_t> by_pool;
  // Safe only. fixed: task n runs on worker n modulo the workers of its pool, which takes first
  // what the ready policy (fifo or priority) puts first. issue_cycles: of the host, for each task;
  // task n is known when its batch has been issued.
  bool fixed = false;
  int64_t issue_cycles = 0;
  uint32_t batch = 1;
};

struct TraceEntry {
  TaskId task;
  FunctionId function;
  uint32_t worker;  // numbered through all pools
  int64_t start_cycle, end_cycle;
};

struct Simulation {
  std::vector<TraceEntry> trace;  // in the order of scheduling
  int64_t tasks = 0;              // that ran
  int64_t end_cycle = 0;          // of the last one
  SimulationWorkers workers;      // as counted: total is never 0
};

class TaskGraph {
 public:
  // Throws BadInput for options that CheckOptions refuses.
  static std::unique_ptr<TaskGraph> Create(const TaskGraphOptions& options);
  virtual ~TaskGraph() = default;
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  // The number of a function's name, the same for the same name.
  FunctionId Function(std::string_view name);
  const std::string& FunctionName(FunctionId function) const;
  // Needed before accesses in graphs that compare bytes; in other safe graphs, a tensor that has a
  // place has its regions checked against it. Not allowed in strict mode.
  virtual void PlaceTensor(const TensorPlace& place) = 0;

  // kNoTask when the window is full: stalled (complete tasks, then try again) or aborted().
  TaskId Alloc(const TaskSpec& spec);
  void AddInput(TaskId task, const Region2d& region) { Add(task, Access::kIn, region); }
  void AddOutput(TaskId task, const Region2d& region) { Add(task, Access::kOut, region); }
  void AddInOut(TaskId task, const Region2d& region) { Add(task, Access::kInOut, region); }
  virtual void Add(TaskId task, Access access, const Region2d& region) = 0;
  // Any number of dimensions, safe only; two dimensions are the same as the above.
  virtual void Add(TaskId task, Access access, const Region& region) = 0;
  // `task` starts after `before` has completed, whatever they touch.
  virtual void After(TaskId task, TaskId before) = 0;
  virtual void SetCycles(TaskId task, int64_t cycles) = 0;
  virtual void Submit(TaskId task) = 0;
  void FinishOrchestration() { orchestration_finished_ = true; }

  // The next ready task of a pool for a worker, kNoTask if there is none or the start gate is shut.
  TaskId Pop(uint32_t pool, uint32_t worker = 0) { return PopQueue(QueueOf(pool), worker); }
  // worker: who ran it, and under work_steal gets what it releases.
  virtual void Complete(TaskId task, uint32_t worker = 0) = 0;
  // The orchestration has ended and every task has completed.
  bool Finished() const { return orchestration_finished_ && completed_ >= scheduled_; }
  // Throws BadInput if tasks wait and nothing is ready or running that could release them.
  virtual void RequireProgress() const {}

  // Runs everything that can run on counted workers in counted cycles. docs/task-graph.md says in
  // which order.
  virtual Simulation Simulate(const SimulationWorkers& workers) = 0;

  // May change at any time, for what comes after; tasks that are ready stay in their queues.
  void SetOverflow(WindowOverflow overflow) { options_.window.overflow = overflow; }
  // Throws BadInput for fewer than there are, and in safe once there are tasks.
  void SetPools(uint32_t pools);

  // Queue 0 is that of a graph with one pool, queue 1 + n that of pool n of several.
  static constexpr uint32_t kSharedQueue = 0;
  uint32_t QueueOf(uint32_t pool) const { return options_.pools == 1 ? kSharedQueue : 1 + pool; }
  TaskId PopQueue(uint32_t queue, uint32_t worker = 0);
  std::vector<TaskId> Ready(uint32_t queue) const;

  const TaskGraphOptions& options() const { return options_; }
  TaskId next_task() const { return next_; }
  TaskId oldest() const { return oldest_; }   // the oldest task in flight, or next_task()
  int64_t active() const { return active_; }  // allocated and not completed
  int64_t scheduled() const { return scheduled_; }
  int64_t completed() const { return completed_; }
  bool aborted() const { return aborted_; }
  // What is in the task's slot. Throws BadInput for a task that has not been allocated.
  TaskView View(TaskId task) const;
  std::vector<TaskArgument> Arguments(TaskId task) const;
  std::vector<Diagnostic> TakeDiagnostics();

  // For executors that do not wait for Pop: from now on keeps the edges that are made, in order.
  // An edge may come twice; one to a task that has completed is not made.
  struct Edge {
    TaskId before, task;
  };
  void KeepEdges() { keep_edges_ = true; }
  std::vector<Edge> TakeEdges();

 protected:
  explicit TaskGraph(const TaskGraphOptions& options);

  struct Argument {
    Region2d region;
    uint32_t tag;  // in safe: hash of the region, or by bytes the number of its tensor
    Access access;
    bool wide;  // the region is in wide_
  };

  // The window is full in benchmark mode: forgets the older half.
  virtual void ForgetOlderHalf() = 0;
  // The window is full in stall mode.
  virtual void Stalled() const {}
  virtual void Popped(TaskId task) = 0;  // it was taken from its queue, and will run

  uint32_t SlotOf(TaskId task) const { return static_cast<uint32_t>(task) & mask_; }
  TaskRecord& RecordOf(TaskId task) { return records_[SlotOf(task)]; }
  const TaskRecord& RecordOf(TaskId task) const { return records_[SlotOf(task)]; }
  bool Allocated(TaskId task) const { return task >= 0 && task < next_; }
  Argument& ArgumentOf(TaskId task, uint32_t index) {
    return arguments_[ArgumentPlace(task, index)];
  }
  Region& WideOf(TaskId task, uint32_t index);
  Region RegionOf(TaskId task, uint32_t index) const;
  void Enqueue(TaskId task, const TaskRecord& record, uint32_t worker);
  void Connect(TaskRecord& producer, TaskId task) {
    consumers_.Append(producer, task);
    if (keep_edges_) edges_.push_back({producer.id, task});
  }
  void AdvanceOldest() {
    while (oldest_ < next_ && RecordOf(oldest_).state == TaskState::kDone) ++oldest_;
  }
  void Note(Diagnostic::Kind kind, int64_t value) {
    if (diagnostics_.size() < kMaxDiagnostics) diagnostics_.push_back({kind, value});
  }
  void RemoveReady(const std::function<bool(TaskId)>& gone) {
    for (auto& queue : queues_) queue->Remove(gone);
  }
  bool GateOpen() const {
    return orchestration_finished_ ||
           (options_.start.tasks >= 0 && scheduled_ > options_.start.tasks);
  }
  // One plane of slots for each index, so that what is in use is dense in memory.
  size_t ArgumentPlace(TaskId task, uint32_t index) const {
    return size_t{index} * options_.window.tasks + SlotOf(task);
  }

  TaskGraphOptions options_;
  uint32_t mask_;
  std::vector<TaskRecord> records_;
  ConsumerLists consumers_;
  TaskId next_ = 0, oldest_ = 0;
  int64_t active_ = 0, scheduled_ = 0, completed_ = 0;
  bool aborted_ = false, orchestration_finished_ = false;

 private:
  static constexpr size_t kMaxDiagnostics = 4096;  // the first ones since they were taken
  struct Named {
    std::string name;
    int64_t cycles;
  };

  std::unique_ptr<Argument[]> arguments_;  // only those added are valid
  std::unique_ptr<Region[]> wide_;         // as arguments_, made for the first wide one
  std::vector<std::unique_ptr<ReadyQueue>> queues_;
  std::vector<Named> functions_;
  std::unordered_map<std::string, FunctionId> function_ids_;
  std::vector<Diagnostic> diagnostics_;
  bool keep_edges_ = false;
  std::vector<Edge> edges_;
};

}  // namespace spyre::runtime
