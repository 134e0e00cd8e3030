// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/division/matmul_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/contract/memory_map.h"
#include "runtime/compiler/division/matmul_on_ring.h"

namespace spyre::compiler {
namespace {

double Doublings(double value, double knee) { return std::max(0.0, std::log2(value / knee)); }

// What the time of a matmul is made of.
struct Parts {
  double compute_ns = 0;
  double read = 0, written = 0;  // bytes of device memory
  double spill = 0;              // of `read`, that is read again
  double turnaround_ns = 0;      // of the memory, between reads and writes
  double lopsided_ns = 0;
  double combine_ns = 0;
  double multicast_ns = 0;  // of the operands' way over the ring

  // Where the operands are `loaded` bytes at the memory's rate.
  double TotalNs(double loaded, const MatmulTiming& timing) const {
    const double memory_ns =
        (loaded * (1 + spill) + written) / timing.memory_bytes_per_ns + turnaround_ns;
    return std::max(compute_ns, memory_ns) + lopsided_ns + combine_ns;
  }
};

Parts PartsOf(const MatmulSize& size, const MatmulSplit& split, const MatmulTiming& timing) {
  const auto batch = static_cast<double>(size.batch);
  const auto m = static_cast<double>(size.m);
  const auto k = static_cast<double>(size.k);
  const auto n = static_cast<double>(size.n);
  const double rows = m / split.m;
  const double area = rows * n / split.n;

  const double efficiency = std::min(1.0, std::pow(rows / timing.full_rows, timing.rows_exponent));
  Parts parts;
  parts.compute_ns = batch * m * k * n / (split.cores() * timing.macs_per_core_ns * efficiency);

  const double a_bytes = batch * m * k * size.element_bytes;
  const double b_bytes = batch * k * n * size.element_bytes;
  parts.written = batch * m * n * size.element_bytes;
  parts.read = a_bytes + b_bytes;
  parts.spill =
      std::min(timing.most_spill, timing.spill_per_doubling * Doublings(area, timing.spill_area));
  parts.turnaround_ns = timing.turnaround_ns_per_byte * std::min(parts.read, parts.written);

  const bool m_is_long = size.m > size.n || (size.m == size.n && split.m > split.n);
  const double long_split = m_is_long ? split.m : split.n;
  const double short_split = m_is_long ? split.n : split.m;
  parts.lopsided_ns = std::max(0.0, area - timing.lopsided_area) *
                      (timing.long_ns * Doublings(long_split, timing.long_knee) +
                       timing.short_ns * Doublings(short_split, timing.short_knee));

  const double combine = size.batch > 1 ? timing.batched_combine_ns : timing.combine_ns;
  parts.combine_ns = (split.k - 1) * area * (batch / split.batch) * combine;

  // One load of a piece of a serves the cores that differ in n only, one of b those in m.
  const auto slowed = [&](double bytes, int sharers) {
    return bytes / timing.memory_bytes_per_ns *
           std::max(1.0, std::pow(sharers / timing.cohort, timing.cohort_exponent));
  };
  parts.multicast_ns = slowed(a_bytes, split.n) + slowed(b_bytes, split.m);
  return parts;
}

// The loops of a matmul by what they do.
struct MatmulLoops {
  std::vector<int> batch, m, n;
  int k = -1;
};

std::optional<MatmulLoops> LoopsOf(const OpIr& op, const WorkDivider& divider) {
  if (!op.IsMatmul() || op.inputs.size() != 2) return std::nullopt;
  MatmulLoops loops;
  for (int v : divider.iteration_space()) {
    const bool in_output = op.output.index.coefficient[Index(v)] != 0;
    const bool in_a = op.inputs[0].index.coefficient[Index(v)] != 0;
    const bool in_b = op.inputs[1].index.coefficient[Index(v)] != 0;
    if (!in_output && loops.k >= 0) return std::nullopt;
    if (!in_output) {
      loops.k = v;
    } else if (in_a && in_b) {
      loops.batch.push_back(v);
    } else {
      (in_a ? loops.m : loops.n).push_back(v);
    }
  }
  return loops.k < 0 ? std::nullopt : std::make_optional(loops);
}

struct Candidate {
  std::vector<int> splits;
  int cores;
  MatmulTime time;
};

class CandidateSearch {
 public:
  CandidateSearch(const OpIr& op, const WorkDivider& divider, const MatmulLoops& loops,
                  int max_cores, const MatmulTiming& timing)
      : op_(op), divider_(divider), loops_(loops), max_cores_(max_cores), timing_(timing) {
    size_.batch = Ranges(loops.batch);
    size_.m = Ranges(loops.m);
    size_.n = Ranges(loops.n);
    size_.k = op.loops[Index(loops.k)].range;
    size_.element_bytes = std::max(BitsPerElement(op.output.host_format) / 8, 1);
  }

