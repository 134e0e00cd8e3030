// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/verify_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace spyre::compiler {
namespace {

// One buffer as the operations touch it, in the planner's time: positions among what is computed.
struct Use {
  int64_t first = -1;
  int64_t last = -1;
  int parts = 1;  // that the operation which writes it cuts it into
  // What its writer may write over: buffers that it reads.
  std::vector<std::string> replaces;
};

struct Placed {
  const LxBufferPlan* plan;
  int64_t begin;
  int64_t end;
};

class PlaceChecker {
 public:
  PlaceChecker(const FrontEndResult& graph, const FrontEndOptions& options,
               std::vector<Finding>& findings)
      : graph_(graph), options_(options), findings_(findings) {
    int64_t now = 0;
    for (const GraphOp& op : graph.graph.ops) {
      if (op.IsComputed()) Touch(op, now++);
    }
  }

  void Run() {
    for (const auto& [name, use] : uses_) CheckLifetime(name, use);
    std::vector<Placed> lx, pool;
    for (const LxBufferPlan& plan : graph_.lx.buffers) {
      if (plan.lx_address) {
        const int64_t bytes = BytesOfCore(plan);
        CheckCapacity(plan, bytes);
        lx.push_back({&plan, *plan.lx_address, *plan.lx_address + bytes});
      } else if (plan.pool_offset) {
        pool.push_back({&plan, *plan.pool_offset, *plan.pool_offset + plan.device_bytes});
        if (*plan.pool_offset < 0 || pool.back().end > graph_.lx.pool_bytes)
          Report("pool", plan.name,
                 fmt::format("'{}' ends at {} of a pool of {} bytes", plan.name, pool.back().end,
                             graph_.lx.pool_bytes));
      }
    }
    CheckOverlaps(lx, "lx_overlap", "LX");
    CheckOverlaps(pool, "pool", "the pool");
  }

 private:
  void Report(const char* kind, const std::string& subject, const std::string& message) {
    findings_.push_back({kind, subject, message});
  }

  void Touch(const GraphOp& op, int64_t now) {
    const auto touch = [&](const std::string& buffer) -> Use& {
      Use& use = uses_[buffer];
      if (use.first < 0) use.first = now;
      use.last = now;
      return use;
    };
    for (const GraphRead& read : op.reads) touch(read.buffer);
    const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
    Use& written = touch(mutates ? op.layout.target : op.name);
    const WorkDivision& division = graph_.divisions.at(op.name);
    written.parts = 1;
    for (size_t i = 0; i < op.ranges.size(); ++i) written.parts *= division.splits[i];
    for (const GraphRead& read : op.reads) written.replaces.push_back(read.buffer);
  }

  // Where the planner is asked for the public one's habits, so is its size.
  int64_t BytesOfCore(const LxBufferPlan& plan) const {
    if (options_.lx.cores == 1) return plan.device_bytes;
    if (options_.lx.to_the_letter) return plan.core_bytes;
    const auto use = uses_.find(plan.name);
    return use == uses_.end() ? 0 : plan.device_bytes / use->second.parts;
  }

  void CheckLifetime(const std::string& name, const Use& use) {
    const LxBufferPlan* plan = graph_.lx.Find(name);
    const bool is_argument = graph_.graph.FindInput(name) != nullptr || graph_.graph.IsOutput(name);
    if (plan == nullptr) {
      Report("no_place", name, fmt::format("buffer '{}' is not in the plan", name));
      return;
    }
    if (is_argument == (plan->lx_address || plan->pool_offset))
      Report("no_place", name,
             is_argument ? fmt::format("'{}' is an argument and has a place of its own", name)
                         : fmt::format("buffer '{}' has no place in LX or pool", name));
    if (plan->start > use.first || plan->end <= use.last)
      Report("lifetime", name,
             fmt::format("'{}' is touched by operations {} .. {} and lives {} .. {}", name,
                         use.first, use.last, plan->start, plan->end));
  }

  void CheckCapacity(const LxBufferPlan& plan, int64_t bytes) {
    if (*plan.lx_address >= 0 && *plan.lx_address % options_.lx.alignment == 0 &&
        *plan.lx_address + bytes <= options_.lx.capacity)
      return;
    Report("lx_capacity", plan.name,
           fmt::format(
               "'{}' has {} bytes of each core at {}; LX has {}, places are multiples of {}",
               plan.name, bytes, *plan.lx_address, options_.lx.capacity, options_.lx.alignment));
  }

  // The later one is written by the operation that reads the earlier one last.
  bool TakesThePlaceOf(const LxBufferPlan& later, const LxBufferPlan& earlier) const {
    const auto use = uses_.find(later.name);
    if (use == uses_.end() || earlier.end != later.start + 1) return false;
    const auto& replaced = use->second.replaces;
    return std::find(replaced.begin(), replaced.end(), earlier.name) != replaced.end() &&
           later.lx_address == earlier.lx_address;
  }

  void CheckOverlaps(const std::vector<Placed>& placed, const char* kind, const char* where) {
    for (size_t a = 0; a < placed.size(); ++a) {
      for (size_t b = a + 1; b < placed.size(); ++b) {
        const LxBufferPlan& one = *placed[a].plan;
        const LxBufferPlan& other = *placed[b].plan;
        const bool together = one.start < other.end && other.start < one.end;
        const bool overlap = placed[a].begin < placed[b].end && placed[b].begin < placed[a].end;
        if (!together || !overlap) continue;
        if (TakesThePlaceOf(one, other) || TakesThePlaceOf(other, one)) continue;
        Report(kind, other.name,
               fmt::format("'{}' at {} .. {} and '{}' at {} .. {} live in {} at the same time",
                           one.name, placed[a].begin, placed[a].end, other.name, placed[b].begin,
                           placed[b].end, where));
      }
    }
  }

  const FrontEndResult& graph_;
  const FrontEndOptions& options_;
  std::vector<Finding>& findings_;
  std::map<std::string, Use> uses_;
};

}  // namespace

void FindPlacesThatAreWrong(const FrontEndResult& graph, const FrontEndOptions& options,
                            std::vector<Finding>& findings) {
  PlaceChecker(graph, options, findings).Run();
}

}  // namespace spyre::compiler
