// SPDX-License-Identifier: Apache-2.0
// Issue modes: the same tasks, put on the card in the order that streams give them or in the order
// that a task graph finds (the issue-mode RFC: issue(streams(...)) and issue(task_graph(...))).
//
//   auto issuer = Issue::TaskGraph(context);                      // or Issue::Streams(context)
//   issuer->Submit({"load x", Unit::kDmaIn, {{x, Access::kOut}}, copy_x});
//   issuer->Submit({"relu", Unit::kCores, {{x, Access::kIn}, {y, Access::kOut}}, launch_relu});
//   issuer->Synchronize();
//
// A task is whatever its `enqueue` puts on the one stream that it is given. Streams orders what the
// caller orders: tasks of one stream, and `after`. TaskGraph orders what the tasks touch, and
// `after` where TaskGraphOptions::deps allows it.
//
// Made by the application; the context must outlive it, and what tasks touch must live until
// Synchronize. Threads: one at a time. Errors: Submit throws Error(kBadInput) for a task that
// cannot be taken, and takes nothing. What goes wrong later, in `enqueue` or on the card, is kept:
// tasks that depend on it are not executed, others go on as far as their streams do, and every
// Synchronize throws the first such error, which names the task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/task_graph.h"
#include "runtime/spyre/issue/issue_options.h"
#include "runtime/spyre/issue/issue_pacing.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// What a task keeps busy; the pools of a task graph.
enum class Unit : uint8_t { kDmaIn, kDmaOut, kCores };
inline constexpr uint32_t kUnits = 3;

// The whole device image of a tensor; of a part, give a tensor over that part (TensorAt).
struct TensorAccess {
  SpyreTensor tensor;
  Access access;
};

struct IssuedTask {
  std::string name;
  Unit unit = Unit::kCores;
  std::vector<TensorAccess> accesses;
  // Called once, when the task is issued: by Submit, or by a later call of the issuer.
  std::function<void(SpyreStream& stream)> enqueue;
  std::vector<TaskId> after = {};  // earlier tasks that it waits for besides
  // Streams: of the context; else dealt out in turn. TaskGraph with Dispatch::kAffinity or kHash:
  // tasks of one number share a stream.
  std::optional<uint32_t> stream = std::nullopt;
  int32_t priority = 0;  // TaskGraph with ready policy `priority`: higher goes first
};

struct IssueCounts {
  uint64_t tasks = 0;
  uint64_t edges = 0;      // TaskGraph: dependencies found, and explicit ones
  uint64_t waits = 0;      // EVENT_WAITs between streams
  uint64_t completed = 0;  // seen by the host
  uint64_t failed = 0;     // or not executed, after an error
};

class Issuer {
 public:
  virtual ~Issuer() = default;
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  // The task's number, from 0. Returns at once; a task graph whose window is full waits until a
  // task has completed (TaskWindow::overflow `stall`).
  virtual TaskId Submit(IssuedTask task) = 0;
  // Waits until every task has completed or cannot.
  virtual void Synchronize() = 0;
  virtual IssueCounts Counts() const = 0;

 protected:
  Issuer() = default;
};

struct StreamIssueOptions {
  uint32_t streams = 1;  // for tasks that name none
  IssuePacing pacing = {};
};

struct GraphIssueOptions {
  // pools and workers are set by the issuer. Overflow `benchmark` is refused: it forgets tasks that
  // run.
  TaskGraphOptions graph;
  // Events by default: docs/task-graph.md has what each costs. With events, ready and start
  // policies have nothing to decide and must be the default ones; with the host, streams that are
  // free take tasks, and dispatch must be the default one.
  Release release = Release::kEvents;
  uint32_t streams = 8;                  // kEvents: that tasks are spread over
  Dispatch dispatch = Dispatch::kChain;  // kEvents
  uint32_t streams_per_unit = 2;         // kHost: tasks of one unit on the card at a time
  // kHost: a ready queue for each unit; else one queue, from which any of the kUnits times
  // streams_per_unit streams takes.
  bool pool_by_unit = true;
  IssuePacing pacing = {};
};

struct Issue {
  static std::unique_ptr<Issuer> Streams(flex::RuntimeContext& context,
                                         const StreamIssueOptions& options = {});
  static std::unique_ptr<Issuer> TaskGraph(flex::RuntimeContext& context,
                                           const GraphIssueOptions& options = {});
};

}  // namespace spyre::runtime
