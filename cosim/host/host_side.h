// SPDX-License-Identifier: Apache-2.0
// Host memory and interrupts of somebody who is not in this process: what HostBridge asks when it
// has been given one. Kernel thread; from inside a call that lets the card run.
#pragma once

#include <cstdint>
#include <memory>

#include "driver/transport.h"
#include "model/common/transfer.h"

namespace spyre::cosim {

class HostSide {
 public:
  virtual ~HostSide() = default;

  // Whether the function may read, or write, all of [address, address + bytes). bytes > 0.
  virtual bool Allows(driver::FunctionId function, driver::IoAddress address, uint64_t bytes,
                      bool write) = 0;
  // Whole, or not at all, as an IOMMU refuses. kLater: `*late` is set, and comes.
  enum class Answer { kDone, kRefused, kLater };
  virtual Answer Read(driver::FunctionId function, driver::IoAddress address, uint8_t* data,
                      uint64_t bytes, std::shared_ptr<model::LateAnswer>* late) = 0;
  // False: refused.
  virtual bool Write(driver::FunctionId function, driver::IoAddress address, const uint8_t* data,
                     uint64_t bytes) = 0;
  // An MSI of the function has arrived.
  virtual void Interrupt(driver::FunctionId function, unsigned vector) = 0;
};

}  // namespace spyre::cosim
