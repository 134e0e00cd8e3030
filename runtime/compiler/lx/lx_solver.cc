// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/lx/lx_solver.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>

#include "base/nearest.h"
#include "base/ranges.h"
#include "base/round_up.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

using Addresses = std::vector<std::optional<int64_t>>;
using NameIndex = std::unordered_map<std::string, size_t>;

constexpr size_t kMostBuffers = 4096;
// Sums of two of these, and of all sizes, fit 64 bits.
constexpr int64_t kMostBufferBytes = int64_t{1} << 48;

NameIndex IndexNames(const std::vector<LxBuffer>& buffers) {
  if (buffers.size() > kMostBuffers) {
    throw BadInput("{} buffers to place; at most {} are possible", buffers.size(), kMostBuffers);
  }
  NameIndex index;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const LxBuffer& buffer = buffers[i];
    if (buffer.size < 0 || buffer.size > kMostBufferBytes) {
      throw BadInput("buffer '{}' has {} bytes; it must have 0 to {}", buffer.name, buffer.size,
                     kMostBufferBytes);
    }
    if (std::min(buffer.start, buffer.end) < -kMostBufferBytes ||
        std::max(buffer.start, buffer.end) > kMostBufferBytes) {
      throw BadInput("buffer '{}' lives from {} to {}; times must be within {}", buffer.name,
                     buffer.start, buffer.end, kMostBufferBytes);
    }
    if (!index.emplace(buffer.name, i).second) {
      throw BadInput("buffer '{}' is given twice", buffer.name);
    }
  }
  return index;
}

// ---------------------------------------------------------------- greedy

class GreedySweep {
 public:
  GreedySweep(const std::vector<LxBuffer>& buffers, const NameIndex& names, int64_t capacity,
              int64_t alignment)
      : buffers_(buffers),
        names_(names),
        capacity_(capacity),
        alignment_(alignment),
        addresses_(buffers.size()) {}

  Addresses Run() {
    std::map<int64_t, std::vector<size_t>> ends;
    std::map<int64_t, std::vector<size_t>> starts;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      ends[buffers_[i].end].push_back(i);
      ends[buffers_[i].start];  // every time at which something happens
      starts[buffers_[i].start].push_back(i);
    }
    for (const auto& [time, dying] : ends) {
      for (size_t i : dying) Release(i);
      const auto born = starts.find(time);
      if (born == starts.end()) continue;
      for (size_t i : born->second) Allocate(i);
    }
    return std::move(addresses_);
  }

 private:
  void Release(size_t i) { live_.erase(std::remove(live_.begin(), live_.end(), i), live_.end()); }

  void Allocate(size_t i) {
    for (const std::string& name : buffers_[i].in_place) {
      const auto parent = names_.find(name);
      if (parent == names_.end() || !IsLive(parent->second)) continue;
      if (buffers_[i].size > buffers_[parent->second].size) continue;
      addresses_[i] = addresses_[parent->second];
      live_.push_back(i);
      Release(parent->second);
      return;
    }
    addresses_[i] = FreeBlock(buffers_[i].size);
    if (addresses_[i]) live_.push_back(i);
  }

  bool IsLive(size_t i) const { return std::find(live_.begin(), live_.end(), i) != live_.end(); }
  int64_t Begin(size_t i) const { return *addresses_[i]; }
  int64_t End(size_t i) const { return *addresses_[i] + buffers_[i].size; }

  std::optional<int64_t> FreeBlock(int64_t size) {
    if (size > capacity_) return std::nullopt;
    int64_t lowest = live_.empty() ? 0 : Begin(live_.front());
    int64_t highest = 0;
    for (size_t i : live_) {
      lowest = std::min(lowest, Begin(i));
      highest = std::max(highest, End(i));
    }
    if (live_.empty() || lowest >= size) return 0;
    const int64_t above = RoundUp(highest, alignment_);
    if (above + size <= capacity_) return above;
    StableSort(live_, [&](size_t a, size_t b) { return Begin(a) < Begin(b); });
    for (size_t i = 0; i + 1 < live_.size(); ++i) {
      const int64_t gap = RoundUp(End(live_[i]), alignment_);
      if (Begin(live_[i + 1]) - gap >= size) return gap;
    }
    return std::nullopt;
  }

  const std::vector<LxBuffer>& buffers_;
  const NameIndex& names_;
  const int64_t capacity_;
  const int64_t alignment_;
  Addresses addresses_;
  std::vector<size_t> live_;
};

