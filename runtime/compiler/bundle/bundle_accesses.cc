// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/bundle_accesses.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/bundle/for_each_execute.h"

namespace spyre::compiler {
namespace {

constexpr int64_t kMaxRuns = 1 << 20;
constexpr int64_t kMaxArgumentBytes = 1ll << 46;
constexpr int64_t kSegment = static_cast<int64_t>(kSegmentBytes);

struct StridedStep {
  int64_t stride = 0;  // bytes
  int64_t count = 1;
};

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
};

// Bytes that are touched together: runs of `bytes`, stepped over.
struct Runs {
  int64_t bytes = kStickBytes;
  std::vector<StridedStep> steps;
  int64_t count = 1;  // product of the steps' counts
};

// Steps that go on where the run ends make it longer.
Runs RunsOf(std::vector<StridedStep> steps) {
  Runs runs;
  StableSort(steps, [](const StridedStep& a, const StridedStep& b) { return a.stride < b.stride; });
  for (const StridedStep& step : steps) {
    if (step.stride == runs.bytes && runs.steps.empty()) {
      runs.bytes *= step.count;
    } else {
      runs.steps.push_back(step);
      runs.count = std::min(runs.count * std::min(step.count, kMaxRuns + 1), kMaxRuns + 1);
    }
  }
  return runs;
}

// What one core does in one iteration.
std::vector<StridedStep> StepsOfCore(const BundleAccess& access) {
  const std::vector<int64_t> strides = DimStrides(*access.dsc, *access.tensor);
  std::vector<StridedStep> steps;
  for (size_t d = 0; d < strides.size(); ++d) {
    const int64_t count = StepsPerCore(*access.dsc, *access.tensor, d);
    if (strides[d] > 0 && count > 1) steps.push_back({strides[d], count});
  }
  return steps;
}

// The same places as steps from the first one: 0, 1, 8, 9 are two of 1 and two of 8. Nothing if
// they are not regular. `places`: ascending, each once.
std::optional<std::vector<StridedStep>> StepsBetween(std::vector<int64_t> places) {
  std::vector<StridedStep> steps;
  while (places.size() > 1) {
    const int64_t stride = places[1] - places[0];
    size_t count = 2;
    while (count < places.size() && places[count] - places[count - 1] == stride) ++count;
    if (places.size() % count != 0) return std::nullopt;
    std::vector<int64_t> firsts;
    for (size_t i = 0; i < places.size(); ++i) {
      const auto step = static_cast<int64_t>(i % count);
      if (step == 0) firsts.push_back(places[i]);
      if (places[i] != firsts.back() + step * stride) return std::nullopt;
    }
    steps.push_back({stride, static_cast<int64_t>(count)});
    places = std::move(firsts);
  }
  return steps;
}

[[noreturn]] void FailReach(const BundleAccess& access, const char* what) {
  throw BadInput("{}: {} {}", *access.file, access.tensor->name, what);
}

// begin and end of where a start moves over all iterations, and of the bytes there.
Interval Reach(const BundleAccess& access, const AddressExpression& start, const Runs& runs) {
  Interval reach{start.constant, start.constant};
  bool overflow = false;
  for (size_t i = 0; i < std::min(start.loop_stride.size(), access.trips.size()); ++i) {
    int64_t last = 0;
    overflow |= __builtin_mul_overflow(start.loop_stride[i], access.trips[i] - 1, &last);
    int64_t& moved = last < 0 ? reach.begin : reach.end;
    overflow |= __builtin_add_overflow(moved, last, &moved);
  }
  for (const StridedStep& step : runs.steps) {
    overflow |= __builtin_add_overflow(reach.end, step.stride * (step.count - 1), &reach.end);
  }
  overflow |= __builtin_add_overflow(reach.end, runs.bytes, &reach.end);
  if (overflow) FailReach(access, "is at addresses beyond 64 bits");
  return reach;
}

// Everything about an access that does not change from iteration to iteration.
struct Part {
  const BundleAccess* access = nullptr;
  int slot = 0;
  // Of the cores; constants from the slot's first byte. One, if the cores' parts are regular:
  // then `runs` are those of all of them.
  std::vector<AddressExpression> starts;
  Runs runs;
  int64_t count = 0;  // of runs in one iteration, as the cores have them
  Interval reach;     // over all cores and iterations
};

int SlotOf(const BundleAccess& access, const AddressExpression& start, const Interval& reach) {
  if (start.argument >= 0) {
    if (reach.begin < 0) FailReach(access, "begins before its argument does");
    if (reach.end > kMaxArgumentBytes) FailReach(access, "ends 2^46 bytes behind its argument");
    return kFirstArgumentSlot + start.argument;
  }
  const int64_t segment = reach.begin >> kSegmentBits;
  if (reach.begin < 0 || segment >= kProgramSegment || (reach.end - 1) >> kSegmentBits != segment) {
    throw BadInput(
        "{}: {} reaches from {:#x} to {:#x}; a tensor lies in one of the segments 0 to {}",
        *access.file, access.tensor->name, reach.begin, reach.end - 1, kProgramSegment - 1);
  }
  return static_cast<int>(segment);
}

// Makes runs of all cores of those of each, `steps`, if the cores do the same at regular places.
void PutCoresTogether(std::vector<StridedStep> steps, Part& part) {
  std::vector<int64_t> places;
  places.reserve(part.starts.size());
  for (const AddressExpression& start : part.starts) {
    if (start.loop_stride != part.starts.front().loop_stride) return;
    places.push_back(start.constant);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const int64_t first = places.front();
  const std::optional<std::vector<StridedStep>> between = StepsBetween(std::move(places));
  if (!between) return;
  steps.insert(steps.end(), between->begin(), between->end());
  part.runs = RunsOf(std::move(steps));
  part.starts.resize(1);
  part.starts.front().constant = first;
}

Part PartOf(const BundleAccess& access) {
  Part part;
  part.access = &access;
  std::vector<StridedStep> steps = StepsOfCore(access);
  part.runs = RunsOf(steps);
  part.reach = {INT64_MAX, INT64_MIN};
  for (size_t core = 0; core < access.tensor->start.size(); ++core) {
    part.starts.push_back(StartOf(access, core));
    const AddressExpression& start = part.starts.back();
    if (start.argument != part.starts.front().argument) {
      FailReach(access, "is in one argument on one core and in another on the next");
    }
    const Interval reach = Reach(access, start, part.runs);
    part.reach.begin = std::min(part.reach.begin, reach.begin);
    part.reach.end = std::max(part.reach.end, reach.end);
  }
  part.slot = SlotOf(access, part.starts.front(), part.reach);
  if (part.slot < kFirstArgumentSlot) {
    const int64_t base = part.slot * kSegment;
    for (AddressExpression& start : part.starts) start.constant -= base;
    part.reach = {part.reach.begin - base, part.reach.end - base};
  }
  part.count = part.runs.count * static_cast<int64_t>(part.starts.size());
  PutCoresTogether(std::move(steps), part);
  return part;
}

class Examiner {
 public:
  explicit Examiner(const Bundle& bundle) : accesses_(Accesses(bundle)) {
    for (const BundleAccess& access : accesses_) parts_.push_back(PartOf(access));
    for (const Part& part : parts_) by_execute_[part.access->execute].push_back(&part);
    if (CountRuns() <= kMaxRuns) {
      Run(bundle);
    } else {
      for (const Part& part : parts_) Touch(part, part.reach.begin, part.reach.end);
    }
  }

  std::map<int, MemoryUse> Uses() {
    for (const Part& part : parts_) {
      MemoryUse& use = uses_[part.slot];
      use.end = std::max(use.end, part.reach.end);
      if (part.access->written) use.written_end = std::max(use.written_end, part.reach.end);
    }
    for (auto& [slot, bytes] : written_) uses_[slot].whole_end = bytes.whole();
    return std::move(uses_);
  }

 private:
  int64_t CountRuns() const {
    int64_t total = 0;
    for (const Part& part : parts_) {
      int64_t runs = part.count;
      for (const int64_t trips : part.access->trips) {
        runs = std::min(runs, kMaxRuns + 1) * std::min(trips, kMaxRuns + 1);
      }
      total += std::min(runs, kMaxRuns + 1);
      if (total > kMaxRuns) break;
    }
    return total;
  }

  void Run(const Bundle& bundle) {
    // A loop around nothing in device memory need not be run.
    std::set<const BundleLoop*> needed;
    ForEachExecute(bundle, [&](const BundleExecute& execute, const auto& loops) {
      if (by_execute_.count(&execute) > 0) needed.insert(loops.begin(), loops.end());
    });
    ForEachRun(
        bundle,
        [&](const BundleLoop& loop) { return needed.count(&loop) > 0 ? loop.count : int64_t{0}; },
        [&](const BundleExecute& execute, const std::vector<int64_t>& iterations) {
          const auto parts = by_execute_.find(&execute);
          if (parts == by_execute_.end()) return;
          for (const Part* part : parts->second) Execute(*part, iterations);
        });
  }

  void Execute(const Part& part, const std::vector<int64_t>& iterations) {
    for (const AddressExpression& start : part.starts) {
      int64_t at = start.constant;
      const size_t loops = std::min(iterations.size(), start.loop_stride.size());
      for (size_t i = 0; i < loops; ++i) at += iterations[i] * start.loop_stride[i];
      TouchRuns(part, part.runs.steps.size(), at);
    }
  }
  void TouchRuns(const Part& part, size_t steps, int64_t at) {
    if (steps == 0) return Touch(part, at, at + part.runs.bytes);
    const StridedStep& step = part.runs.steps[steps - 1];
    for (int64_t i = 0; i < step.count; ++i) TouchRuns(part, steps - 1, at + i * step.stride);
  }

  void Touch(const Part& part, int64_t begin, int64_t end) {
    MemoryUse& use = uses_[part.slot];
    if (part.access->written) {
      use.written = true;
      // Which block of an indexed tensor is written is not known before it runs.
      if (!IsIndexed(*part.access->tensor)) written_[part.slot].Add(begin, end);
    } else {
      use.read = true;
      use.read_first = use.read_first || !written_[part.slot].Covers(begin, end);
    }
  }

  const std::vector<BundleAccess> accesses_;
  std::vector<Part> parts_;
  std::map<const BundleExecute*, std::vector<const Part*>> by_execute_;
  std::map<int, MemoryUse> uses_;
  std::map<int, ByteSet> written_;
};

}  // namespace

void ByteSet::Add(int64_t begin, int64_t end) {
  auto next = ends_.upper_bound(begin);
  const auto at = next != ends_.begin() && std::prev(next)->second >= begin
                      ? std::prev(next)
                      : ends_.emplace_hint(next, begin, end);
  for (; next != ends_.end() && next->first <= end; next = ends_.erase(next))
    end = std::max(end, next->second);
  at->second = std::max(at->second, end);
}

bool ByteSet::Covers(int64_t begin, int64_t end) const {
  const auto it = ends_.upper_bound(begin);
  return it != ends_.begin() && std::prev(it)->second >= end;
}

std::vector<BundleAccess> Accesses(const Bundle& bundle) {
  std::vector<BundleAccess> accesses;
  ForEachExecute(bundle, [&](const BundleExecute& execute, const auto& loops) {
    std::vector<int64_t> trips;
    trips.reserve(loops.size());
    for (const BundleLoop* loop : loops) trips.push_back(loop->count);
    const auto which = static_cast<size_t>(execute.dsc);
    const SuperDsc& dsc = bundle.dscs[which];
    for (const bool written : {false, true}) {
      std::vector<int> tensors = written ? dsc.outputs : dsc.inputs;
      if (!written && dsc.index >= 0) tensors.push_back(dsc.index);
      for (const int t : tensors) {
        const SdscTensor& tensor = dsc.tensors[static_cast<size_t>(t)];
        if (tensor.in_lx) continue;
        accesses.push_back({&execute, &dsc, &tensor, &bundle.files[which], written, trips});
      }
    }
  });
  return accesses;
}

AddressExpression StartOf(const BundleAccess& access, size_t core) {
  const int64_t start = access.tensor->start[core];
  if (!access.tensor->symbolic) return {-1, start, {}};
  const auto it = access.execute->symbols.find(start);
  if (it != access.execute->symbols.end()) return it->second;
  throw BadInput("{}: {} uses symbol {}, which the bundle does not bind", *access.file,
                 access.tensor->name, start);
}

std::map<int, MemoryUse> MemoryUses(const Bundle& bundle) { return Examiner(bundle).Uses(); }

}  // namespace spyre::compiler
