// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/lx/lx_planning.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/lx/core_view.h"
#include "runtime/compiler/lx/lx_reasons.h"
#include "runtime/compiler/lx/pool_planning.h"

namespace spyre::compiler {
namespace {

bool HasName(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int CoresOf(const LxOperation& operation) {
  return std::accumulate(operation.splits.begin(), operation.splits.end(), 1, std::multiplies<>());
}

// A reduction whose own loops are split leaves partial results on all cores but one.
bool LeavesPartialResults(const LxOperation& operation) {
  for (size_t i = 0; i < operation.splits.size(); ++i) {
    if (operation.splits[i] > 1 && operation.ir.output.index.coefficient[i] == 0) return true;
  }
  return false;
}

bool SameLayout(const StickLayout& a, const StickLayout& b) {
  return a.device_size == b.device_size && a.stride_map == b.stride_map && a.format == b.format;
}

bool SameIndex(const IndexExpression& a, const IndexExpression& b) {
  return a.constant == b.constant && a.coefficient == b.coefficient;
}

struct Touch {
  size_t operation;
  const TensorAccess* access;
  bool is_write;
};

class Planner {
 public:
  Planner(const LxGraph& graph, const LxOptions& options) : graph_(graph), options_(options) {
    Check();
    for (size_t i = 0; i < graph.operations.size(); ++i) {
      const OpIr& op = graph.operations[i].ir;
      for (const TensorAccess& input : op.inputs) AddTouch({i, &input, false});
      AddTouch({i, &op.output, true});
      if (!graph.operations[i].may_stay_in_lx)
        barred_.emplace(op.output.name, graph.operations[i].stays_out);
    }
    for (const auto& [name, pin] : options.pins)
      if (!pin.in_lx) barred_.emplace(name, "the plan has it in device memory");
    ExtendOverLoops();
    for (size_t b = 0; b < touches_.size(); ++b) {
      LxBufferPlan& buffer = plan_.buffers[b];
      buffer.cores = CoresOfBuffer(touches_[b], buffer.name, buffer.reason);
    }
  }

  LxPlan Run() {
    PlaceInScratchpad();
    PlaceRest();
    return std::move(plan_);
  }

 private:
  void Check() const {
    std::set<std::string> written;
    for (const LxOperation& operation : graph_.operations) {
      CheckOp(operation.ir);
      const bool splits = operation.splits.size() == operation.ir.loops.size() &&
                          AllFit(operation.splits, [](int s) { return s >= 1 && s <= kMaxCores; });
      if (!splits || CoresOf(operation) > kMaxCores) {
        throw BadInput(
            "operation '{}' needs one split of 1 to {} for each of its {} loops, at most "
            "{} cores in all",
            operation.ir.name, kMaxCores, operation.ir.loops.size(), kMaxCores);
      }
      for (const TensorAccess& input : operation.ir.inputs) {
        if (written.count(input.name) == 0 && !HasName(graph_.inputs, input.name)) {
          throw BadInput("operation '{}' reads '{}', which is neither an input nor written before",
                         operation.ir.name, input.name);
        }
      }
      written.insert(operation.ir.output.name);
    }
  }

  void AddTouch(const Touch& touch) {
    const auto now = static_cast<int64_t>(touch.operation);
    const std::string& name = touch.access->name;
    const auto [it, is_new] = index_.emplace(name, touches_.size());
    if (is_new) {
      LxBufferPlan buffer;
      buffer.name = name;
      buffer.start = now;
      buffer.device_bytes = touch.access->layout.DeviceBytes();
      buffer.is_input = HasName(graph_.inputs, name);
      plan_.buffers.push_back(std::move(buffer));
      touches_.emplace_back();
    }
    plan_.buffers[it->second].end = now + 1;
    std::vector<Touch>& touches = touches_[it->second];
    const bool again = AnyFits(touches, [&](const Touch& other) {
      return other.operation == touch.operation && other.is_write == touch.is_write &&
             SameIndex(other.access->index, touch.access->index);
    });
    if (!again) touches.push_back(touch);
  }

  // What comes into a loop or leaves it lives as long as the whole loop runs; so does what one
  // iteration leaves to the next.
  void ExtendOverLoops() {
    size_t depth = 0;
    for (const LxOperation& operation : graph_.operations) {
      depth = std::max(depth, operation.loops.size());
    }
    for (; depth > 0; --depth) {
      for (size_t first = 0; first < graph_.operations.size();) {
        const std::vector<int>& path = graph_.operations[first].loops;
        size_t last = first;
        const auto in_loop = [&](size_t i) {
          const std::vector<int>& other = graph_.operations[i].loops;
          return other.size() >= depth &&
                 std::equal(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth),
                            other.begin());
        };
        if (path.size() >= depth) {
          while (last + 1 < graph_.operations.size() && in_loop(last + 1)) ++last;
          ExtendOver(static_cast<int64_t>(first), static_cast<int64_t>(last) + 1);
        }
        first = last + 1;
      }
    }
  }

  void ExtendOver(int64_t begin, int64_t end) {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      LxBufferPlan& buffer = plan_.buffers[b];
      const bool touched = buffer.start < end && buffer.end > begin;
      if (!touched) continue;
      const bool crosses = buffer.start < begin || buffer.end > end;
      const bool carried = !touches_[b].front().is_write;  // read before the loop wrote it
      if (!crosses && !carried) continue;
      buffer.start = std::min(buffer.start, begin);
      buffer.end = std::max(buffer.end, end);
    }
  }

