// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_kernels.h"

#include <unordered_map>

namespace spyre::cosim {

std::vector<ProgramKernel> KernelsOf(const RunResult& result) {
  std::vector<ProgramKernel> kernels;
  std::unordered_map<std::string, size_t> places;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation) || !operation.executed) continue;
    const auto [place, is_new] = places.emplace(operation.name, kernels.size());
    if (is_new) kernels.push_back({operation.name});
    ProgramKernel& kernel = kernels[place->second];
    if (kernel.launches++ == 0) kernel.first_ps = operation.finished_ps - operation.started_ps;
    kernel.device_ps += operation.finished_ps - operation.started_ps;
    kernel.macs += operation.macs;
    kernel.read += operation.device_bytes_read;
    kernel.written += operation.device_bytes_written;
    const auto usage = result.kernel_usages.find(operation.correlation);
    if (usage == result.kernel_usages.end()) continue;
    for (size_t i = 0; i < trace::kCauses; ++i) kernel.path[i] += usage->second.usage.path[i];
  }
  return kernels;
}

ProgramCopies CopiesOf(const RunResult& result) {
  ProgramCopies copies;
  for (const flex::CompletedOperation& operation : result.launches) {
    const bool to_card = operation.opcode == Opcode::DMA_IN;
    if (!to_card && operation.opcode != Opcode::DMA_OUT) continue;
    ++copies.count;
    (to_card ? copies.to_card : copies.from_card) += operation.size_bytes;
  }
  return copies;
}

}  // namespace spyre::cosim
