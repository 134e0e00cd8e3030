// SPDX-License-Identifier: Apache-2.0
// Puts the work of a random program on a card through an issuer: one task for each step of work, in
// the order of the host, which is that of sequential execution. Its records and waits are left out:
// what orders the tasks is the issuer's affair, or edges.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/spyre/issue/issue.h"
#include "tests/unit/runtime/flex/program_calls.h"

namespace spyre::test {

// For each step, earlier ones that it comes after.
using TaskEdges = std::vector<std::vector<size_t>>;

// Both touch a stick, `earlier` and `later` as said.
inline bool Conflict(const RandomProgram& program, const Step& earlier, bool earlier_writes,
                     const Step& later, bool later_writes) {
  for (uint32_t stick = 0; stick < program.sticks; ++stick) {
    if ((earlier_writes ? earlier.Writes(stick) : earlier.Reads(stick)) &&
        (later_writes ? later.Writes(stick) : later.Reads(stick))) {
      return true;
    }
  }
  return false;
}
inline bool Conflict(const RandomProgram& program, const Step& a, const Step& b) {
  return Conflict(program, a, true, b, true) || Conflict(program, a, true, b, false) ||
         Conflict(program, a, false, b, true);
}

// An edge for every pair of steps of which one writes what the other touches.
inline TaskEdges AllEdges(const RandomProgram& program) {
  TaskEdges edges(program.steps.size());
  for (size_t later = 0; later < edges.size(); ++later) {
    for (size_t earlier = 0; earlier < later; ++earlier) {
      if (Conflict(program, program.steps[earlier], program.steps[later])) {
        edges[later].push_back(earlier);
      }
    }
  }
  return edges;
}
// `percent` of them, at random.
inline TaskEdges SomeEdges(TaskEdges edges, uint32_t percent, std::mt19937& random) {
  for (std::vector<size_t>& before : edges) {
    before.erase(std::remove_if(before.begin(), before.end(),
                                [&](size_t) { return random() % 100 >= percent; }),
                 before.end());
  }
  return edges;
}

// What comes before what by edges, chains included.
class EdgeOrder {
 public:
  explicit EdgeOrder(const TaskEdges& edges) : before_(edges.size()) {
    for (size_t i = 0; i < edges.size(); ++i) {
      for (const size_t earlier : edges[i]) (before_[i] |= before_[earlier]).set(earlier);
    }
  }
  bool Ordered(size_t a, size_t b) const { return before_[a].test(b) || before_[b].test(a); }

 private:
  std::vector<std::bitset<ProgramOrder::kMaxSteps>> before_;
};

class ProgramTasks {
 public:
  // All must outlive the tasks. Each task states what it touches; `edges` are explicit besides.
  ProgramTasks(const RandomProgram& program, ProgramCalls& calls, runtime::Issuer& issuer,
               TaskEdges edges)
      : program_(program), calls_(calls), issuer_(issuer), edges_(std::move(edges)) {}

  // What waits for a stream or an event becomes Synchronize of the issuer, and so does the end.
  void IssueAll() {
    std::vector<runtime::TaskId> ids(program_.steps.size(), runtime::kNoTask);
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (step.kind == Step::Kind::kSyncStream || step.kind == Step::Kind::kSyncEvent) {
        issuer_.Synchronize();
      }
      if (!step.works()) continue;
      runtime::IssuedTask task = TaskOf(i);
      for (const size_t earlier : edges_[i]) task.after.push_back(ids[earlier]);
      ids[i] = issuer_.Submit(std::move(task));
      const runtime::IssueCounts counts = issuer_.Counts();
      most_in_flight_ = std::max(most_in_flight_, counts.tasks - counts.completed);
    }
    issuer_.Synchronize();
  }
  // Steps in the order in which they went to their streams.
  const std::vector<size_t>& enqueued() const { return enqueued_; }
  // Tasks that a task graph had not seen complete when it returned from a Submit.
  uint64_t most_in_flight() const { return most_in_flight_; }

 private:
  runtime::IssuedTask TaskOf(size_t i) {
    const Step& step = program_.steps[i];
    runtime::IssuedTask task;
    task.name = fmt::format("step {}", i);
    task.unit = step.kind == Step::Kind::kKernel ? runtime::Unit::kCores
                : step.kind == Step::Kind::kOut  ? runtime::Unit::kDmaOut
                                                 : runtime::Unit::kDmaIn;
    const auto touch = [&](uint32_t stick, runtime::Access access) {
      task.accesses.push_back(
          {runtime::TensorAt(calls_.Place(stick),
                             DefaultLayout({step.count, kStick / 2}, DataFormat::kSen169Fp16)),
           access});
    };
    const bool kernel = step.kind == Step::Kind::kKernel;
    if (kernel || step.kind == Step::Kind::kOut) touch(step.from, runtime::Access::kIn);
    if (step.kind != Step::Kind::kOut) {
      touch(step.to, kernel ? runtime::Access::kInOut : runtime::Access::kOut);
    }
    task.enqueue = [this, i](runtime::SpyreStream& stream) {
      enqueued_.push_back(i);
      calls_.Make(i, stream.flex_stream());
    };
    // Most tasks name their stream, which a task graph ignores; others are dealt out.
    if (step.value % 4 != 0) task.stream = step.stream;
    task.priority = static_cast<int32_t>(step.value >> 8 & 7);
    return task;
  }

  const RandomProgram& program_;
  ProgramCalls& calls_;
  runtime::Issuer& issuer_;
  TaskEdges edges_;
  std::vector<size_t> enqueued_;
  uint64_t most_in_flight_ = 0;
};

// Any window up to 64 tasks, numbers of streams, and of what the host decides: policies and when it
// starts.
inline runtime::GraphIssueOptions RandomGraphOptions(runtime::Release release, const char* deps,
                                                     std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  runtime::GraphIssueOptions options;
  options.release = release;
  options.graph.deps = runtime::DependenciesOf(deps);
  options.graph.window.tasks = 1u << below(7);
  options.streams = 1 + below(8);
  options.streams_per_unit = 1 + below(4);
  if (release == runtime::Release::kHost) {
    options.graph.ready = static_cast<runtime::ReadyPolicy>(below(3));
    // Fewer than fill the window, which would wait for ever.
    options.graph.start = runtime::StartPolicy::Threshold(below(options.graph.window.tasks));
  }
  return options;
}
// The edges that go with dependencies `deps`.
inline TaskEdges EdgesFor(const runtime::GraphIssueOptions& options, const RandomProgram& program,
                          std::mt19937& random) {
  if (!options.graph.deps.explicit_edges) return TaskEdges(program.steps.size());
  const bool inferred = options.graph.deps.infer != runtime::Inference::kNone;
  return SomeEdges(AllEdges(program), inferred ? 30 : 100, random);
}
inline std::string Text(const runtime::GraphIssueOptions& options) {
  return fmt::format("window {}, streams {}, of a unit {}, ready policy {}, start {}",
                     options.graph.window.tasks, options.streams, options.streams_per_unit,
                     static_cast<int>(options.graph.ready), options.graph.start.tasks);
}

}  // namespace spyre::test
