// SPDX-License-Identifier: Apache-2.0
// Issue::TaskGraph: the graph says what depends on what, lanes put it on the card, and an event
// behind every task tells when it has completed.
//
// Release by events: a task goes on the lane whose last task it depends on, if there is one, and
// waits for the events of its other producers. The graph learns of completions behind the card's
// back, so a task may have completed before the graph has released it. Release by the host: each
// lane belongs to a unit and has one task at a time, which it takes from the unit's ready queue.
//
// A task that failed, or depends on one that did, is never completed in the graph: what depends on
// it is found as long as the graph lives.
#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/spyre/issue/issue.h"
#include "runtime/spyre/issue/issue_lanes.h"

namespace spyre::runtime {
namespace {

constexpr int kSpaceShift = 48;  // addresses of a space: 256 TiB
constexpr int64_t kSpaceBytes = int64_t{1} << kSpaceShift;

// The bytes of an access, as a box of the address space that its handle is in.
Region2d RegionOf(const DeviceHandle& handle, uint64_t bytes) {
  const TensorId space =
      flex::IsPhysical(handle) ? 0 : 1 + std::get<flex::VFDeviceHandle>(handle).region_id;
  return {space, 0, static_cast<int64_t>(flex::RawOffset(handle)), 1, static_cast<int64_t>(bytes)};
}

// 64-bit FNV-1a of what Dispatch::kHash goes by.
uint64_t HashOf(const IssuedTask& task) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : task.stream ? std::to_string(*task.stream) : task.name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

class GraphIssuer final : public Issuer {
 public:
  GraphIssuer(flex::RuntimeContext& context, const GraphIssueOptions& options)
      : context_(context), options_(options), lanes_(context), pacer_(context, options.pacing) {
    CheckChoices();
    options_.graph.pools = options_.pool_by_unit ? kUnits : 1;
    if (ByHost()) options_.graph.workers = LanesOfPool();
    graph_ = runtime::TaskGraph::Create(options_.graph);
    graph_->KeepEdges();
    const size_t lanes = ByHost() ? size_t{options_.graph.pools} * LanesOfPool() : options_.streams;
    for (size_t i = 0; i < lanes; ++i) lanes_.AddOwn();
    issued_.resize(lanes_.size());
  }

  TaskId Submit(IssuedTask task) override {
    const auto lock = context_.Lock();
    Check(task);
    const TaskId id = Allocate(task);
    for (const TensorAccess& access : task.accesses) Enter(id, access);
    for (const TaskId before : task.after) graph_->After(id, before);
    graph_->Submit(id);
    Task& kept = tasks_[id];
    kept.task = std::move(task);
    for (const runtime::TaskGraph::Edge& edge : graph_->TakeEdges()) {
      const auto& known = kept.producers;
      if (std::find(known.begin(), known.end(), edge.before) == known.end()) {
        kept.producers.push_back(edge.before);
      }
    }
    ++counts_.tasks;
    counts_.edges += kept.producers.size();
    if (AnyFailed(kept.producers)) {
      Fail(id, {});
    } else if (!ByHost()) {
      Issue(id, kept, ChooseLane(kept));
    }
    Release();
    return id;
  }

  void Synchronize() override {
    const auto lock = context_.Lock();
    graph_->FinishOrchestration();
    Release();
    while (outstanding_ > 0) WaitForOne();
    if (error_) {
      for (auto& [id, task] : tasks_) {
        if (task.progress == Progress::kWaiting) Fail(id, {});
      }
      throw *error_;
    }
    if (!tasks_.empty()) {
      throw DeviceFault(
          "task graph: {} tasks can never run, the first of them task {} ('{}'): it waits for a "
          "producer that the graph has lost count of",
          tasks_.size(), FirstLeft(), tasks_.at(FirstLeft()).task.name);
    }
  }

  IssueCounts Counts() const override {
    IssueCounts counts = counts_;
    counts.waits = lanes_.waits();
    return counts;
  }

 private:
  enum class Progress : uint8_t { kWaiting, kIssued, kFailed };
  struct Task {
    IssuedTask task;
    std::vector<TaskId> producers;  // that had not completed when it was submitted
    Progress progress = Progress::kWaiting;
    bool released = false;   // the graph has handed it out
    bool completed = false;  // on the card, before that
    LanePlace place;
    std::optional<flex::Event> event;
  };

  bool ByHost() const { return options_.release == Release::kHost; }
  // Release by the host: streams that take from one ready queue.
  uint32_t LanesOfPool() const {
    return options_.streams_per_unit * (options_.pool_by_unit ? 1 : kUnits);
  }

