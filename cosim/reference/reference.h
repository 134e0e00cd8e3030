// SPDX-License-Identifier: Apache-2.0
// The independent reference: what an operation must give, bit for bit, and in float64. Written from
// the documented rules (docs/architecture.md "Numbers", the semantics in model/contract/program.h);
// shares no arithmetic with the model.
//
// Order of additions: the reduced dimension is cut into slices (one per core that shares it), each
// slice into chunks of 64; inside a chunk terms are added in increasing order to a zero fp32
// accumulator, chunk sums in order to the slice's, slice sums in core order; one rounding at the
// end. With tiles of the reduced dimension (ReferenceProblem::tile_ends), a rounding for each.
//
// Threads: a Reference is constant after construction. Errors: Error(kBadInput) for an unknown
// operation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace spyre::cosim {

// One operation on whole float16 tensors in C order. Sizes that an operation does not have are 1.
struct ReferenceProblem {
  std::string
      op;  // matmul, batchmatmul, a unary or binary function, sum, amax, amin, mean, softmax
  int64_t batch = 1;
  int64_t m = 1, k = 1, n = 1;  // matmul: a[batch,m,k], b[batch,k,n], out[batch,m,n]
  int64_t rows = 1, cols = 1;   // others: a, b [batch,rows,cols]
  bool reduce_rows = false;     // reductions: out[batch,cols] instead of out[batch,rows]
  // Where each core's part of the reduced dimension ends, in core order; empty: it is not divided.
  std::vector<int64_t> slice_ends = {};
  // Where tiles of the reduced dimension end whose partial results are rounded each, and added to
  // the ones before with another rounding (launches with reduction "plan"); slice_ends are then
  // those of every tile. Empty: one rounding at the end. Not for mean and softmax.
  std::vector<int64_t> tile_ends = {};
  const uint16_t* a = nullptr;  // float16; not owned, used during construction and by Ideal
  const uint16_t* b = nullptr;  // float16; only for two inputs
};

class Reference {
 public:
  virtual ~Reference() = default;
  virtual int64_t elements() const = 0;  // of the output
  // The exact float16 results of output elements [begin, end). Any thread.
  virtual void Compute(int64_t begin, int64_t end, uint16_t* results) const = 0;
  // float64 result from the same device values of the inputs, no rounding in between. Any thread.
  virtual double Ideal(int64_t element) const = 0;
  // The largest distance to Ideal() that roundings in the documented order explain: half a step of
  // SEN169_FP16 for each rounding to it, half a step of fp32 for each of its additions, by the
  // magnitudes that are added. Knows the definition, not what a compiler made of it. Any thread.
  virtual double Rounding(int64_t element) const = 0;
  // Multiplications and additions that one Ideal() costs.
  virtual int64_t ideal_cost() const = 0;
};
std::unique_ptr<Reference> MakeReference(const ReferenceProblem& problem);

// Rounding() of a value that is rounded once.
double OneRounding(double value);

// A tile of the reduced dimension: where it begins, and where its slices end, counted from there.
struct ReducedTile {
  int64_t begin = 0;
  std::vector<int64_t> slice_ends;
};
// `size`: of the reduced dimension.
std::vector<ReducedTile> ReducedTiles(const ReferenceProblem& problem, int64_t size);

// Rounding() of a sum, which is given its terms in order.
class SumRounding {
 public:
  explicit SumRounding(const std::vector<ReducedTile>& tiles) : tiles_(tiles) {}
  void Add(double term);
  double Take() const;

 private:
  const std::vector<ReducedTile>& tiles_;
  size_t tile_ = 0;
  int64_t terms_ = 0;
  double sum_ = 0, tile_sum_ = 0, magnitude_ = 0;
  double tile_rounding_ = 0;  // of the tiles' partial results and of their sums
};

}  // namespace spyre::cosim
