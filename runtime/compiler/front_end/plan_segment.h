// SPDX-License-Identifier: Apache-2.0
// A run of neighbouring operations as the passes would compile it by itself, with a loop around it
// or without: what co_optimize.h compares. What comes into the run or leaves it is in device
// memory. Pure, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

struct SegmentPlan {
  int64_t cost = 0;        // by CoOptimizeCost
  int64_t traffic = 0;     // bytes from and to device memory
  int64_t steps = 0;       // executions of operations
  int64_t operations = 0;  // in the program
  std::vector<TileGroup> groups;
  std::map<std::string, std::vector<DimHint>> hints;  // by operation, of PlanLoop
  std::map<std::string, std::string> kept_out;        // of LX so that others have room, and why
};

// Of a graph whose results have places; groups, hints and kept_out are left empty.
SegmentPlan MeasurePlan(const Graph& graph, const LxPlan& lx, const FrontEndOptions& options);

class SegmentPlanner {
 public:
  // Both must outlive the object. `graph`: as `hints` leaves it.
  SegmentPlanner(const FrontEndResult& graph, const FrontEndOptions& options)
      : graph_(graph), options_(options) {}

  // Operations [first, last) in `groups`. Empty if a pass refuses it, as `refusal` says.
  std::optional<SegmentPlan> PlanRun(size_t first, size_t last,
                                     const std::vector<TileGroup>& groups,
                                     std::string& refusal) const;
  // ... in loops that are made for them.
  std::optional<SegmentPlan> PlanLoop(size_t first, size_t last,
                                      const std::vector<PlanLevel>& levels,
                                      std::string& refusal) const;
  // The whole list; no result is kept out of LX but those of kept_out.
  std::optional<SegmentPlan> PlanAsItIs(const std::vector<TileGroup>& groups,
                                        const std::map<std::string, std::string>& kept_out,
                                        std::string& refusal) const;
  // Bytes that no plan of the run saves: each operation moves what comes from outside and what goes
  // there once.
  int64_t LeastTraffic(size_t first, size_t last) const;

 private:
  Graph GraphOf(size_t first, size_t last) const;
  SegmentPlan Compile(Graph graph, const std::vector<TileGroup>& groups,
                      const std::map<std::string, std::string>* kept_out) const;

  const FrontEndResult& graph_;
  const FrontEndOptions& options_;
};

}  // namespace spyre::compiler
