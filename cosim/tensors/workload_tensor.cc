// SPDX-License-Identifier: Apache-2.0
#include "cosim/tensors/workload_tensor.h"

namespace spyre::cosim {

int64_t WorkloadTensor::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

int64_t WorkloadTensor::host_bytes() const { return elements() * HostFormatOf(host_format).bytes; }

}  // namespace spyre::cosim
