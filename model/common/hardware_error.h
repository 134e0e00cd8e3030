// SPDX-License-Identifier: Apache-2.0
// What a block of the card says about an error of the hardware, and who hears of it: the
// management controller, which logs and counts it, and whoever watches injected faults. Kernel
// thread only.
#pragma once

#include <contract/registers.h>

#include <cstdint>

namespace spyre::model {

struct HardwareError {
  RasCode code{};
  RasSeverity severity{};
  uint16_t function = 0;  // whose work it hit; 0: the PF's, or no function's
  uint32_t detail[2]{};   // the place, as RasCode says for this code
  uint64_t time_ps = 0;   // set by who logs it
};

class HardwareErrorSink {
 public:
  // At the simulated time of the call.
  virtual void Report(const HardwareError& error) = 0;

 protected:
  ~HardwareErrorSink() = default;
};

}  // namespace spyre::model
