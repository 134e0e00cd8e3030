// SPDX-License-Identifier: Apache-2.0
// Declared faults that are a moment in time and hit the card as a whole: its link, its firmware,
// its speed. There is a process for each; a card without such faults has none. Kernel thread only.
#pragma once

#include <cstddef>
#include <systemc>
#include <vector>

#include "model/card/telemetry.h"
#include "model/control/control_processor.h"
#include "model/control/management.h"
#include "model/core/core.h"
#include "model/fault/fault_injector.h"
#include "model/pcie/endpoint.h"

namespace spyre::model {

class FaultMoments : public sc_core::sc_module {
 public:
  struct Blocks {
    PcieEndpoint& endpoint;
    ManagementController& management;
    ControlProcessor& control;
    CardTelemetry& telemetry;
    std::vector<Core*> cores;
  };
  FaultMoments(const sc_core::sc_module_name& name, const FaultPort& port, Blocks blocks);

 private:
  void Happen(size_t number);  // process
  // Does what the fault does, waiting for its end if it has one.
  void Hit(const FaultSpec& fault, Injection& injection);
  void Slow(const FaultSpec& fault, Injection& injection, RasCode code, uint32_t detail);
  void FlipBit(const FaultSpec& fault);

  const FaultPort port_;
  const Blocks blocks_;
  std::vector<uint64_t> slowed_;  // percent of each throttle that lasts
};

}  // namespace spyre::model
