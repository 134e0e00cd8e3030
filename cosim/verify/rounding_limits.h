// SPDX-License-Identifier: Apache-2.0
// How far a list's results may be from float64 because the card rounds. Derived from two
// evaluations of the same operations on the same data: one without rounding, one with each result
// rounded once to SEN169_FP16 (graph_reference.h). Their difference is what rounding costs this
// list: it grows where a chain amplifies errors, and knows what cancels. The card rounds at other
// places too (inside a softmax, at the end of tiles), so a multiple of it is allowed.
// Plain values, any thread once made; both tensors must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cosim/reference/graph_reference.h"
#include "cosim/tensors/host_data.h"
#include "cosim/tensors/workload_tensor.h"
#include "cosim/verify/verification.h"

namespace spyre::cosim {

class RoundingLimits {
 public:
  // format: of the tensor on the host, in which each result was rounded.
  RoundingLimits(const DoubleTensor& ideal, const DoubleTensor& rounded,
                 DataFormat format = DataFormat::kIeeeFp16);
  // Of one element: 16 times the root mean square of the relative differences, by the element's own
  // magnitude and the tensor's, plus 4 times its own difference.
  double Of(size_t element) const;

 private:
  double Scale(size_t element) const;

  const DoubleTensor& ideal_;
  const DoubleTensor& rounded_;
  bool single_;
  bool whole_;
  double magnitude_ = 0;  // root mean square of ideal_
  double spread_ = 0;     // root mean square of difference / scale
};

// An output where close decisions are taken otherwise than float64 takes them (decisions.h).
struct OtherDecisions {
  DoubleTensor ideal, rounded;  // all of them
  DoubleTensor low, high;       // the least and the largest of each element: none, all, and some
  std::vector<bool> several;    // decisions change the element
};

// Adds the errors of one output to `result`. others: null if no decision is close.
// Of an element that follows one of them, what lies between both sides is no error; one that
// follows several has no limit, as not all of their combinations are evaluated. Both are counted as
// undecided. elements: the positions on the host of the elements of `ideal` and `rounded`; empty:
// these are all of the tensor, in order. Where result.tolerance is given, no element has a limit.
void MeasureRounded(const WorkloadTensor& tensor, const HostData& got,
                    const std::vector<int64_t>& elements, const DoubleTensor& ideal,
                    const DoubleTensor& rounded, Verification& result,
                    const OtherDecisions* others = nullptr);

}  // namespace spyre::cosim
