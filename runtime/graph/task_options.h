// SPDX-License-Identifier: Apache-2.0
// What a task graph is made of: identifiers, the choices of one graph and the names by which
// configurations know them.
//
// Values only. Errors: Error(kBadInput) for an unknown name (with the names there are) and for
// choices that exclude each other.
#pragma once

#include <cstdint>
#include <string_view>

namespace spyre::runtime {

// Tasks are numbered from 0 in the order of their allocation; a number is never used twice.
using TaskId = int64_t;
inline constexpr TaskId kNoTask = -1;

// strict: the public pto-isa runtime at commit e9edc22, quirks included. safe: every hazard
// ordered, every misuse an error. docs/task-graph.md has the differences.
enum class Conformance : uint8_t { kSafe, kStrict };

// What the allocation of a task does when `tasks` tasks are in flight: wait for the oldest one
// (Alloc answers kNoTask until it has completed), give the orchestration up, or forget the older
// half, for measuring the orchestration alone.
enum class WindowOverflow : uint8_t { kStall, kAbort, kBenchmark };
struct TaskWindow {
  uint32_t tasks = 8192;  // a power of two
  WindowOverflow overflow = WindowOverflow::kStall;
};

// Which ready task of a pool goes first: the one that became ready first; the youngest of the
// worker's own and else the oldest of another's; the one with the highest priority.
enum class ReadyPolicy : uint8_t { kFifo, kWorkSteal, kPriority };

// Whose accesses conflict: those of equal regions, or those that share a byte.
enum class Inference : uint8_t { kNone, kExact, kBytes };
struct Dependencies {
  Inference infer = Inference::kExact;
  bool explicit_edges = false;  // TaskGraph::After is allowed; with inference: hybrid, the union
};

// From when on Pop hands out tasks: once more than `tasks` tasks are allocated, or once the
// orchestration has ended. The end of the orchestration opens either gate.
struct StartPolicy {
  static StartPolicy Threshold(int64_t tasks) { return {tasks}; }
  static StartPolicy AfterOrchestration() { return {-1}; }
  int64_t tasks = 0;  // -1: after the orchestration
};

struct TaskGraphOptions {
  Conformance conformance = Conformance::kSafe;
  Dependencies deps;
  TaskWindow window;
  uint32_t pools = 1;  // kinds of execution units, each with a ready queue of its own
  ReadyPolicy ready = ReadyPolicy::kFifo;
  uint32_t workers = 1;  // of each pool, for work_steal: deques
  StartPolicy start;
  bool trace = true;  // Simulate keeps a TraceEntry for each task
  uint32_t max_args = 16;
  uint32_t max_fanout = 512;  // strict only: in safe, the lists grow
};

inline constexpr int64_t kMaxCycles = int64_t{1} << 40;  // of one task
inline constexpr uint32_t kMaxPools = 256;
inline constexpr uint32_t kMaxWindow = 1u << 20;
inline constexpr uint32_t kMaxArgsLimit = 256;

// Throws BadInput unless the window is a power of two, all limits are in range, and strict goes
// with exact inference and FIFO queues, which is all that its original has.
void CheckOptions(const TaskGraphOptions& options);
// Throws BadInput unless it is between 0 and kMaxCycles.
void CheckCycles(int64_t cycles);

Conformance ConformanceOf(std::string_view name);        // strict, safe
WindowOverflow WindowOverflowOf(std::string_view name);  // stall, abort, benchmark
ReadyPolicy ReadyPolicyOf(std::string_view name);        // fifo, work_steal, priority
// exact, bytes, explicit, hybrid (exact and explicit), hybrid_bytes
Dependencies DependenciesOf(std::string_view name);

}  // namespace spyre::runtime