  // reason: why no core of theirs can keep it, or which part each keeps.
  int CoresOfBuffer(const std::vector<Touch>& touches, const std::string& name,
                    std::string& reason) const {
    if (options_.cores == 1) {
      reason = "there is one core, which holds all of it";
      return 1;
    }
    int cores = 1;
    int writing_cores = kMaxCores;  // an input is there before
    std::optional<CoreView> first;
    for (const Touch& touch : touches) {
      const LxOperation& operation = graph_.operations[touch.operation];
      cores = std::max(cores, CoresOf(operation));
      if (touch.is_write) writing_cores = std::min(writing_cores, CoresOf(operation));
      const bool read = touches.size() > 1;
      if (!read && (options_.to_the_letter || !LeavesPartialResults(operation))) break;
      const std::optional<CoreView> view =
          ViewOfAccess(operation.ir, *touch.access, operation.splits, operation.k_fastest);
      if (!view && options_.to_the_letter) {
        throw CompileError("AssertionError", "lx_split_placement",
                           fmt::format("operation '{}': no device dimension of '{}' can carry the "
                                       "split of its loops",
                                       operation.ir.name, name))
            .Subject(operation.ir.name);
      }
      if (!options_.to_the_letter && !CutsWhole(operation.ir, *touch.access, operation.splits)) {
        reason = fmt::format("'{}' divides a slice of it, so that its cores hold other parts",
                             operation.ir.name);
        return LxBufferPlan::kCoresDiffer;
      }
      if (!view || (touch.is_write && LeavesPartialResults(operation)) ||
          (first && !(*first == *view))) {
        reason = MismatchText(operation.ir.name, first, view);
        return LxBufferPlan::kCoresDiffer;
      }
      first = view;
    }
    reason =
        fmt::format("every operation that touches it has the same core hold the same part ({})",
                    first ? ViewText(*first) : "one operation");
    // A core that reads must have written its copy.
    if (!options_.to_the_letter && cores > writing_cores) {
      reason = fmt::format("it is read on {} cores, and {} have written it", cores, writing_cores);
      return LxBufferPlan::kCoresDiffer;
    }
    return cores;
  }

