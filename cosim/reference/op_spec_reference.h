// SPDX-License-Identifier: Apache-2.0
// An OpSpec source worked out in float64 from what it says: operations, iteration ranges,
// coordinates and strides of their tensors, counted loops. Knows nothing of SuperDSCs, work
// division or programs; shares the reader of the source with the compiler, and nothing else. Runs
// on all processors; results do not depend on their number.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cosim/reference/graph_reference.h"
#include "cosim/reference/op_spec_memory.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::cosim {

class OpSpecReference {
 public:
  // Executes the source. images: of the arguments that have data before, by arg_index; both must
  // outlive this. Rounding: as for lists, each result is rounded to its tensor's format. Throws
  // Error(kBadInput) naming the operation: one without a public definition, operands that do not
  // fit, loops without a number of trips.
  OpSpecReference(const compiler::KernelSource& source, const ArgumentImages& images,
                  Rounding rounding);

  // The element of an argument at byte `at` after the last operation; NaN where there is none.
  double Value(int argument, int64_t at, DataFormat format, int bytes);
  // Something was read that neither the host nor an operation before had written.
  bool read_unwritten() const { return unwritten_; }

  // Additions and elements that an evaluation costs.
  static double Work(const compiler::KernelSource& source);

 private:
  class Execution;
  void Run(const std::vector<compiler::SpecNode>& nodes);

  OpSpecMemory memory_;
  bool rounds_;
  std::vector<int64_t> iterations_;  // of the loops around, outermost first
  std::atomic<bool> unwritten_{false};
};

}  // namespace spyre::cosim
