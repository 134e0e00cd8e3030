// SPDX-License-Identifier: Apache-2.0
#include "traces/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/joined.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "traces/intervals.h"
#include "traces/run_results.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr std::string_view kComputePrefix = "COMPUTE";
constexpr std::string_view kTokenWait = "token wait";
constexpr char kHandOver[] = "token hand-over";
constexpr char kSequencer[] = "sequencer";
constexpr char kLaunch[] = "launch";
constexpr char kNotRecorded[] = "not recorded";
constexpr size_t kNamesShown = 20;

// What a unit did next: an instruction, or a wait for a token before one.
struct Step {
  const Record* record;
  bool is_token_wait;
  bool is_doubtful;  // a wait inside an instruction whose record may be missing
  // Waits inside the instruction that ended when another unit arrived (barriers), by end.
  std::vector<const Record*> arrivals;

  uint64_t start_ps() const { return record->start_ps; }
  uint64_t end_ps() const { return record->end_ps; }
};

// The steps of one unit, in order of issue and in order of end.
struct UnitSteps {
  std::vector<Step> steps;
  std::vector<size_t> by_end;  // work after waits that end at the same time

  void Finish() {
    for (Step& step : steps) {
      std::stable_sort(step.arrivals.begin(), step.arrivals.end(),
                       [](const Record* a, const Record* b) { return a->end_ps < b->end_ps; });
    }
    by_end.resize(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) by_end[i] = i;
    std::stable_sort(by_end.begin(), by_end.end(), [this](size_t a, size_t b) {
      const Step& x = steps[a];
      const Step& y = steps[b];
      return x.end_ps() != y.end_ps() ? x.end_ps() < y.end_ps()
                                      : x.is_token_wait && !y.is_token_wait;
    });
  }
  // The last step that began before / had ended at `time_ps`; SIZE_MAX: none.
  size_t LastBegun(uint64_t time_ps) const {
    const auto next = std::partition_point(
        steps.begin(), steps.end(), [&](const Step& step) { return step.start_ps() < time_ps; });
    return static_cast<size_t>(next - steps.begin()) - 1;
  }
  size_t LastEnded(uint64_t time_ps) const {
    const auto next = std::partition_point(by_end.begin(), by_end.end(),
                                           [&](size_t i) { return steps[i].end_ps() <= time_ps; });
    return next == by_end.begin() ? SIZE_MAX : *(next - 1);
  }
};

// Not 0: records that ended before it are missing, and the kernel had begun by then.
uint64_t CutOf(const Trace& trace, const KernelRun& kernel) {
  return trace.whole_from_ps > kernel.start_ps ? std::min(trace.whole_from_ps, kernel.end_ps) : 0;
}

// Follows one kernel back. The cursor is the time that remains to be explained.
//
// In a kernel that is cut, only records that end behind the cut are looked at. None of those is
// missing, so it is known which unit ended last before a moment behind the cut. Who began last is
// known if that was behind the cut as well: else a record that is missing can have begun later.
class Walk {
 public:
  Walk(const Trace& trace, const KernelRun& kernel)
      : trace_(trace),
        kernel_(kernel),
        cut_ps_(CutOf(trace, kernel)),
        cursor_(kernel.end_ps),
        units_start_(kernel.end_ps) {
    std::vector<const Record*> records;
    for (const Record& record : trace.records) {
      const bool is_unit = record.category == kCore || record.category == kWait;
      if (is_unit && record.flow == kernel.flow && record.start_ps >= kernel.start_ps &&
          record.end_ps <= kernel.end_ps && (cut_ps_ == 0 || record.end_ps > cut_ps_)) {
        records.push_back(&record);
      }
    }
    std::stable_sort(records.begin(), records.end(), [](const Record* a, const Record* b) {
      return a->start_ps != b->start_ps ? a->start_ps < b->start_ps
                                        : a->category == kCore && b->category != kCore;
    });
    budget_ = 4 * records.size();
    for (const Record* record : records) AddRecord(*record);
    for (auto& [track, unit] : units_) unit.Finish();
    if (!records.empty()) units_start_ = records.front()->start_ps;
  }

  std::vector<PathSegment> Follow() {
    const auto [track, last] = LastOfAll();
    if (last != SIZE_MAX) {
      EmitCard(kLaunch, units_.at(track).steps[last].end_ps());
      FollowUnits(track, last);
      if (cut_ps_ == 0) EmitCard(kLaunch, kernel_.start_ps);
    }
    EmitCard(kNotRecorded, kernel_.start_ps);
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }

 private:
  void AddRecord(const Record& record) {
    auto& steps = units_[record.track].steps;
    const bool is_wait = record.category == kWait;
    const bool is_token_wait = is_wait && trace_.names[record.name] == kTokenWait;
    if (is_wait && !is_token_wait && !steps.empty()) {
      steps.back().arrivals.push_back(&record);
    } else {
      steps.push_back({&record, is_wait, is_wait && !is_token_wait && cut_ps_ != 0, {}});
    }
  }