  void CheckChoices() const {
    const TaskGraphOptions& graph = options_.graph;
    if (graph.window.overflow == WindowOverflow::kBenchmark) {
      throw BadInput(
          "issue by task graph: window overflow `benchmark` forgets tasks that have not run; on a "
          "card use stall or abort");
    }
    const uint32_t streams = ByHost() ? options_.streams_per_unit * kUnits : options_.streams;
    if (options_.streams_per_unit < 1 || streams < 1 || streams >= flex::kFirstHighPriorityStream) {
      throw BadInput("issue by task graph: {} streams; there may be 1 to {}{}", streams,
                     flex::kFirstHighPriorityStream - 1,
                     ByHost() ? fmt::format(", {} of each of {} units",
                                            (flex::kFirstHighPriorityStream - 1) / kUnits, kUnits)
                              : "");
    }
    if (!ByHost() && (graph.ready != ReadyPolicy::kFifo || graph.start.tasks != 0)) {
      throw BadInput(
          "issue by task graph: ready and start policies decide when the host releases tasks, and "
          "with release `events` the card does; use release `host`");
    }
    if (!ByHost() && !options_.pool_by_unit) {
      throw BadInput(
          "issue by task graph: pools decide which streams the host releases tasks to; with "
          "release `events` there are none; use release `host`");
    }
    if (options_.pacing.timing == IssueTiming::kInterleaved) {
      throw BadInput(
          "issue by task graph: timing `interleaved` takes turns between streams, and here the "
          "dependencies give the order; use issue by streams, or `batched`");
    }
    if (ByHost() && options_.dispatch != Dispatch::kChain) {
      throw BadInput(
          "issue by task graph: dispatch `{}` is for release `events`; with release `host`, the "
          "streams of a unit take tasks when they are free",
          Name(options_.dispatch));
    }
  }

  void Check(const IssuedTask& task) const {
    size_t regions = 0;
    for (const TensorAccess& access : task.accesses) {
      regions += PiecesOf(access.tensor).size();
    }
    if (regions > options_.graph.max_args) {
      throw BadInput("task '{}' touches {} regions; a task may have {} (max_args)", task.name,
                     regions, options_.graph.max_args);
    }
    if (!task.after.empty() && !options_.graph.deps.explicit_edges) {
      throw BadInput("task '{}' has explicit edges, which need dependencies `explicit` or `hybrid`",
                     task.name);
    }
    for (const TaskId before : task.after) {
      if (before < 0 || before >= graph_->next_task()) {
        throw BadInput("task '{}' comes after task {}; it can come after 0 to {}", task.name,
                       before, graph_->next_task() - 1);
      }
    }
  }

  TaskId Allocate(const IssuedTask& task) {
    TaskSpec spec;
    spec.function = graph_->Function(task.name);
    spec.pool = options_.pool_by_unit ? static_cast<uint32_t>(task.unit) : 0;
    spec.priority = task.priority;
    for (;;) {
      Sweep();
      const TaskId id = graph_->Alloc(spec);
      if (id != kNoTask) return id;
      if (graph_->aborted()) {
        throw BadInput(
            "task '{}': the window of {} tasks is full, and its overflow is `abort`; use stall or "
            "a "
            "larger window",
            task.name, options_.graph.window.tasks);
      }
      if (outstanding_ == 0) {
        if (error_) throw *error_;
        throw DeviceFault("task '{}': the window of {} tasks is full of tasks that can never run",
                          task.name, options_.graph.window.tasks);
      }
      WaitForOne();
    }
  }

  void Enter(TaskId id, const TensorAccess& access) {
    const auto enter = [&](const DeviceHandle& handle, uint64_t bytes) {
      const Region2d region = RegionOf(handle, bytes);
      if (options_.graph.deps.infer == Inference::kBytes && placed_.insert(region.tensor).second) {
        graph_->PlaceTensor({region.tensor, region.tensor << kSpaceShift, 1, {1, kSpaceBytes - 1}});
      }
      graph_->Add(id, access.access, region);
    };
    for (const TensorChunk& chunk : PiecesOf(access.tensor)) {
      enter(chunk.handle, chunk.size_bytes);
    }
  }

  bool AnyFailed(const std::vector<TaskId>& producers) const {
    return AnyFits(producers, [this](TaskId id) {
      const auto task = tasks_.find(id);
      return task != tasks_.end() && task->second.progress == Progress::kFailed;
    });
  }

  // By chain: that of a producer which is the last task there, else the one with the fewest
  // outstanding.
  size_t ChooseLane(const Task& task) {
    if (options_.dispatch == Dispatch::kRoundRobin) return next_lane_++ % lanes_.size();
    if (options_.dispatch == Dispatch::kAffinity && task.task.stream) {
      return *task.task.stream % lanes_.size();
    }
    if (options_.dispatch == Dispatch::kHash) return HashOf(task.task) % lanes_.size();
    for (const TaskId id : task.producers) {
      const auto producer = tasks_.find(id);
      if (producer == tasks_.end()) continue;
      const LanePlace& place = producer->second.place;
      if (lanes_.position(place.lane) == place.position && !lanes_.failed(place.lane)) {
        return place.lane;
      }
    }
    size_t best = 0;
    for (size_t lane = 1; lane < lanes_.size(); ++lane) {
      const bool better = issued_[lane].size() < issued_[best].size();
      if (lanes_.failed(best) ? !lanes_.failed(lane) || better : better && !lanes_.failed(lane)) {
        best = lane;
      }
    }
    return best;
  }