  std::vector<Candidate> Run() {
    std::vector<int> splits(op_.loops.size(), 1);
    Try(0, 1, splits);
    return std::move(candidates_);
  }

 private:
  int64_t Ranges(const std::vector<int>& variables) const {
    int64_t product = 1;
    for (int v : variables) {
      // A size that no memory holds: only the order of times matters.
      if (__builtin_mul_overflow(product, op_.loops[Index(v)].range, &product)) return INT64_MAX;
    }
    return product;
  }

  static int Product(const std::vector<int>& variables, const std::vector<int>& splits) {
    int product = 1;
    for (int v : variables) product *= splits[Index(v)];
    return product;
  }

  void Try(size_t position, int cores, std::vector<int>& splits) {
    const std::vector<int>& space = divider_.iteration_space();
    if (position == space.size()) {
      for (size_t i = 0; i < divider_.tensor_count(); ++i) {
        if (divider_.PerCoreSpan(i, splits) > static_cast<int64_t>(kMaxCoreSpanBytes)) return;
      }
      const MatmulSplit split{Product(loops_.batch, splits), Product(loops_.m, splits),
                              splits[Index(loops_.k)], Product(loops_.n, splits)};
      candidates_.push_back({splits, split.cores(), EstimateMatmul(size_, split, timing_)});
      return;
    }
    const size_t v = Index(space[position]);
    for (int split = 1; cores * split <= max_cores_; ++split) {
      if (divider_.size_in_sticks()[v] % split != 0) continue;
      splits[v] = split;
      Try(position + 1, cores * split, splits);
    }
    splits[v] = 1;
  }

  const OpIr& op_;
  const WorkDivider& divider_;
  const MatmulLoops& loops_;
  const int max_cores_;
  const MatmulTiming& timing_;
  MatmulSize size_;
  std::vector<Candidate> candidates_;
};

}  // namespace

MatmulTime EstimateMatmul(const MatmulSize& size, const MatmulSplit& split,
                          const MatmulTiming& timing) {
  const Parts parts = PartsOf(size, split, timing);
  return {parts.TotalNs(parts.read, timing), parts.multicast_ns};
}

double EstimateMatmulOnRing(const MatmulSize& size, const MatmulSplit& split,
                            const MatmulTiming& timing) {
  const Parts parts = PartsOf(size, split, timing);
  return parts.TotalNs(parts.multicast_ns * timing.memory_bytes_per_ns, timing);
}

std::optional<std::vector<int>> CheapestMatmulSplits(const OpIr& op, int max_cores,
                                                     const MatmulTiming& timing, double as_good) {
  CheckCoreCount(max_cores);
  const WorkDivider divider(op);
  const std::optional<MatmulLoops> loops = LoopsOf(op, divider);
  if (!loops) return std::nullopt;
  const std::vector<Candidate> candidates =
      CandidateSearch(op, divider, *loops, max_cores, timing).Run();
  if (candidates.empty()) return std::nullopt;
  const auto faster = [](const Candidate& a, const Candidate& b) {
    return a.time.total_ns < b.time.total_ns;
  };
  const double limit =
      as_good * std::min_element(candidates.begin(), candidates.end(), faster)->time.total_ns;
  // Of equals, many cores load faster.
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.cores != b.cores) return a.cores > b.cores;
    return a.time.multicast_ns < b.time.multicast_ns;
  };
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.time.total_ns > limit) continue;
    if (best == nullptr || better(candidate, *best)) best = &candidate;
  }
  return best->splits;
}

}  // namespace spyre::compiler