  std::pair<TrackId, size_t> LastOfAll() const {
    std::pair<TrackId, size_t> last{0, SIZE_MAX};
    uint64_t end = 0;
    for (const auto& [track, unit] : units_) {
      const size_t step = unit.LastEnded(kernel_.end_ps);
      if (step == SIZE_MAX || (last.second != SIZE_MAX && unit.steps[step].end_ps() <= end)) {
        continue;
      }
      last = {track, step};
      end = unit.steps[step].end_ps();
    }
    return last;
  }

  // Goes from `step` of `track` to the moment at which the units started, or as far as is known.
  void FollowUnits(TrackId track, size_t step) {
    while (step != SIZE_MAX) {
      const UnitSteps& unit = units_.at(track);
      const Step& now = unit.steps[step];
      // Two units of a forged trace can wait for each other for ever.
      if (budget_-- == 0) return EmitCard(kNotRecorded, units_start_);
      Emit(kSequencer, track, nullptr, now.end_ps());
      if (now.is_doubtful) return;
      if (now.is_token_wait) {
        if (!GoToGiver(*now.record, track, step)) {
          if (cut_ps_ != 0) return;
          Emit(kTokenWait, track, nullptr, now.start_ps());
          --step;  // SIZE_MAX after the first
        }
        continue;
      }
      const Record* arrival = LastArrival(now);
      Emit(UnitOf(track), track, now.record, arrival != nullptr ? arrival->end_ps : now.start_ps());
      // Such a step can have got the wait of one that is missing.
      if (IsBeforeCut(now)) return;
      if (arrival == nullptr || !GoToArrival(*arrival, track, step)) {
        if (arrival != nullptr && cut_ps_ != 0) return;
        Emit(UnitOf(track), track, now.record, now.start_ps());
        --step;
      }
      if (cut_ps_ != 0 && (step == SIZE_MAX || IsBeforeCut(units_.at(track).steps[step]))) return;
    }
    Emit(kSequencer, track, nullptr, units_start_);
  }

  bool IsBeforeCut(const Step& step) const { return cut_ps_ != 0 && step.start_ps() <= cut_ps_; }

  const Record* LastArrival(const Step& step) const {
    const auto next =
        std::partition_point(step.arrivals.begin(), step.arrivals.end(),
                             [this](const Record* wait) { return wait->end_ps <= cursor_; });
    return next == step.arrivals.begin() ? nullptr : *(next - 1);
  }

  // The wait ended because its giver finished something: the path goes on there.
  bool GoToGiver(const Record& wait, TrackId& track, size_t& step) {
    const auto giver = units_.find(wait.detail);
    if (giver == units_.end() || giver->first == track) return false;
    const size_t ended = giver->second.LastEnded(wait.end_ps);
    if (ended == SIZE_MAX) return false;
    Emit(kHandOver, giver->first, nullptr, giver->second.steps[ended].end_ps());
    track = giver->first;
    step = ended;
    return true;
  }

  // The wait ended because another unit arrived: the path goes on with what that did before.
  bool GoToArrival(const Record& wait, TrackId& track, size_t& step) {
    const auto other = units_.find(wait.detail);
    if (other == units_.end() || other->first == track) return false;
    track = other->first;
    step = other->second.LastBegun(wait.end_ps);
    return true;
  }

  std::string UnitOf(TrackId track) const { return trace_.tracks[track].name; }

  void Emit(std::string_view kind, TrackId track, const Record* record, uint64_t from_ps) {
    Add(kind, trace_.tracks[track].process + "/" + trace_.tracks[track].name,
        record == nullptr ? std::string() : trace_.names[record->name], from_ps);
  }
  void EmitCard(std::string_view kind, uint64_t from_ps) { Add(kind, {}, {}, from_ps); }
  // Explains the time from from_ps to the cursor; nothing if that is not a time.
  void Add(std::string_view kind, std::string unit, std::string name, uint64_t from_ps) {
    if (kind != kNotRecorded) from_ps = std::max(from_ps, cut_ps_);
    if (from_ps >= cursor_) return;
    segments_.push_back({std::string(kind), std::move(unit), std::move(name), from_ps, cursor_});
    cursor_ = from_ps;
  }

  const Trace& trace_;
  const KernelRun& kernel_;
  const uint64_t cut_ps_;
  uint64_t cursor_;
  uint64_t units_start_;  // the first unit's first slice or wait
  std::map<TrackId, UnitSteps> units_;
  size_t budget_ = 0;                  // of steps: a path takes each record a few times at most
  std::vector<PathSegment> segments_;  // last to first
};

struct PathUnits {
  size_t count;
  Occupancy busy;
};

