// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/task_options.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/joined.h"

namespace spyre::runtime {
namespace {

template <typename T, size_t N>
T Named(const char* what, std::string_view name,
        const std::array<std::pair<std::string_view, T>, N>& values) {
  std::array<std::string_view, N> names;
  for (size_t i = 0; i < N; ++i) {
    if (values[i].first == name) return values[i].second;
    names[i] = values[i].first;
  }
  throw BadInput("no {} '{}'; there are: {}", what, name, Joined(names, ", "));
}

void CheckRange(const char* what, uint32_t value, uint32_t max) {
  if (value < 1 || value > max) {
    throw BadInput("task graph: {} is {}; it must be between 1 and {}", what, value, max);
  }
}

}  // namespace

void CheckOptions(const TaskGraphOptions& options) {
  const uint32_t window = options.window.tasks;
  CheckRange("window", window, kMaxWindow);
  if ((window & (window - 1)) != 0) {
    throw BadInput("task graph: a window of {} tasks; it must be a power of two", window);
  }
  CheckRange("pools", options.pools, kMaxPools);
  CheckRange("workers", options.workers, 1024);
  CheckRange("max_args", options.max_args, kMaxArgsLimit);
  CheckRange("max_fanout", options.max_fanout, kMaxWindow);
  if (options.start.tasks < -1) {
    throw BadInput("task graph: a start threshold of {} tasks; it must not be negative",
                   options.start.tasks);
  }
  if (options.conformance != Conformance::kStrict) return;
  if (options.deps.infer != Inference::kExact || options.deps.explicit_edges) {
    throw BadInput(
        "task graph: strict infers dependencies from equal regions only; other dependencies need "
        "safe");
  }
  if (options.ready != ReadyPolicy::kFifo) {
    throw BadInput("task graph: strict has FIFO ready queues only; other policies need safe");
  }
}

void CheckCycles(int64_t cycles) {
  if (cycles >= 0 && cycles <= kMaxCycles) return;
  throw BadInput("task graph: a task of {} cycles; there may be 0 to {}", cycles, kMaxCycles);
}

Conformance ConformanceOf(std::string_view name) {
  return Named<Conformance, 2>("conformance", name,
                               {{{"strict", Conformance::kStrict}, {"safe", Conformance::kSafe}}});
}

WindowOverflow WindowOverflowOf(std::string_view name) {
  return Named<WindowOverflow, 3>("window overflow", name,
                                  {{{"stall", WindowOverflow::kStall},
                                    {"abort", WindowOverflow::kAbort},
                                    {"benchmark", WindowOverflow::kBenchmark}}});
}

ReadyPolicy ReadyPolicyOf(std::string_view name) {
  return Named<ReadyPolicy, 3>("ready policy", name,
                               {{{"fifo", ReadyPolicy::kFifo},
                                 {"work_steal", ReadyPolicy::kWorkSteal},
                                 {"priority", ReadyPolicy::kPriority}}});
}

Dependencies DependenciesOf(std::string_view name) {
  return Named<Dependencies, 5>("kind of dependencies", name,
                                {{{"exact", {Inference::kExact, false}},
                                  {"bytes", {Inference::kBytes, false}},
                                  {"explicit", {Inference::kNone, true}},
                                  {"hybrid", {Inference::kExact, true}},
                                  {"hybrid_bytes", {Inference::kBytes, true}}}});
}

}  // namespace spyre::runtime
