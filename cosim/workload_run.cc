#include "cosim/workload_run.h"

#include "cosim/bundle_verify.h"
#include "cosim/bundle_workload.h"
#include "cosim/graph_verify.h"
#include "cosim/issue_verify.h"
#include "runtime/compiler/bundle_kernel.h"

namespace spyre::cosim {
namespace {

constexpr int64_t kVerifySample = 4096;

const uint16_t* HalfPointer(const HostData& data) {
  return reinterpret_cast<const uint16_t*>(data.data());
}

}  // namespace

compiler::Kernel CompileWorkload(const Workload& workload) {
  if (workload.bundle == nullptr) return compiler::GenerateKernel(workload.kernel_spec);
  compiler::BundleOptions options;
  options.lx_bytes = workload.lx_bytes;
  options.timing_only = workload.timing_only;
  return compiler::GenerateBundleKernel(workload.bundle->bundle, KernelArguments(workload),
                                        options);
}

Verification VerifyWorkload(const WorkloadConfig& config, const Workload& workload,
                            const std::vector<HostData>& inputs,
                            const std::vector<HostData>& outputs) {
  if (workload.issue != nullptr) return VerifyIssue(config, workload, inputs, outputs);
  if (workload.graph != nullptr) return VerifyGraph(config, workload, inputs, outputs);
  if (workload.bundle != nullptr) return VerifyBundle(config, workload, inputs, outputs);
  ReferenceProblem problem = workload.problem;
  problem.a = HalfPointer(inputs[0]);
  if (inputs.size() > 2) problem.b = HalfPointer(inputs[1]);
  const auto reference = MakeReference(problem);
  const int64_t sample = config.verify == "sample" ? kVerifySample : 0;
  return Verify(*reference, HalfPointer(outputs.back()), sample, config.seed);
}

}  // namespace spyre::cosim
