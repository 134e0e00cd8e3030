// SPDX-License-Identifier: Apache-2.0
// What verification found. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cosim/tensors/host_data.h"
#include "model/contract/formats.h"

namespace spyre::cosim {

struct Mismatch {
  int64_t element;
  uint64_t got, expected;  // bits on the host
  std::string tensor = "out";
  DataFormat format = DataFormat::kIeeeFp16;  // on the host
};

// An element beside its value in float64.
struct Deviation {
  std::string tensor;
  int64_t element = 0;
  double got = 0, expected = 0;
  double limit = 0;  // the largest error that rounding explains here; infinite: none is known
};

struct Verification {
  int64_t elements = 0;   // compared bit for bit
  int64_t total = 0;      // that there are; 0: all were compared
  bool of_parts = false;  // of a sample: it has an element of every core, corelet and tile
  int64_t mismatches = 0;
  std::vector<Mismatch> first;  // the first few, in order of element
  // Against float64, over `error_elements` elements, where both are finite. ulp: SEN169_FP16's at
  // the ideal value, but at least float16's smallest step, 2^-24.
  int64_t error_elements = 0;
  double max_abs_error = 0;
  double max_relative_error = 0;  // by the largest magnitude of the float64 results
  double max_ulp_error = 0;
  int64_t not_finite = 0;  // results that are not finite where float64 is
  // Of these, which operation was the first to make such results of finite operands, and how many;
  // empty: not known.
  std::string overflow;
  int64_t unjudged = 0;  // float64 is not finite: only the bits were compared
  int64_t beyond = 0;    // finite results that are further off than their limit
  // Of these, where a comparison of nearly equal numbers decides: right is what lies between
  // float64 with either result of it.
  int64_t undecided = 0;
  std::optional<Deviation> worst;  // by error / limit; what is not finite before all others
  double tolerance = 0;            // workload.tolerance; 0: the limits of the elements count
  std::string reference;           // what was compared with what
  bool within_tolerance() const {
    return not_finite == 0 && beyond == 0 && (tolerance == 0 || max_relative_error <= tolerance);
  }
  // A run without a single element is not a verified one.
  bool passed() const { return elements > 0 && mismatches == 0 && within_tolerance(); }
};

inline constexpr size_t kShownMismatches = 8;  // in Verification::first

// Device images of one card around a collective: of its data, and of what it gathered (empty:
// nothing).
struct CollectiveImages {
  HostData before, after, result;
};

// How thorough a verification is.
struct CheckOptions {
  // One operation: only some elements are compared, at least one of each of `parts`. A bundle, a
  // list: the bits of all are; the errors against float64 are of some elements, or left out, as
  // Verification::reference says.
  bool sample = false;
  uint64_t seed = 1;     // of the choice of elements
  double tolerance = 0;  // Verification::tolerance
  // Where the parts end into which an output is cut, for each of its dimensions; empty: not known.
  std::vector<std::vector<int64_t>> parts{};
  // Of a list that several cards run: this card's number, and what its memory had before and behind
  // each collective of the list. Null: it has none.
  size_t card = 0;
  const std::vector<CollectiveImages>* collectives = nullptr;
};

}  // namespace spyre::cosim
