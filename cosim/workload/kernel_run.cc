// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/kernel_run.h"

#include <filesystem>
#include <utility>

#include "runtime/spyre/tensor_copy.h"

namespace spyre::cosim {

KernelRun::KernelRun(flex::RuntimeContext& context, const Workload& workload, RunTensors& tensors,
                     KernelLaunch launch)
    : roles_(workload.tensors()),
      tensors_(tensors),
      launch_(std::move(launch)),
      stream_(runtime::SpyreStream::Default(context)),
      kernels_(std::filesystem::path(launch_.directory)) {}

void KernelRun::CopyInputs() {
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (!roles_[i].is_input) continue;
    const void* host = tensors_.inputs.empty() ? nullptr : tensors_.inputs[i].data();
    runtime::CopyTensorToDevice(stream_, tensors_.device[i], host, roles_[i].host_format,
                                roles_[i].name);
    transfers_ += runtime::PiecesOf(tensors_.device[i]).size();
  }
}

void KernelRun::LoadPrograms() { runtime::LoadKernels(stream_, kernels_); }

void KernelRun::Launch() {
  runtime::LaunchKernel(stream_, kernels_, tensors_.device, launch_.options, launch_.dimensions);
}

void KernelRun::CopyOutputs() {
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (!roles_[i].is_output) continue;
    void* host = tensors_.outputs.empty() ? nullptr : tensors_.outputs[i].data();
    runtime::CopyTensorFromDevice(stream_, tensors_.device[i], host, roles_[i].host_format,
                                  roles_[i].name);
    transfers_ += runtime::PiecesOf(tensors_.device[i]).size();
  }
}

}  // namespace spyre::cosim
