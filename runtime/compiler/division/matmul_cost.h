// SPDX-License-Identifier: Apache-2.0
// The `cost` rule of work division: how long a matmul takes under a split, after the public
// calibrated model, and the split that takes least. Pure functions, any thread.
//
// Times in nanoseconds, sizes in elements. Source of the form and of every default: public cost
// model of the front end, fitted to measured kernels (docs/facts.md); docs/work-division.md has the
// formula.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/compiler/division/work_division.h"

namespace spyre::compiler {

// What one matmul's time depends on. The defaults are those of the public card.
struct MatmulTiming {
  double macs_per_core_ns = 1140;  // sustained by one core
  // Fewer rows than this on a core leave its array waiting: (rows / full_rows) ^ exponent.
  double full_rows = 64;
  double rows_exponent = 0.35;
  double memory_bytes_per_ns = 150;         // of all cores, in one direction
  double turnaround_ns_per_byte = 0.00574;  // of what is written, or read if that is less
  // A core's share of the output beyond this reads the operands again: so much of them for each
  // doubling, at most so much.
  double spill_area = 65'536;
  double spill_per_doubling = 0.45;
  double most_spill = 1.5;
  // Each element of a large share beyond lopsided_area pays for each doubling of the slices beyond
  // a knee: of the longer one of m and n, and of the shorter.
  double lopsided_area = 131'072;
  double long_knee = 8;
  double long_ns = 2.62;
  double short_knee = 16;
  double short_ns = 2.88;
  // Adding up partial results of a split K, for each output element of a core and each further
  // core; in batched matmuls less.
  double combine_ns = 1.0;
  double batched_combine_ns = 0.1;
  // A load that more cores share takes (cores / cohort) ^ exponent as long on the ring. The public
  // fit does not charge it beside the above: it decides between splits of the same time.
  double cohort = 8;
  double cohort_exponent = 0.75;
};

struct MatmulSize {
  int64_t batch = 1;
  int64_t m = 1;
  int64_t k = 1;
  int64_t n = 1;
  int element_bytes = 2;
};

struct MatmulSplit {
  int batch = 1;
  int m = 1;
  int k = 1;
  int n = 1;
  int cores() const { return batch * m * k * n; }
};

struct MatmulTime {
  double total_ns = 0;
  double multicast_ns = 0;  // of the operands' way over the ring; not part of total_ns
};

MatmulTime EstimateMatmul(const MatmulSize& size, const MatmulSplit& split,
                          const MatmulTiming& timing);

// The model has no limit on what one core can load: splits within 1 % count as equal.
inline constexpr double kAsGood = 1.01;

// The splits of a matmul's loops that take least on at most max_cores cores, among those that cut
// whole sticks into equal parts and let every core reach what it needs; of several within `as_good`
// times the least one on the most cores, and of these the one with the least ring traffic. Empty if
// the operation is not a matmul with one reduction loop, or no such split exists.
std::optional<std::vector<int>> CheapestMatmulSplits(const OpIr& op, int max_cores,
                                                     const MatmulTiming& timing,
                                                     double as_good = kAsGood);

}  // namespace spyre::compiler
