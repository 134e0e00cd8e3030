// SPDX-License-Identifier: Apache-2.0
// card.fidelity = "fast": launches of times only are simulated no longer than it takes to know
// them.
//
// A launch of a program that has been simulated card.fast.samples times is repeated: it takes the
// mean of their times and counts what the last of them counted. It is known by its image, without
// the device addresses in its address table, and by where in a burst of 4 KiB these lie; what ran
// before it on the card is left out, and is the spread that statistics() has. Programs that take
// device addresses for numbers are known by all of their table.
//
// A simulated launch is stopped when it repeats itself: when the work that it did in its last three
// spans, each a whole fraction 1/k of it all, came at the same times within
// card.fast.tolerance_percent, and the last has its share of bytes read, of bytes written and of
// multiply-accumulates. What is left is taken to go on like that. Programs that mark steps are not
// stopped.
//
// Before that, the first launch of a program is looked through without time (program_work.h), and
// every launch's memory is looked up in the segments and the function's memory. A launch that may
// fault, or is too long to be looked through, is simulated whole; so every fault is that of a timed
// card.
//
// Launches with data are simulated whole, always. SystemC thread of the dispatcher only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <systemc>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/fast_statistics.h"
#include "model/common/resource.h"
#include "model/core/job.h"
#include "model/core/program_work.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

class FastLaunches {
 public:
  using Units = std::vector<UnitStatistics>;
  // units: reads the counters of the units that launches use, always the same in the same order.
  FastLaunches(const CardConfig& config, const Mmu& mmu, std::function<Units()> units);

  // A launch that is known: waits for as long as it takes, or until it is aborted, and returns
  // true. job.program is there and the cores have not started.
  bool Repeat(Job& job, const std::vector<uint8_t>& image);
  // The same launch, if Repeat has returned false: before the cores start, and when all of their
  // units have stopped. End waits for what was not simulated.
  void Begin(Job& job);
  void End(Job& job);

  // What units did, with what launches did beyond what was simulated.
  Units Read() const;
  const FastStatistics& statistics() const { return statistics_; }

 private:
  // From one marked step to the next, or to the end.
  struct Part {
    bool marked = false;
    uint32_t step = 0;
    uint64_t iteration = 0;
    uint64_t begin_ps = 0;  // from the start of the cores
    Units units;            // what they counted
  };
  struct Price {
    bool surveyed = false;
    std::optional<ProgramSurvey> survey;  // empty: too long
    uint64_t samples = 0;
    uint64_t sum_ps = 0, least_ps = UINT64_MAX, most_ps = 0;
    WorkDone done;
    uint64_t last_ps = 0;  // of the sample that `parts` are of
    std::vector<Part> parts;
    PathTime path;  // of the same sample
  };
  // Shares of all bytes read, bytes written and multiply-accumulates, of those that there are.
  struct Shares {
    std::array<double, 3> of{};
    double mean = 0;
  };
  // Where the launch at hand was when.
  struct Point {
    Shares done;
    double ps;  // since the start of the cores
  };

  // As if the job's units had taken that path, at another pace.
  static void SetPath(Job& job, PathTime path, double factor);
  static std::string KeyOf(const Job& job, const std::vector<uint8_t>& image);
  Price& PriceOf(const Job& job, const std::vector<uint8_t>& image);
  Price& Surveyed(const std::string& key, const Job& job);
  bool CannotFault(const Price& price, const Job& job) const;
  void Look(Job& job);  // at its progress
  Shares Done(const Job& job) const;
  Point At(double mean) const;  // between points_
  // The whole time, if the last three spans of `span` are alike; 0 if not.
  double Extrapolated(double span) const;
  void ClosePart(const Units& now);
  void Add(const Units& more);
  static Units Since(const Units& now, const Units& before);

  const CardConfig& config_;
  const Mmu& mmu_;
  const std::function<Units()> units_;
  std::unordered_map<std::string, Price> prices_;
  Units extra_;
  FastStatistics statistics_;

  // State of the launch at hand.
  Price* price_ = nullptr;
  bool whole_ = false;  // it may fault: nothing is left out
  Units part_before_;
  std::vector<Part> parts_;
  uint64_t read_before_ = 0;
  double next_look_ = 0;
  double whole_ps_ = 0;  // of the launch, as it was extrapolated
  std::vector<Point> points_;
};

}  // namespace spyre::model
