// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/error_reasons.h"

namespace spyre::cosim {
namespace {

constexpr double kSmallKernelUs = 20;      // in which 2 us are a tenth
constexpr uint64_t kCoresOfRingSide = 16;  // of the ring
constexpr uint64_t kRowsWithoutLoss = 64;  // of a core, in a reduction
constexpr const char* kReasonNotKnown = "not known";

std::string ReasonOfMatmul(const CalibrationPoint& point, bool too_fast) {
  const Dims& split = point.split;
  const bool k_divided = split.k > 1;
  if (split.m > 1 && split.n == 1) {
    return too_fast
               ? "one group reads all of an operand: four bursts in flight carry more here than "
                 "on the card"
               : "a core asks for one operand after the other; on the card both seem to overlap";
  }
  if (split.m == 1 && split.n > kCoresOfRingSide && too_fast)
    return "each core reads a region of its own, at powers of two: conflicts of banks or channels";
  if (k_divided) return "k divided: two sources differ by up to a factor of two for such divisions";
  return kReasonNotKnown;
}

std::string ReasonOfVector(const CalibrationPoint& point, const std::string& family,
                           bool too_fast) {
  if (family == "reduction" && too_fast && point.cores > kCoresOfRingSide &&
      point.size.rows / point.cores > kRowsWithoutLoss)
    return "many rows a core: less than half of what they cost is modelled";
  if (family == "softmax") {
    return point.coarse_tiles > 1 ? "what lies between the tiles of a loop is not measured alone"
                                  : kReasonNotKnown;
  }
  if (point.cores > 1 && point.cores <= kCoresOfRingSide && too_fast)
    return "few cores on one side of the ring are slower than its links explain";
  if (family == "constant" || family == "broadcast")
    return "measured times depend on the number of columns, for a reason that is not known";
  return kReasonNotKnown;
}

}  // namespace

std::string ReasonOf(const CalibrationPoint& point, double error) {
  const bool too_fast = error < 0;
  const std::string family = point.Family();
  const bool matmul = family.rfind("matmul", 0) == 0;
  if (!matmul && too_fast && point.reference_us < kSmallKernelUs)
    return "some 2 us of a small kernel are not modelled";
  return matmul ? ReasonOfMatmul(point, too_fast) : ReasonOfVector(point, family, too_fast);
}

}  // namespace spyre::cosim
