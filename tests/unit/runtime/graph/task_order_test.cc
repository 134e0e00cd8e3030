// SPDX-License-Identifier: Apache-2.0
// Random programs on safe graphs of every policy, against an oracle that compares all pairs of
// accesses: a task is ready exactly when no earlier task that it conflicts with, or that it was put
// after, is unfinished.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "base/ranges.h"
#include "tests/unit/runtime/graph/graph_fixture.h"
#include "tests/unit/runtime/graph/random_regions.h"

namespace spyre::runtime::task_order_test {
namespace {

struct OracleAccess {
  Access access;
  Region region;
  ByteSet bytes;
};

struct OracleTask {
  enum class State { kOpen, kSubmitted, kRunning, kDone } state = State::kOpen;
  std::vector<OracleAccess> accesses;
  std::vector<TaskId> before;  // what must be done first
};

class Program {
 public:
  Program(uint32_t seed, const char* deps) : random_(seed) {
    options_ = Safe(deps, 1u << (2 + random_() % 4));
    options_.pools = 1 + random_() % 3;
    options_.ready = static_cast<ReadyPolicy>(random_() % 3);
    options_.workers = 1 + random_() % 3;
    graph_ = TaskGraph::Create(options_);
    const bool tiled = seed % 2 == 1;
    const TensorId tensors = 1 + random_() % 3;
    for (TensorId tensor = 0; tensor < tensors; ++tensor) {
      places_.push_back(tiled ? TiledPlace(random_, tensor) : RandomPlace(random_, tensor));
    }
    // Few regions, so that equal ones are frequent.
    for (int i = 0; i < (tiled ? 16 : 8); ++i) {
      const TensorPlace& place = places_[random_() % places_.size()];
      regions_.push_back(tiled ? TiledRegion(random_, place) : RandomRegion(random_, place));
    }
  }

  // Allocates up to `tasks` tasks and runs them, in random turns, checking after every turn.
  void Run(size_t tasks) {
    while (tasks_.size() < tasks || graph_->active() > 0) {
      switch (random_() % 4) {
        case 0:
          if (tasks_.size() < tasks) AllocOne();
          break;
        case 1:
          SubmitOne();
          break;
        case 2:
          PopOne();
          break;
        default:
          CompleteOne();
      }
      ASSERT_EQ(Ready(), ExpectedReady());
    }
    graph_->FinishOrchestration();
    EXPECT_TRUE(graph_->Finished());
  }

  // Submits all and simulates.
  void Simulate(size_t tasks) {
    options_.window.tasks = 256;
    graph_ = TaskGraph::Create(options_);
    while (tasks_.size() < tasks) AllocOne();
    while (!open_.empty()) SubmitOne();
    const SimulationWorkers workers{3, std::vector<uint32_t>(options_.pools, 2)};
    const Simulation result = graph_->Simulate(workers);
    ASSERT_EQ(result.trace.size(), tasks);
    std::vector<TraceEntry> of_task(tasks);
    for (const TraceEntry& entry : result.trace) of_task[static_cast<size_t>(entry.task)] = entry;
    for (size_t task = 0; task < tasks; ++task) {
      for (const TaskId before : tasks_[task].before) {
        ASSERT_GE(of_task[task].start_cycle, of_task[static_cast<size_t>(before)].end_cycle);
      }
      for (size_t other = 0; other < task; ++other) {
        ASSERT_TRUE(of_task[task].worker != of_task[other].worker ||
                    of_task[task].start_cycle >= of_task[other].end_cycle ||
                    of_task[other].start_cycle >= of_task[task].end_cycle);
      }
    }
  }

 private:
  using State = OracleTask::State;

