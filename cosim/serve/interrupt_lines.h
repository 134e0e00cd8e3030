// SPDX-License-Identifier: Apache-2.0
// How a client wants to hear of the function's MSIs: an eventfd for each vector. Kernel thread.
#pragma once

#include <contract/registers.h>

#include <array>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace spyre::cosim {

class InterruptLines {
 public:
  // VFIO_USER_DEVICE_SET_IRQS: 0, or EINVAL for what a PCI function with MSI alone cannot do.
  int Set(std::string_view payload, std::vector<Descriptor> descriptors);
  // The function has raised the vector.
  void Raise(unsigned vector);
  void Clear();

 private:
  std::array<Descriptor, kMsiVectors> lines_;
  unsigned masked_ = 0;   // bit: vector
  unsigned pending_ = 0;  // raised while masked
};

}  // namespace spyre::cosim