  // A buffer that is not has its reason from here on.
  bool IsCandidate(const LxOperation& operation) {
    const std::string& name = operation.ir.output.name;
    LxBufferPlan& buffer = plan_.buffers[index_.at(name)];
    const auto barred = barred_.find(name);
    if (barred != barred_.end()) {
      buffer.reason = barred->second;
      return false;
    }
    if (!options_.all_operations && !IsPinned(name) &&
        !HasName(options_.operations, operation.op)) {
      buffer.reason = fmt::format("'{}' is not one of {}, whose results the public planner tries",
                                  operation.op, Joined(options_.operations, ", "));
      return false;
    }
    return buffer.cores != LxBufferPlan::kCoresDiffer && !buffer.is_input &&
           !HasName(graph_.outputs, name);
  }

  bool IsPinned(const std::string& name) const {
    const auto pin = options_.pins.find(name);
    return pin != options_.pins.end() && pin->second.in_lx;
  }

  // The public planner divides by the cores of the operations that touch the buffer and whose own
  // output may be in LX, which is too little where an operation has more cores than the buffer has
  // parts. To the letter that is repeated.
  int64_t BytesPerCore(size_t buffer, const std::vector<bool>& is_candidate) const {
    const int64_t bytes = plan_.buffers[buffer].device_bytes;
    if (options_.cores == 1) return bytes;
    int parts = 1;
    if (options_.to_the_letter) {
      for (const Touch& touch : touches_[buffer]) {
        if (!is_candidate[touch.operation]) continue;
        parts = std::max(parts, CoresOf(graph_.operations[touch.operation]));
      }
    } else {
      const Touch& touch = touches_[buffer].front();
      const LxOperation& operation = graph_.operations[touch.operation];
      const std::optional<CoreView> view =
          ViewOfAccess(operation.ir, *touch.access, operation.splits, operation.k_fastest);
      for (const CoreViewDim& dim : view.value_or(CoreView{})) parts *= dim.slices;
    }
    return bytes / parts;
  }

  std::vector<std::string> InPlaceOf(const LxOperation& operation, const LxBuffer& child,
                                     const std::vector<LxBuffer>& candidates) const {
    std::vector<std::string> parents;
    if (!HasName(options_.in_place, operation.op)) return parents;
    for (const TensorAccess& input : operation.ir.inputs) {
      const auto parent =
          FindIf(candidates, [&](const LxBuffer& other) { return other.name == input.name; });
      if (parent == candidates.end() || parent->size != child.size) continue;
      if (parent->end != child.start + 1 || HasName(parents, input.name)) continue;
      if (!SameLayout(input.layout, operation.ir.output.layout)) continue;
      // An element that is read behind another one that was written in its place would be lost.
      const bool alike = AllFit(operation.ir.inputs, [&](const TensorAccess& other) {
        return other.name != input.name || SameIndex(other.index, operation.ir.output.index);
      });
      if (alike || options_.to_the_letter) parents.push_back(input.name);
    }
    return parents;
  }

  void PlaceInScratchpad() {
    std::vector<bool> is_candidate;
    for (const LxOperation& operation : graph_.operations) {
      is_candidate.push_back(IsCandidate(operation));
    }
    std::vector<LxBuffer> candidates;
    std::set<std::string> placed;
    for (size_t i = 0; i < graph_.operations.size(); ++i) {
      if (!is_candidate[i]) continue;
      const size_t b = index_.at(graph_.operations[i].ir.output.name);
      LxBufferPlan& buffer = plan_.buffers[b];
      if (!placed.insert(buffer.name).second) continue;  // written again
      buffer.core_bytes = BytesPerCore(b, is_candidate);
      LxBuffer candidate{buffer.name, buffer.core_bytes, buffer.start, buffer.end, {}};
      candidate.in_place = InPlaceOf(graph_.operations[i], candidate, candidates);
      candidates.push_back(std::move(candidate));
    }
    std::vector<std::optional<int64_t>> addresses = Solve(candidates);
    if (!options_.to_the_letter) DropOverlaps(candidates, addresses);
    for (size_t c = 0; c < candidates.size(); ++c) {
      LxBufferPlan& buffer = plan_.buffers[index_.at(candidates[c].name)];
      buffer.lx_address = addresses[c];
      if (!addresses[c]) buffer.reason = NoRoomText(candidates, addresses, c, options_.capacity);
      for (const std::string& parent : candidates[c].in_place) {
        if (addresses[c] && plan_.Find(parent)->lx_address == addresses[c])
          buffer.reason += fmt::format("; it takes the place of {}, which dies there", parent);
      }
    }
    for (LxBufferPlan& buffer : plan_.buffers) {
      if (buffer.is_input) buffer.reason = "an input of the kernel";
      if (HasName(graph_.outputs, buffer.name)) buffer.reason = "an output of the kernel";
    }
  }

