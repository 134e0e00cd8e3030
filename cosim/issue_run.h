// Runs a workload of many launches on streams of a context: loads its kernels, and enqueues what
// PlanIssue says, or gives it to a task graph (runtime/spyre/issue.h) that finds the order. Made by
// the session for one run; the context and the tensors must outlive it. Errors: as the runtime's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cosim/config.h"
#include "cosim/host_data.h"
#include "cosim/issue_schedule.h"
#include "cosim/issue_summary.h"
#include "cosim/workload.h"
#include "runtime/compiler/kernel.h"
#include "runtime/flex/event.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/issue.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::cosim {

// Compiles every kernel into a SpyreCode directory of its own below `directory`, named after it.
std::vector<compiler::Kernel> CompileIssue(const IssueWork& work, const std::string& directory);

class IssueRun {
 public:
  // directory: as given to CompileIssue.
  IssueRun(flex::RuntimeContext& context, const Workload& workload, const IssueConfig& config,
           const std::string& directory);

  // Copies the programs to the device on the default stream. A kernel is loaded once for each
  // stream that may launch it: correction writes into the program, so that one copy would order the
  // streams. Synchronise before Enqueue.
  void Load();

  // Everything; returns at once, unless the host keeps the dependencies, or a task graph releases.
  // inputs, outputs: as tensors, or empty in a timing-only run.
  void Enqueue(const std::vector<runtime::SpyreTensor>& tensors,
               const std::vector<HostData>& inputs, std::vector<HostData>& outputs);

  const IssueSummary& summary() const { return summary_; }

 private:
  // Copies of one kernel's program, and which stream has which.
  struct Programs {
    std::vector<std::unique_ptr<runtime::ExecutionPlan>> plans;
    std::map<uint32_t, size_t> of_stream;
  };
  using Tensors = std::vector<runtime::SpyreTensor>;

  void AddPrograms(const std::string& directory);
  void EnqueueOnStreams(const Tensors& tensors, const std::vector<HostData>& inputs,
                        std::vector<HostData>& outputs);
  void EnqueueTaskGraph(const Tensors& tensors, const std::vector<HostData>& inputs,
                        std::vector<HostData>& outputs);
  void EnqueueStep(runtime::SpyreStream& stream, const IssueStep& step, const Tensors& tensors,
                   const std::vector<HostData>& inputs, std::vector<HostData>& outputs);
  std::vector<runtime::TensorAccess> AccessesOf(const IssueStep& step,
                                                const Tensors& tensors) const;
  // The stream's next operation comes after the step.
  void WaitFor(runtime::SpyreStream& stream, size_t step);
  std::string NameOf(const IssueStep& step) const;  // of its tensor or task
  void Launch(runtime::SpyreStream& stream, const IssueTask& task, const Tensors& tensors);

  const Workload& workload_;
  const IssueConfig config_;
  const IssueWork& work_;
  flex::RuntimeContext& context_;
  std::vector<IssueStep> steps_;
  std::map<size_t, flex::Event> events_;  // by the step that signals
  std::map<uint32_t, runtime::SpyreStream> streams_;
  std::vector<Programs> programs_;  // by kernel
  IssueSummary summary_;
};

}  // namespace spyre::cosim
