// The independent reference: what an operation must give, bit for bit, and in float64. Written from
// the documented rules (docs/architecture.md "Numbers", the semantics in model/contract/program.h);
// shares no arithmetic with the model.
//
// Order of additions: the reduced dimension is cut into slices (one per core that shares it), each
// slice into chunks of 64; inside a chunk terms are added in increasing order to a zero fp32
// accumulator, chunk sums in order to the slice's, slice sums in core order; one rounding at the
// end. With tiles of the reduced dimension (ReferenceProblem::tile_ends), a rounding for each.
//
// Threads: a Reference is constant after construction; Verify runs on all processors. Results do
// not depend on their number. Errors: Error(kBadInput) for an unknown operation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/contract/formats.h"

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
  // Multiplications and additions that one Ideal() costs.
  virtual int64_t ideal_cost() const = 0;
};
std::unique_ptr<Reference> MakeReference(const ReferenceProblem& problem);

// A tile of the reduced dimension: where it begins, and where its slices end, counted from there.
struct ReducedTile {
  int64_t begin = 0;
  std::vector<int64_t> slice_ends;
};
// `size`: of the reduced dimension.
std::vector<ReducedTile> ReducedTiles(const ReferenceProblem& problem, int64_t size);

struct Mismatch {
  int64_t element;
  uint64_t got, expected;  // bits on the host
  std::string tensor = "out";
  DataFormat format = DataFormat::kIeeeFp16;  // on the host
};

struct Verification {
  int64_t elements = 0;  // compared bit for bit
  int64_t mismatches = 0;
  std::vector<Mismatch> first;  // the first few, in order of element
  // Against float64, over `error_elements` elements, where both are finite. ulp: SEN169_FP16's at
  // the ideal value, but at least float16's smallest step, 2^-24.
  int64_t error_elements = 0;
  double max_abs_error = 0;
  double max_relative_error = 0;  // by the largest magnitude of the float64 results
  double max_ulp_error = 0;
  std::string reference;  // what was compared with what
  bool passed() const { return mismatches == 0; }
};

// Compares `output` (float16) with the reference: every element, or with sample_size > 0 that many
// seeded ones. NaNs are equal to each other.
Verification Verify(const Reference& reference, const uint16_t* output, int64_t sample_size,
                    uint64_t seed);

}  // namespace spyre::cosim
