// A workload: one operation of the configuration, a bundle, or a list of operations, resolved to
// whole tensors, input data, and what is needed to compile and to verify it. Pure but for reading
// files; any thread. Errors: Error(kBadInput) naming the key, the value and what would be right.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cosim/config.h"
#include "cosim/host_data.h"
#include "cosim/reference.h"
#include "model/contract/stick_layout.h"
#include "runtime/compiler/bundle.h"
#include "runtime/compiler/kernel.h"
#include "runtime/compiler/named_graph.h"

namespace spyre::cosim {

// A tensor of full size, as the host sees it: in C order.
struct WorkloadTensor {
  std::string name;  // "a", "b", "out"
  int position = 0;  // among the tensors of its workload
  bool is_input = true;
  bool is_output = false;  // with is_input: changed in place; neither: between two operations
  std::vector<int64_t> shape;
  DataFormat host_format = DataFormat::kIeeeFp16;
  StickLayout layout;              // on the device
  std::string file;                // input file, "" if generated
  std::optional<double> constant;  // of a constant of a list of operations: its one element

  int64_t elements() const;
  int64_t host_bytes() const;
};

// A bundle and what a launch of it is given beside the tensors.
struct BundleWork {
  compiler::Bundle bundle;          // its segments are bound
  std::vector<int64_t> dimensions;  // of its kDimension arguments, in order, in loop trips
};

struct IssueWork;

struct Workload {
  std::string description;              // "matmul m=4096 k=1024 n=1024, tile m=1024"
  std::vector<WorkloadTensor> tensors;  // in launch order
  // One operation; inputs come first, then the output.
  compiler::KernelSpec kernel_spec;      // of a tile
  std::map<std::string, int64_t> sizes;  // of the tensors, by the names of kernel_spec.dims
  ReferenceProblem problem;              // without data and slices
  // Or a bundle, whose kTensor arguments the tensors are; then the two above are unused.
  std::shared_ptr<const BundleWork> bundle;
  // Or many launches (issue_workload.h), whose tensors the tensors are; `graph` is set.
  std::shared_ptr<const IssueWork> issue;
  // The list of operations that the bundle was made from; null: it was given as a bundle.
  std::shared_ptr<const compiler::NamedGraph> graph;
  std::shared_ptr<const compiler::KernelSource> source;  // of the bundle, if it was emitted here
  uint64_t lx_bytes = 0;                                 // that its program may use on each core
  bool timing_only = false;  // its cores price the work but move no data
};

// Cores that the work may be divided over: workload.cores if it is given, else card.cores, or
// SENCORES if that is set and smaller.
// `sencores`: the variable's text, or null.
int MaxCores(const RunConfig& config, const char* sencores);

// `cores`, or SENCORES if that is set and smaller. `sencores`: the variable's text, or null.
int LimitCores(int cores, const char* sencores);

// The timing that work division by cost decides by: the public calibration, for this card's rates.
compiler::MatmulTiming MatmulTimingOf(const model::CardConfig& card);

// Looks at the environment variable SENCORES.
Workload ResolveWorkload(const RunConfig& config);

// Data of an input: from its file, or generated from the seed. The same element has the same value
// whatever the size of the machine.
HostData LoadInput(const RunConfig& config, const WorkloadTensor& tensor);

// Where each core's part of the reduced dimension ends, for ReferenceProblem::slice_ends; empty if
// it is not divided.
std::vector<int64_t> ReducedSliceEnds(const Workload& workload, const compiler::KernelPlan& plan);

}  // namespace spyre::cosim