// ---------------------------------------------------------------- first and best fit

void CheckInPlace(const std::vector<LxBuffer>& buffers, const NameIndex& names) {
  for (const LxBuffer& child : buffers) {
    for (const std::string& name : child.in_place) {
      const auto it = names.find(name);
      if (it == names.end()) {
        throw BadInput("buffer '{}' may take the place of '{}', which is not a buffer", child.name,
                       name);
      }
      const LxBuffer& parent = buffers[it->second];
      if (parent.end - 1 == child.start && child.size <= parent.size) continue;
      throw CompileError(
          "AssertionError", "in_place_relation",
          fmt::format("buffer '{}' ({} bytes, written by operation {}) cannot take the place of "
                      "'{}' ({} bytes, live before operation {}): the older one must die in the "
                      "operation that writes the new one, and be at least as large",
                      child.name, child.size, child.start, name, parent.size, parent.end));
    }
  }
}

// Buffers with a lifetime, parents before those that may take their place, then the shorter
// lifetime, then the order given.
std::vector<size_t> PlacementOrder(const std::vector<LxBuffer>& buffers, const NameIndex& names) {
  std::vector<int> waits_for(buffers.size(), 0);
  std::vector<std::vector<size_t>> children(buffers.size());
  const auto lives = [&](size_t i) { return buffers[i].end > buffers[i].start; };
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!lives(i)) continue;
    for (const std::string& name : buffers[i].in_place) {
      const size_t parent = names.at(name);
      if (!lives(parent)) continue;
      children[parent].push_back(i);
      ++waits_for[i];
    }
  }
  using Entry = std::pair<int64_t, size_t>;  // lifetime, position
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  size_t living = 0;
  const auto add = [&](size_t i) { ready.emplace(buffers[i].end - buffers[i].start, i); };
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!lives(i)) continue;
    ++living;
    if (waits_for[i] == 0) add(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t next = ready.top().second;
    ready.pop();
    order.push_back(next);
    for (size_t child : children[next]) {
      if (--waits_for[child] == 0) add(child);
    }
  }
  if (order.size() != living) {
    throw CompileError("AssertionError", "in_place_relation",
                       "buffers that may take each other's place form a ring");
  }
  return order;
}

struct Gap {
  int64_t begin;
  int64_t end;
};

class GapPlacement {
 public:
  GapPlacement(const std::vector<LxBuffer>& buffers, const NameIndex& names, bool tightest,
               int64_t capacity, int64_t alignment)
      : buffers_(buffers),
        names_(names),
        tightest_(tightest),
        capacity_(capacity),
        alignment_(alignment),
        addresses_(buffers.size()) {}

  Addresses Run() {
    for (size_t i = 0; i < buffers_.size(); ++i) PlaceFixed(i);
    for (size_t i : PlacementOrder(buffers_, names_)) {
      if (buffers_[i].address) continue;
      const std::vector<size_t> parents = PlacedParents(i);
      const std::vector<Gap> gaps = FreeGaps(i, parents);
      addresses_[i] = InParentsSlot(i, parents, gaps);
      if (!addresses_[i]) {
        if (const Gap* gap = Pick(gaps, buffers_[i].size)) addresses_[i] = FirstAddress(*gap);
      }
      if (addresses_[i]) placed_.push_back(i);
    }
    return std::move(addresses_);
  }

 private:
  void PlaceFixed(size_t i) {
    if (!buffers_[i].address) return;
    const int64_t begin = *buffers_[i].address;
    const int64_t end = begin + buffers_[i].size;
    const std::vector<Gap> gaps = FreeGaps(i, {});
    const bool fits = begin % alignment_ == 0 && AnyFits(gaps, [&](const Gap& gap) {
                        return gap.begin <= begin && end <= gap.end;
                      });
    if (!fits) return;
    addresses_[i] = begin;
    placed_.push_back(i);
  }

  int64_t FirstAddress(const Gap& gap) const { return RoundUp(gap.begin, alignment_); }

