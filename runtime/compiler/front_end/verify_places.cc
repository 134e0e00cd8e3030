// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/verify_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

// One buffer as the operations touch it, in the planner's time: positions among what is computed.
struct Use {
  int64_t first = -1;
  int64_t last = -1;
  bool is_written_first = false;
  int parts = 1;  // that the operation which writes it cuts it into
  // What its writer may write over: operands that it walks as it walks its result.
  std::vector<std::string> replaces;
};

// One access of an operation.
struct PlannedAccess {
  const GraphOp* op;
  const WorkDivision* division;  // of the operation
  std::vector<int> loop;         // of each dimension of the buffer, -1: none
};

// Slice and number of slices of each dimension of a buffer.
using CoreRanges = std::vector<std::pair<int, int>>;

struct PlacedBuffer {
  const LxBufferPlan* plan;
  int64_t begin;
  int64_t end;
};

class PlaceChecker {
 public:
  PlaceChecker(const FrontEndResult& graph, const FrontEndOptions& options,
               std::vector<Finding>& findings)
      : graph_(graph), options_(options), findings_(findings) {
    for (const GraphOp& op : graph.graph.ops) {
      if (!op.IsComputed()) continue;
      Touch(op, static_cast<int64_t>(computed_.size()));
      computed_.push_back(&op);
    }
    for (size_t depth = DeepestLoop(); depth > 0; --depth) ExtendOverLoops(depth);
  }