  void Issue(TaskId id, Task& kept, size_t lane) {
    try {
      pacer_.Begin();
      for (const TaskId before : kept.producers) {
        const auto producer = tasks_.find(before);
        if (producer == tasks_.end()) continue;  // completed
        const LanePlace& place = producer->second.place;
        lanes_.Wait(lane, place, *producer->second.event, place.position);
      }
      kept.task.enqueue(lanes_.stream(lane));
      kept.event.emplace(context_, kept.task.name);
      lanes_.stream(lane).flex_stream().Record(*kept.event);
      pacer_.End();
    } catch (const Error& error) {
      Fail(id, error.Within(fmt::format("task '{}'", kept.task.name)));
      return;
    }
    kept.task.enqueue = nullptr;
    kept.progress = Progress::kIssued;
    kept.place = lanes_.Advance(lane);
    issued_[lane].push_back(id);
    ++outstanding_;
  }

  // No error: because of a producer's.
  void Fail(TaskId id, std::optional<Error> error) {
    tasks_.at(id).progress = Progress::kFailed;
    ++counts_.failed;
    if (error && !error_) error_ = std::move(error);
  }

  // Takes note of what has completed or failed on the card.
  void Sweep() {
    for (std::deque<TaskId>& lane : issued_) {
      while (!lane.empty()) {
        Task& front = tasks_.at(lane.front());
        const flex::EventStatus status = front.event->status();
        if (status != flex::EventStatus::kComplete && status != flex::EventStatus::kFailed) break;
        const TaskId id = lane.front();
        lane.pop_front();
        --outstanding_;
        if (status == flex::EventStatus::kComplete) {
          front.completed = true;
          if (front.released) Complete(id);
        } else {
          Fail(id, StreamErrorOf(front));
        }
      }
    }
  }

  Error StreamErrorOf(const Task& task) const {
    const uint32_t stream = lanes_.stream(task.place.lane).flex_stream().stream_index();
    const auto error = context_.ErrorOf(stream);
    return DeviceFault("task '{}': {}", task.task.name,
                       error ? error->message : fmt::format("stream {} was reset", stream));
  }

  void Complete(TaskId id) {
    const auto task = tasks_.find(id);
    graph_->Complete(id, WorkerOf(task->second.place.lane));
    tasks_.erase(task);
    ++counts_.completed;
  }

  uint32_t WorkerOf(size_t lane) const {
    return ByHost() ? static_cast<uint32_t>(lane % LanesOfPool()) : 0;
  }

  // Takes from the graph what it has released, until nothing changes.
  void Release() {
    for (bool again = true; again;) {
      Sweep();
      again = false;
      for (uint32_t pool = 0; pool < options_.graph.pools; ++pool) {
        again = (ByHost() ? ReleaseToLanes(pool) : ReleaseIssued(pool)) || again;
      }
    }
  }

  bool ReleaseIssued(uint32_t pool) {
    bool any = false;
    for (TaskId id = graph_->Pop(pool); id != kNoTask; id = graph_->Pop(pool)) {
      Task& task = tasks_.at(id);
      task.released = true;
      if (task.completed) Complete(id);
      any = true;
    }
    return any;
  }

  bool ReleaseToLanes(uint32_t pool) {
    bool any = false;
    for (uint32_t worker = 0; worker < LanesOfPool(); ++worker) {
      const size_t lane = size_t{pool} * LanesOfPool() + worker;
      if (!issued_[lane].empty() || lanes_.failed(lane)) continue;
      const TaskId id = graph_->Pop(pool, worker);
      if (id == kNoTask) continue;
      Task& task = tasks_.at(id);
      task.released = true;
      Issue(id, task, lane);
      any = true;
    }
    return any;
  }

  // Something is outstanding.
  void WaitForOne() {
    pacer_.Flush();
    context_.scheduler().Progress();
    Release();
  }

  TaskId FirstLeft() const {
    return std::min_element(tasks_.begin(), tasks_.end(),
                            [](const auto& a, const auto& b) { return a.first < b.first; })
        ->first;
  }

  flex::RuntimeContext& context_;
  GraphIssueOptions options_;
  IssueLanes lanes_;
  IssuePacer pacer_;
  size_t next_lane_ = 0;  // of Dispatch::kRoundRobin
  std::unique_ptr<runtime::TaskGraph> graph_;
  std::unordered_map<TaskId, Task> tasks_;  // submitted, and not completed
  std::vector<std::deque<TaskId>> issued_;  // by lane, oldest first
  std::set<TensorId> placed_;               // address spaces that the graph knows
  uint64_t outstanding_ = 0;                // tasks in issued_
  IssueCounts counts_;
  std::optional<Error> error_;
};

}  // namespace

std::unique_ptr<Issuer> Issue::TaskGraph(flex::RuntimeContext& context,
                                         const GraphIssueOptions& options) {
  return std::make_unique<GraphIssuer>(context, options);
}

}  // namespace spyre::runtime