  std::vector<std::optional<int64_t>> Solve(std::vector<LxBuffer>& candidates) const {
    const auto place = [&](LxSolver solver, const std::vector<LxBuffer>& buffers) {
      return PlaceInLx(solver, buffers, options_.capacity, options_.alignment);
    };
    std::vector<LxBuffer> pinned;
    for (const LxBuffer& candidate : candidates) {
      if (!IsPinned(candidate.name)) continue;
      pinned.push_back(candidate);
      pinned.back().address = options_.pins.at(candidate.name).address;
      // Beside each other, so that none depends on where another one is.
      pinned.back().in_place.clear();
    }
    if (pinned.empty()) return place(options_.solver, candidates);
    const LxSolver solver =
        options_.solver == LxSolver::kGreedy ? LxSolver::kFirstFit : options_.solver;
    const std::vector<std::optional<int64_t>> fixed = place(solver, pinned);
    size_t next = 0;
    for (LxBuffer& candidate : candidates) {
      if (!IsPinned(candidate.name)) continue;
      candidate.in_place.clear();
      candidate.address = fixed[next++];
      if (candidate.address) continue;
      candidate.size = options_.capacity + 1;  // nowhere, and so nothing can take its place
      for (LxBuffer& other : candidates) {
        auto& parents = other.in_place;
        parents.erase(std::remove(parents.begin(), parents.end(), candidate.name), parents.end());
      }
    }
    return place(solver, candidates);
  }

  // A buffer that lies across one that it could have replaced would be written over while it is
  // still read.
  static void DropOverlaps(const std::vector<LxBuffer>& buffers,
                           std::vector<std::optional<int64_t>>& addresses) {
    for (size_t c = 0; c < buffers.size(); ++c) {
      for (size_t p = 0; p < buffers.size() && addresses[c]; ++p) {
        if (!addresses[p] || !HasName(buffers[c].in_place, buffers[p].name)) continue;
        const bool across = *addresses[c] != *addresses[p] &&
                            *addresses[c] < *addresses[p] + buffers[p].size &&
                            *addresses[p] < *addresses[c] + buffers[c].size;
        if (across) addresses[c].reset();
      }
    }
  }

  void PlaceRest() {
    std::vector<PoolBuffer> rest;
    for (const LxBufferPlan& buffer : plan_.buffers) {
      if (buffer.lx_address || buffer.is_input || HasName(graph_.outputs, buffer.name)) continue;
      rest.push_back({buffer.name, buffer.device_bytes, buffer.start, buffer.end, 0});
    }
    plan_.pool_bytes = PlacePool(rest);
    for (const PoolBuffer& buffer : rest) {
      plan_.buffers[index_.at(buffer.name)].pool_offset = buffer.offset;
    }
  }

  const LxGraph& graph_;
  const LxOptions& options_;
  std::map<std::string, std::string> barred_;  // that an operation wants in device memory: why
  LxPlan plan_;
  std::vector<std::vector<Touch>> touches_;  // of each of plan_.buffers
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace

const LxBufferPlan* LxPlan::Find(const std::string& name) const {
  for (const LxBufferPlan& buffer : buffers) {
    if (buffer.name == name) return &buffer;
  }
  return nullptr;
}

LxPlan PlanLx(const LxGraph& graph, const LxOptions& options) {
  return Planner(graph, options).Run();
}

}  // namespace spyre::compiler