  void Run() {
    for (const auto& [name, use] : uses_) CheckLifetime(name, use);
    std::vector<PlacedBuffer> lx, pool;
    std::set<std::string> names;
    for (const LxBufferPlan& plan : graph_.lx.buffers) {
      if (!names.insert(plan.name).second)
        Report("no_place", plan.name, fmt::format("buffer '{}' has two places", plan.name));
      if (uses_.count(plan.name) == 0) continue;
      CheckBytes(plan);
      if (plan.lx_address) {
        const int64_t bytes = BytesOfCore(plan);
        CheckCapacity(plan, bytes);
        CheckCores(plan);
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
    const WorkDivision& division = graph_.divisions.at(op.name);
    const auto touch = [&](const std::string& buffer, const std::vector<int>& loop) -> Use& {
      Use& use = uses_[buffer];
      if (use.first < 0) use.first = now;
      use.last = now;
      accesses_[buffer].push_back({&op, &division, loop});
      return use;
    };
    for (const GraphRead& read : op.reads) touch(read.buffer, read.loop);
    const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
    std::vector<int> own(op.ranges.size());
    std::iota(own.begin(), own.end(), 0);
    const std::string& target = mutates ? op.layout.target : op.name;
    const bool is_new = uses_.count(target) == 0;
    Use& written = touch(target, own);
    written.is_written_first = written.is_written_first || is_new;
    written.parts = 1;
    for (size_t i = 0; i < op.ranges.size(); ++i) written.parts *= division.splits[i];
    const std::vector<std::string>& in_place = options_.lx.in_place;
    if (std::find(in_place.begin(), in_place.end(), op.op) == in_place.end()) return;
    for (const GraphRead& read : op.reads) {
      const bool alike = AllFit(op.reads, [&](const GraphRead& other) {
        return other.buffer != read.buffer || other.loop == own;
      });
      if (alike) written.replaces.push_back(read.buffer);
    }
  }

  size_t DeepestLoop() const {
    size_t deepest = 0;
    for (const GraphOp* const op : computed_)
      deepest = std::max(deepest, op->loop ? op->loop->group_id.size() : 0);
    return deepest;
  }

  // What is there before or behind a loop, and what an iteration leaves to the next one, is used as
  // long as the loop runs.
  void ExtendOverLoops(size_t depth) {
    const auto path = [&](size_t i) {
      std::vector<int> id = computed_[i]->loop ? computed_[i]->loop->group_id : std::vector<int>();
      if (id.size() < depth) return std::vector<int>();
      id.resize(depth);
      return id;
    };
    for (size_t begin = 0, end = 0; begin < computed_.size(); begin = end) {
      for (end = begin + 1; end < computed_.size() && path(end) == path(begin);) ++end;
      if (path(begin).empty()) continue;
      const auto first = static_cast<int64_t>(begin), last = static_cast<int64_t>(end) - 1;
      for (auto& [name, use] : uses_) {
        if (use.last < first || use.first > last) continue;
        const bool inside = use.first >= first && use.last <= last && use.is_written_first;
        if (inside) continue;
        use.first = std::min(use.first, first);
        use.last = std::max(use.last, last);
      }
    }
  }

  void CheckBytes(const LxBufferPlan& plan) {
    const int64_t bytes = graph_.graph.LayoutOf(plan.name).device.DeviceBytes();
    if (plan.device_bytes == bytes) return;
    Report("no_place", plan.name,
           fmt::format("the place of '{}' is for {} bytes, its layout has {}", plan.name,
                       plan.device_bytes, bytes));
  }

  // ---------------------------------------------------------------- which core has what

  // The part of a buffer that `core` touches. Cores count through the slices, the first loop
  // fastest; in a matmul whose sum is divided, that loop.
  static CoreRanges PartOf(const PlannedAccess& access, int core) {
    const std::vector<int>& splits = access.division->splits;
    std::vector<int> slice(splits.size(), 0);
    int rest = core;
    const bool sums_first = access.op->reduction_type == "batchmatmul" && !splits.empty();
    if (sums_first) {
      slice.back() = rest % splits.back();
      rest /= splits.back();
    }
    for (size_t l = 0; l + (sums_first ? 1 : 0) < splits.size(); ++l) {
      slice[l] = rest % splits[l];
      rest /= splits[l];
    }
    CoreRanges part;
    part.reserve(access.loop.size());
    for (const int loop : access.loop) {
      const auto l = static_cast<size_t>(std::max(loop, 0));
      part.emplace_back(loop < 0 ? 0 : slice[l], loop < 0 ? 1 : splits[l]);
    }
    return part;
  }

  // Whether each core touches the same part of a buffer by both, without looking at each.
  static bool AreDividedAlike(const PlannedAccess& a, const PlannedAccess& b) {
    return a.loop == b.loop && a.op->reduction_type == b.op->reduction_type &&
           a.division->splits == b.division->splits;
  }

  // Equal slices of a part of a dimension are not those of the whole.
  bool CutsWhole(const PlannedAccess& access, const std::string& buffer) const {
    const std::vector<int>& splits = access.division->splits;
    std::vector<Extent> ranges = access.op->ranges;
    const std::vector<Extent>& reduced = access.op->reduction_ranges;
    ranges.insert(ranges.end(), reduced.begin(), reduced.end());
    const std::vector<Extent>& size = graph_.graph.LayoutOf(buffer).size;
    for (size_t d = 0; d < access.loop.size(); ++d) {
      const auto l = static_cast<size_t>(std::max(access.loop[d], 0));
      if (access.loop[d] >= 0 && splits[l] > 1 && ranges[l] != size[d]) return false;
    }
    return true;
  }

  // Whether the device has more of some dimension than the host, but for the end of a last stick.
  static bool HasGap(const StickLayout& layout) {
    const int64_t per_stick = ElementsPerStick(layout.format);
    int64_t walked = layout.stick_dim() < 0 ? per_stick : 1;
    for (size_t d = 0; d < layout.host_size.size(); ++d) {
      const bool in_stick = layout.stick_dim() == static_cast<int>(d);
      const int64_t size = layout.host_size[d];
      walked *= in_stick ? (size + per_stick - 1) / per_stick * per_stick : size;
    }
    int64_t device = 1;
    for (const int64_t size : layout.device_size) device *= size;
    return device != walked;
  }

  // Nobody brings data from the LX of one core to that of another.
  void CheckCores(const LxBufferPlan& plan) {
    if (options_.lx.to_the_letter) return;
    const std::vector<PlannedAccess>& accesses = accesses_.at(plan.name);
    const GraphOp* const writer = graph_.graph.Find(plan.name);
    if (writer == nullptr || !writer->IsComputed() || accesses.front().op != writer) {
      Report("lx_cores", plan.name,
             fmt::format("'{}' is not a result of one operation, and cannot be in LX", plan.name));
      return;
    }
    for (const PlannedAccess& access : accesses) {
      const bool same_loop = PathOf(*access.op) == PathOf(*writer);
      if (same_loop && access.op->op != "ReStickifyOpHBM") continue;
      Report("lx_cores", plan.name,
             fmt::format("'{}' is in LX, and '{}' {}", plan.name, access.op->name,
                         same_loop ? "moves data between cores" : "reads it in another loop"));
      return;
    }
    if (options_.lx.cores == 1) return;
    if (HasGap(graph_.graph.LayoutOf(plan.name).device)) {
      Report(
          "lx_cores", plan.name,
          fmt::format("'{}' is in LX, and its layout has room that no operation walks", plan.name));
      return;
    }
    const PlannedAccess& written = accesses.front();
    const int cores = written.division->cores_used;
    const std::vector<int>& splits = written.division->splits;
    for (size_t l = writer->ranges.size(); l < splits.size(); ++l) {
      if (splits[l] == 1) continue;
      Report("lx_cores", plan.name,
             fmt::format("'{}' is in LX, and each core has the sum over one of {} slices only",
                         plan.name, splits[l]));
      return;
    }
    for (const PlannedAccess& access : accesses) {
      const bool whole = CutsWhole(access, plan.name);
      const bool alike = AreDividedAlike(access, written);
      for (int core = 0; core < access.division->cores_used; ++core) {
        if (core < cores && whole && (alike || PartOf(access, core) == PartOf(written, core)))
          continue;
        Report("lx_cores", plan.name,
               fmt::format("'{}' is in LX, and core {} has not written the part of it that '{}' "
                           "reads there",
                           plan.name, core, access.op->name));
        return;
      }
    }
  }

  static std::vector<int> PathOf(const GraphOp& op) {
    return op.loop ? op.loop->group_id : std::vector<int>();
  }

  // ---------------------------------------------------------------- where it is

  // Where the planner is asked for the public one's habits, so is its size.
  int64_t BytesOfCore(const LxBufferPlan& plan) const {
    if (options_.lx.cores == 1) return plan.device_bytes;
    if (options_.lx.to_the_letter) return plan.core_bytes;
    const auto use = uses_.find(plan.name);
    return use == uses_.end() ? 0 : plan.device_bytes / use->second.parts;
  }

  // Comes from an operation that is computed elsewhere, or goes to one.
  bool GoesElsewhere(const std::string& name) const {
    const std::vector<GraphOp>& ops = graph_.graph.ops;
    return AnyFits(ops, [&](const GraphOp& op) {
      return op.kind == GraphOp::Kind::kExtern && (op.name == name || op.Reads(name));
    });
  }

  void CheckLifetime(const std::string& name, const Use& use) {
    const LxBufferPlan* plan = graph_.lx.Find(name);
    const bool is_argument = graph_.graph.FindInput(name) != nullptr ||
                             graph_.graph.IsOutput(name) || GoesElsewhere(name);
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
    if (!later.lx_address) return false;
    return std::find(replaced.begin(), replaced.end(), earlier.name) != replaced.end() &&
           later.lx_address == earlier.lx_address;
  }

  void CheckOverlaps(const std::vector<PlacedBuffer>& placed, const char* kind, const char* where) {
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
  std::vector<const GraphOp*> computed_;  // in order
  std::map<std::string, Use> uses_;
  std::map<std::string, std::vector<PlannedAccess>> accesses_;  // in order
};

}  // namespace

void FindPlacesThatAreWrong(const FrontEndResult& graph, const FrontEndOptions& options,
                            std::vector<Finding>& findings) {
  PlaceChecker(graph, options, findings).Run();
}

}  // namespace spyre::compiler
