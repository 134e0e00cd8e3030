// A workload: one operation of the configuration, resolved to a kernel, whole tensors, input data
// and the reference problem. Pure but for reading input files; any thread.
// Errors: Error(kBadInput) naming the key, the value and what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/config.h"
#include "cosim/reference.h"
#include "model/contract/stick_layout.h"
#include "runtime/compiler/kernel.h"

namespace spyre::cosim {

// A tensor of full size, as the host sees it: float16 in C order.
struct WorkloadTensor {
  std::string name;  // "a", "b", "out"
  bool is_output = false;
  std::vector<int64_t> shape;
  StickLayout layout;  // on the device
  std::string file;    // input file, "" if generated

  int64_t elements() const;
};

struct Workload {
  std::string description;  // "matmul m=4096 k=1024 n=1024, tile m=1024"
  compiler::KernelSpec kernel_spec;
  std::vector<WorkloadTensor> tensors;  // inputs first, in launch order
  ReferenceProblem problem;             // without data and slices
};

// Cores that the work may be divided over: workload.cores if it is given, else card.cores, or
// SENCORES if that is set and smaller.
// `sencores`: the variable's text, or null.
int MaxCores(const RunConfig& config, const char* sencores);

// Looks at the environment variable SENCORES.
Workload ResolveWorkload(const RunConfig& config);

// float16 data of an input: from its file, or generated from the seed. The same element has the
// same value whatever the size of the machine.
std::vector<uint16_t> LoadInput(const RunConfig& config, const WorkloadTensor& tensor);

// Where each core's part of the reduced dimension ends, for ReferenceProblem::slice_ends; empty if
// it is not divided.
std::vector<int64_t> ReducedSliceEnds(const Workload& workload, const compiler::KernelPlan& plan);

}  // namespace spyre::cosim
