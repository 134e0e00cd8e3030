// SPDX-License-Identifier: Apache-2.0
// What the front end decided for a list of operations, in the few figures by which plans are
// compared. Pure functions, any thread. Bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/lx/lx_planning.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

struct FrontEndResult;

struct OperationFacts {
  std::string name, op;
  std::string splits;  // "32 x 1": slices of each of its loops, reductions last
  int cores = 1;
  std::string place;  // of its result: "lx 0", "pool 4096", "result"
};

// Of device memory, if every operation moves each stick of its operands that are there once in each
// iteration of its loops.
struct DeviceTraffic {
  int64_t bytes_read = 0, bytes_written = 0;
};

struct PlanFacts {
  std::string loops;                       // "2x[y 4x[z]] s"
  std::vector<OperationFacts> operations;  // in order of execution
  int64_t lx_bytes = 0;                    // of each core, that results take
  int64_t pool_bytes = 0;                  // of device memory, that other results take
  DeviceTraffic traffic;
};

DeviceTraffic TrafficOf(const Graph& graph, const LxPlan& lx);
// Of the loops around an operation, all counts, which are numbers.
int64_t IterationsOf(const GraphOp& op);

PlanFacts FactsOf(const FrontEndResult& result);

}  // namespace spyre::compiler
