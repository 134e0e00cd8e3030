// SPDX-License-Identifier: Apache-2.0
// A workload: what a configuration runs, resolved to whole tensors, programs and a check of the
// results. Made by ResolveWorkload; a session compiles it, opens it on a context, and verifies it,
// and does not know which kind it is:
//
//   OperationWorkload   one operation of the configuration's own keys
//   BundleWorkload      an SDSC bundle, OpSpec source, or a list of operations as one program
//   TaskListWorkload    a list of operations, launched one by one
//   ModelWorkload       a decoder stack, layer by layer
//
// Any thread, one at a time. Errors: Error(kBadInput) naming the key, the value and what would be
// right.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cosim/estimate/kernel_works.h"
#include "cosim/tensors/host_data.h"
#include "cosim/tensors/workload_tensor.h"
#include "cosim/verify/verification.h"
#include "cosim/workload/bundle_steps.h"
#include "cosim/workload/kernel_facts.h"
#include "cosim/workload/model_summary.h"
#include "cosim/workload/task_list_summary.h"
#include "runtime/collectives/card_collectives.h"
#include "runtime/compiler/ir/decision.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::cosim {

// How a tensor is allocated: in `count` chunks, each of a multiple of `granularity` elements.
struct Chunks {
  int count = 1;
  int64_t granularity = 1;
};

struct CompiledWorkload {
  std::string directory;               // of SpyreCode, or of one such directory for each kernel
  std::set<std::string> kernel_names;  // without those that only tiles need
  compiler::KernelPlan plan;           // of the kernel on the most cores
  std::vector<std::string> marks;      // names of the program's marks
  std::vector<BundleStep> steps;       // of a bundle's program, as it marks them
  std::map<std::string, compiler::KernelLx> lx;  // of each of kernel_names
  std::vector<Chunks> chunks;                    // by tensor
};

// What several cards do together in the middle of a workload, and the name of its result.
struct NamedCollective {
  std::string result;
  runtime::CollectiveCall call;
};

// The tensors of a run, each in the workload's order.
struct RunTensors {
  std::vector<runtime::SpyreTensor> device;
  std::vector<HostData> inputs, outputs;  // both empty in a timing-only run
  // What several cards do together in the middle of it; null: there is one card.
  runtime::CardCollectives* collectives = nullptr;
};

// One run of a workload on a context. The context, the tensors and the workload must outlive it.
// Each function enqueues and returns; the caller waits before it calls the next.
class WorkloadRun {
 public:
  virtual ~WorkloadRun() = default;
  // Copies that come before the launch, and behind it. A workload of many launches has its copies
  // among them.
  virtual void CopyInputs() = 0;
  virtual void LoadPrograms() = 0;
  virtual void Launch() = 0;
  virtual void CopyOutputs() = 0;
  virtual uint64_t transfers() const = 0;  // tensor copies so far
  // What was launched as tasks; null: one kernel.
  virtual const TaskListSummary* tasks() const { return nullptr; }
};

class Workload {
 public:
  virtual ~Workload() = default;

  // "matmul m=4096 k=1024 n=1024, tile m=1024"
  virtual const std::string& description() const = 0;
  virtual const std::vector<WorkloadTensor>& tensors() const = 0;  // in launch order

  // Writes SpyreCode to `directory`. Once, before Open and Verify.
  virtual CompiledWorkload Compile(const std::string& directory) = 0;
  virtual std::unique_ptr<WorkloadRun> Open(flex::RuntimeContext& context,
                                            RunTensors& tensors) const = 0;
  // inputs, outputs: one per tensor, empty where it is not of that kind; outputs as the card left
  // them.
  virtual Verification Verify(const std::vector<HostData>& inputs,
                              const std::vector<HostData>& outputs,
                              const CheckOptions& options) const = 0;

  // What it launches, for the closed form of its times; nothing is compiled to programs. BadInput,
  // with the way to simulate it, if there is no closed form of it.
  virtual WorkloadWork Work() const = 0;
  // The one kernel that the workload is. BadInput if there are several.
  virtual compiler::Kernel CompileKernel() const = 0;
  // What the compiler dropped or found doubtful, a line each: "WARNING: ...", "CRITICAL: ...".
  virtual const std::vector<std::string>& warnings() const {
    static const std::vector<std::string> none;
    return none;
  }
  // Why the compiler did what it did, operation by operation; empty where no list was compiled.
  virtual const std::vector<compiler::Decision>& decisions() const {
    static const std::vector<compiler::Decision> none;
    return none;
  }
  // What it is as a model; null: it is none.
  virtual const ModelSummary* model() const { return nullptr; }
  // What the front end decided, of each kernel in order of its first launch; empty: it was not
  // asked.
  virtual std::vector<KernelFacts> facts() const { return {}; }
  // What several cards do together in it, in order; empty: nothing.
  virtual std::vector<NamedCollective> collectives() const { return {}; }
  // What its bundle was emitted from; null: nothing was emitted.
  virtual const compiler::KernelSource* source() const { return nullptr; }
};

}  // namespace spyre::cosim