  void AllocOne() {
    const auto pool = static_cast<uint32_t>(random_() % options_.pools);
    const auto cycles = static_cast<int64_t>(1 + random_() % 50);
    const TaskId task = AllocUnlessStuck(
        {graph_->Function("f"), pool, static_cast<int32_t>(random_() % 3), cycles});
    if (task == kNoTask) return;
    ASSERT_EQ(task, static_cast<TaskId>(tasks_.size()));
    tasks_.emplace_back();
    open_.push_back(task);
    const size_t accesses = random_() % 4;
    for (size_t i = 0; i < accesses; ++i) {
      const Region& region = regions_[random_() % regions_.size()];
      if (placed_.insert(region.tensor).second) graph_->PlaceTensor(places_[region.tensor]);
      const auto access = static_cast<Access>(1 + random_() % 3);
      graph_->Add(task, access, region);
      tasks_.back().accesses.push_back({access, region, BytesOf(region, places_[region.tensor])});
    }
    if (options_.deps.explicit_edges && task > 0 && random_() % 3 == 0) {
      const auto before = static_cast<TaskId>(random_() % static_cast<uint64_t>(task));
      // An edge from a task that is not submitted could close a cycle with an inferred one.
      if (tasks_[static_cast<size_t>(before)].state != State::kOpen) {
        graph_->After(task, before);
        tasks_.back().before.push_back(before);
      }
    }
  }

  // A window full of tasks that wait for an open one is the orchestration's own fault.
  TaskId AllocUnlessStuck(const TaskSpec& spec) {
    try {
      return graph_->Alloc(spec);
    } catch (const Error&) {
      EXPECT_FALSE(open_.empty());
      return kNoTask;
    }
  }

  void SubmitOne() {
    if (open_.empty()) return;
    const size_t at = random_() % open_.size();
    const TaskId id = open_[at];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    OracleTask& task = tasks_[static_cast<size_t>(id)];
    for (const TaskId earlier : submitted_) {
      if (Conflict(task, tasks_[static_cast<size_t>(earlier)])) task.before.push_back(earlier);
    }
    task.state = State::kSubmitted;
    submitted_.push_back(id);
    graph_->Submit(id);
  }

  void PopOne() {
    const TaskId id = graph_->Pop(random_() % options_.pools, random_() % options_.workers);
    if (id == kNoTask) return;
    tasks_[static_cast<size_t>(id)].state = State::kRunning;
    running_.push_back(id);
  }

  void CompleteOne() {
    if (running_.empty()) return;
    const size_t at = random_() % running_.size();
    const TaskId id = running_[at];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    tasks_[static_cast<size_t>(id)].state = State::kDone;
    graph_->Complete(id, random_() % options_.workers);
  }

  bool Conflict(const OracleTask& a, const OracleTask& b) const {
    for (const OracleAccess& x : a.accesses) {
      for (const OracleAccess& y : b.accesses) {
        if (!Writes(x.access) && !Writes(y.access)) continue;
        if (options_.deps.infer == Inference::kExact && x.region == y.region) return true;
        if (options_.deps.infer == Inference::kBytes && (x.bytes & y.bytes).any()) return true;
      }
    }
    return false;
  }

  std::vector<TaskId> Ready() const {
    std::vector<TaskId> ready;
    for (uint32_t pool = 0; pool < options_.pools; ++pool) {
      for (const TaskId task : graph_->Ready(graph_->QueueOf(pool))) ready.push_back(task);
    }
    std::sort(ready.begin(), ready.end());
    return ready;
  }
  std::vector<TaskId> ExpectedReady() const {
    std::vector<TaskId> ready;
    for (size_t id = 0; id < tasks_.size(); ++id) {
      const OracleTask& task = tasks_[id];
      if (task.state != State::kSubmitted) continue;
      if (AllFit(task.before, [this](TaskId before) {
            return tasks_[static_cast<size_t>(before)].state == State::kDone;
          })) {
        ready.push_back(static_cast<TaskId>(id));
      }
    }
    return ready;
  }

  std::mt19937 random_;
  TaskGraphOptions options_;
  std::unique_ptr<TaskGraph> graph_;
  std::vector<TensorPlace> places_;
  std::set<TensorId> placed_;  // each before its first use, some after others are in use
  std::vector<Region> regions_;
  std::vector<OracleTask> tasks_;
  std::vector<TaskId> open_, submitted_, running_;
};

class TaskOrder : public ::testing::TestWithParam<const char*> {};

TEST_P(TaskOrder, ATaskIsReadyExactlyWhenWhatItConflictsWithIsDone) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Program(seed, GetParam()).Run(60);
    if (HasFatalFailure()) return;
  }
}

TEST_P(TaskOrder, ASimulationOverlapsNoConflictAndNoWorker) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Program(seed, GetParam()).Simulate(100);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Dependencies, TaskOrder,
                         ::testing::Values("exact", "bytes", "explicit", "hybrid", "hybrid_bytes"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace spyre::runtime::task_order_test
