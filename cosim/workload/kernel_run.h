// SPDX-License-Identifier: Apache-2.0
// The run of a workload that is one kernel: launched on the context's default stream, between the
// copies of its tensors. Single thread. Errors: as the runtime's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/workload/workload.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/spyre_stream.h"

namespace spyre::cosim {

struct KernelLaunch {
  std::string directory;            // of SpyreCode
  runtime::LaunchOptions options;   // how it is tiled
  std::vector<int64_t> dimensions;  // values given at launch
};

class KernelRun final : public WorkloadRun {
 public:
  KernelRun(flex::RuntimeContext& context, const Workload& workload, RunTensors& tensors,
            KernelLaunch launch);

  void CopyInputs() override;
  void LoadPrograms() override;
  void Launch() override;
  void CopyOutputs() override;
  uint64_t transfers() const override { return transfers_; }

 private:
  const std::vector<WorkloadTensor>& roles_;
  RunTensors& tensors_;
  KernelLaunch launch_;
  runtime::SpyreStream stream_;
  runtime::KernelSet kernels_;
  uint64_t transfers_ = 0;
};

}  // namespace spyre::cosim
