// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/padding_reads.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cosim/reference/bundle_memory.h"
#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/verify/bundle_verify.h"

namespace spyre::cosim {
namespace {

// Both are finite in every format, and not equal in any.
constexpr uint8_t kPatterns[] = {0x3C, 0x45};

// The outputs of the bundle if `pattern` lies behind each argument.
std::vector<HostData> OutputsWith(const LaunchedBundle& launched,
                                  const std::vector<HostData>& inputs,
                                  const std::vector<uint64_t>& bytes, uint8_t pattern) {
  const std::vector<int> arguments = TensorArguments(launched.bundle);
  BundleMemory memory = ReferenceMemory(launched, false);
  for (size_t i = 0; i < launched.tensors.size(); ++i) {
    const WorkloadTensor& tensor = launched.tensors[i];
    std::vector<uint8_t>& image = memory.image(arguments[i]);
    if (tensor.is_input) {
      const std::vector<uint8_t> own = ToDeviceImage(tensor.layout, tensor.host_format, inputs[i]);
      std::copy(own.begin(), own.end(), image.begin());
    }
    const auto end = bytes.empty() ? static_cast<uint64_t>(tensor.layout.DeviceBytes()) : bytes[i];
    std::fill(image.begin() + static_cast<int64_t>(std::min<uint64_t>(end, image.size())),
              image.end(), pattern);
  }
  RunBundleReference(launched.bundle, launched.dimensions, memory);
  std::vector<HostData> outputs;
  for (size_t i = 0; i < launched.tensors.size(); ++i) {
    const WorkloadTensor& tensor = launched.tensors[i];
    if (!tensor.is_output) continue;
    outputs.push_back(
        FromDeviceImage(tensor.layout, tensor.host_format, memory.image(arguments[i])));
  }
  return outputs;
}

}  // namespace

bool DependsOnNeighbours(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                         const std::vector<uint64_t>& bytes) {
  return OutputsWith(launched, inputs, bytes, kPatterns[0]) !=
         OutputsWith(launched, inputs, bytes, kPatterns[1]);
}

}  // namespace spyre::cosim