  std::vector<size_t> PlacedParents(size_t i) const {
    std::vector<size_t> parents;
    for (const std::string& name : buffers_[i].in_place) {
      const size_t parent = names_.at(name);
      if (addresses_[parent]) parents.push_back(parent);
    }
    return parents;
  }

  // Free during the lifetime of buffer i; slots of parents count as free.
  std::vector<Gap> FreeGaps(size_t i, const std::vector<size_t>& parents) const {
    const LxBuffer& buffer = buffers_[i];
    std::vector<Gap> taken;
    for (size_t other : placed_) {
      const bool meets = buffers_[other].start < buffer.end && buffer.start < buffers_[other].end;
      if (!meets || std::find(parents.begin(), parents.end(), other) != parents.end()) continue;
      taken.push_back({*addresses_[other], *addresses_[other] + buffers_[other].size});
    }
    StableSort(taken, [](const Gap& a, const Gap& b) {
      return std::make_pair(a.begin, a.end) < std::make_pair(b.begin, b.end);
    });
    std::vector<Gap> gaps;
    int64_t cursor = 0;
    for (const Gap& slot : taken) {
      if (slot.begin > cursor) gaps.push_back({cursor, slot.begin});
      cursor = std::max(cursor, slot.end);
    }
    if (cursor < capacity_ || taken.empty()) gaps.push_back({cursor, capacity_});
    return gaps;
  }

  const Gap* Pick(const std::vector<Gap>& gaps, int64_t size) const {
    const Gap* best = nullptr;
    int64_t best_waste = 0;
    for (const Gap& gap : gaps) {
      const int64_t waste = gap.end - FirstAddress(gap) - size;
      if (waste < 0) continue;
      if (!tightest_) return &gap;
      if (best == nullptr || waste < best_waste) {
        best = &gap;
        best_waste = waste;
      }
    }
    return best;
  }

  std::optional<int64_t> InParentsSlot(size_t i, const std::vector<size_t>& parents,
                                       const std::vector<Gap>& gaps) const {
    const auto holds = [&](const Gap& gap, size_t parent) {
      return gap.begin <= *addresses_[parent] &&
             *addresses_[parent] + buffers_[parent].size <= gap.end;
    };
    std::vector<Gap> with_parent;
    for (const Gap& gap : gaps) {
      if (AnyFits(parents, [&](size_t p) { return holds(gap, p); })) {
        with_parent.push_back(gap);
      }
    }
    const Gap* const gap = Pick(with_parent, buffers_[i].size);
    if (gap == nullptr) return std::nullopt;
    const auto parent = FindIf(parents, [&](size_t p) { return holds(*gap, p); });
    return addresses_[*parent];
  }

  const std::vector<LxBuffer>& buffers_;
  const NameIndex& names_;
  const bool tightest_;
  const int64_t capacity_;
  const int64_t alignment_;
  Addresses addresses_;
  std::vector<size_t> placed_;
};

}  // namespace

LxSolver LxSolverFromName(std::string_view name) {
  const std::vector<std::string> names = {"greedy", "firstfit", "bestfit"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<LxSolver>(i);
  }
  const std::string hint = DidYouMean(name, names);
  throw CompileError(
      "ValueError", "unknown_lx_solver",
      fmt::format("LX solver '{}' must be greedy, firstfit or bestfit{}", name, hint))
      .Subject("lx_solver")
      .Remedy("greedy, firstfit or bestfit");
}

Addresses PlaceInLx(LxSolver solver, const std::vector<LxBuffer>& buffers, int64_t capacity,
                    int64_t alignment) {
  if (capacity < 0 || capacity > kMostBufferBytes || alignment < 1 ||
      alignment > kMostBufferBytes) {
    throw BadInput("LX capacity {} must be 0 to {} and alignment {} 1 to {}", capacity,
                   kMostBufferBytes, alignment, kMostBufferBytes);
  }
  const NameIndex names = IndexNames(buffers);
  if (solver == LxSolver::kGreedy) return GreedySweep(buffers, names, capacity, alignment).Run();
  CheckInPlace(buffers, names);
  const bool tightest = solver == LxSolver::kBestFit;
  return GapPlacement(buffers, names, tightest, capacity, alignment).Run();
}

}  // namespace spyre::compiler
