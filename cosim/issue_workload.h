// A list of operations as a workload of many launches: every operation is a kernel of its own, with
// its results in device memory, and the operations are tasks that streams take. What follows from
// the data orders the tasks, and the key `after` of an operation. Reads files; any thread.
// Errors: Error(kBadInput) naming the operation and the key, CompileError of the front end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/config.h"
#include "cosim/workload.h"

namespace spyre::cosim {

// One operation of the list.
struct IssueTask {
  std::string name;                // of its result
  size_t kernel = 0;               // position in IssueWork::kernels
  std::vector<int> tensors;        // positions in Workload::tensors, in the kernel's launch order
  std::optional<uint32_t> stream;  // of the context (flex/scheduler.h); empty: dealt out
  std::vector<size_t> after;       // positions of earlier tasks that it waits for besides
};

struct IssueWork {
  std::vector<Workload> kernels;  // bundles of one operation; equal operations share one
  std::vector<IssueTask> tasks;   // in order of the list, which is an order that they may run in
};

// BadInput for a key of workload.issue that the mode has no use for, and for a mode that has no
// list of operations to issue.
void CheckIssueKeys(const WorkloadConfig& workload);

// Whether the configuration issues its list of operations one by one.
bool HasIssue(const WorkloadConfig& workload);

// Workload::issue is set, and tensors has the list's inputs, constants and results: those that are
// not outputs are neither input nor output of the workload. Every tensor has one layout, which its
// writer chooses; sticks of inputs are planned for the whole list.
Workload ResolveIssue(const RunConfig& config);

}  // namespace spyre::cosim