// The tracks that `belongs` picks.
template <typename Predicate>
PathUnits BusyUnits(const Trace& trace, const KernelRun& kernel, Category category,
                    Predicate belongs) {
  std::map<TrackId, std::vector<Interval>> slices;
  for (const Record& record : trace.records) {
    if (record.category != category || !belongs(trace.tracks[record.track])) continue;
    const uint64_t start = std::max(record.start_ps, kernel.start_ps);
    const uint64_t end = std::min(record.end_ps, kernel.end_ps);
    auto& unit = slices[record.track];
    if (start < end) unit.push_back({start, end});
  }
  std::vector<IntervalSet> sets;
  sets.reserve(slices.size());
  for (auto& [track, intervals] : slices) sets.emplace_back(std::move(intervals));
  std::vector<const IntervalSet*> all;
  all.reserve(sets.size());
  for (const IntervalSet& set : sets) all.push_back(&set);
  return {sets.size(), Occupancy(all)};
}

std::optional<double> MeanBusy(const PathUnits& units, const IntervalSet& during) {
  if (units.count == 0 || during.length_ps() == 0) return std::nullopt;
  return static_cast<double>(units.busy.OverlapPs(during)) /
         static_cast<double>(during.length_ps()) / static_cast<double>(units.count);
}

std::vector<PathShare> Shares(const Trace& trace, const CriticalPath& path) {
  std::map<std::string, std::pair<PathShare, std::vector<Interval>>> kinds;
  for (const PathSegment& segment : path.segments) {
    auto& [share, during] = kinds[segment.kind];
    share.kind = segment.kind;
    ++share.segments;
    share.time_ps += segment.length_ps();
    during.push_back({segment.start_ps, segment.end_ps});
  }
  const auto memory =
      BusyUnits(trace, path.kernel, kMemory, [](const Track& t) { return t.process == "memory"; });
  const auto pt =
      BusyUnits(trace, path.kernel, kCore, [](const Track& t) { return t.name == "pt"; });
  std::vector<PathShare> shares;
  for (auto& [kind, entry] : kinds) {
    const IntervalSet during(std::move(entry.second));
    if (path.recorded_from_ps == 0 || kind != kNotRecorded) {
      entry.first.memory_busy = MeanBusy(memory, during);
      entry.first.pt_busy = MeanBusy(pt, during);
    }
    shares.push_back(std::move(entry.first));
  }
  StableSort(shares, [](const PathShare& a, const PathShare& b) { return a.time_ps > b.time_ps; });
  return shares;
}

}  // namespace

std::vector<KernelRun> Kernels(const Trace& trace) {
  std::vector<KernelRun> kernels;
  for (const Record& record : trace.records) {
    const Track& track = trace.tracks[record.track];
    const std::string& name = trace.names[record.name];
    if (record.category != kControl || WithoutPart(track.process) != "card" ||
        !StartsWith(track.name, "stream ") || !StartsWith(name, kComputePrefix)) {
      continue;
    }
    if (trace.dropped > 0 && record.end_ps <= trace.whole_from_ps) continue;
    kernels.push_back({0, name, record.flow, record.start_ps, record.end_ps});
  }
  StableSort(kernels,
             [](const KernelRun& a, const KernelRun& b) { return a.start_ps < b.start_ps; });
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i].number = i;
  return kernels;
}

std::optional<KernelRun> FindKernel(const Trace& trace, const std::string& selection) {
  const std::vector<KernelRun> kernels = Kernels(trace);
  const bool is_number = !selection.empty() && selection.size() <= 9 &&
                         selection.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && std::stoul(selection) < kernels.size()) return kernels[std::stoul(selection)];
  std::optional<KernelRun> longest;
  std::set<std::string> known;
  std::vector<std::string> names;  // some, for the message
  for (const KernelRun& kernel : kernels) {
    if (names.size() <= kNamesShown && known.insert(kernel.name).second)
      names.push_back(known.size() > kNamesShown ? "..." : kernel.name);
    if (!selection.empty() && selection != kernel.name &&
        fmt::format("{} {}", kComputePrefix, selection) != kernel.name) {
      continue;
    }
    if (!longest || kernel.end_ps - kernel.start_ps > longest->end_ps - longest->start_ps)
      longest = kernel;
  }
  if (longest || selection.empty()) return longest;
  if (kernels.empty())
    throw Error(fmt::format("--kernel {}: the trace has no kernels", Printable(selection)));
  throw Error(fmt::format("--kernel {}: the trace has kernels 0 to {}, named {}",
                          Printable(selection), kernels.size() - 1, Joined(names, ", ")));
}

CriticalPath FollowCriticalPath(const Trace& trace, const KernelRun& kernel) {
  CriticalPath path{kernel, Walk(trace, kernel).Follow(), {}, {}, CutOf(trace, kernel)};
  const RunResults results = ParseRunResults(trace.results);
  if (const auto found = results.kernels.find(kernel.flow); found != results.kernels.end())
    path.causes = found->second;
  path.shares = Shares(trace, path);
  return path;
}

}  // namespace spyre::trace
