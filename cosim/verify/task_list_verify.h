// SPDX-License-Identifier: Apache-2.0
// Verification of a list whose operations are launched one by one: every operation's bundle is
// executed element by element, in order of the list, on the results of those before; the outputs
// are also measured against the operations themselves in float64. Any thread. Errors:
// Error(kBadInput).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "cosim/reference/launched_bundle.h"
#include "cosim/tensors/host_data.h"
#include "cosim/verify/verification.h"
#include "runtime/collectives/collective_call.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

class TaskListVerifier {
 public:
  // tensors, inputs: of the list, as for VerifyBundle. Both must outlive this.
  TaskListVerifier(const std::vector<WorkloadTensor>& tensors, const std::vector<HostData>& inputs);

  // Executes one task. positions: in the list's tensors, of each of the kernel's, which must
  // outlive this.
  void Run(const LaunchedBundle& kernel, const std::vector<int>& positions);
  // What the host computes, by the operation's float64 meaning and one rounding. op: position in
  // `operations`; positions: of its operands without numbers, and of its result.
  void Run(const compiler::NamedGraph& operations, size_t op, const std::vector<int>& positions);

  // What several cards do together: what the card had before must be right, and what it has behind
  // it is taken as it is (VerifyCollective judges that). positions: of the operand and of the
  // result, or one if the result takes the operand's place. name: of the operand, in `operations`.
  void Run(const runtime::CollectiveCall& call, size_t card, const CollectiveImages& images,
           const std::vector<int>& positions);

  // The bits of the outputs, after every task.
  Verification CheckBits(const std::vector<HostData>& outputs, const CheckOptions& options) const;
  // As VerifyOpList, after every task. Bits must be equal whatever the order in which the card ran
  // the launches.
  Verification Check(const compiler::NamedGraph& operations, const std::vector<HostData>& outputs,
                     const CheckOptions& options) const;

 private:
  HostData OnHost(size_t tensor) const;

  const std::vector<WorkloadTensor>& tensors_;
  const std::vector<HostData>& inputs_;
  std::vector<std::vector<uint8_t>> images_;  // device images, by tensor
  std::vector<HostData> host_;                // what the host has computed, likewise
  std::set<const LaunchedBundle*> kernels_;   // that have run
  // Around a collective: the tensor as the card had it, and as it should be, and the result, with
  // every bit; and the tensor as the host would have it.
  struct Observed {
    size_t operand, result;
    HostData before, expected, after, on_host;
  };
  std::vector<Observed> collectives_;
};

}  // namespace spyre::cosim
