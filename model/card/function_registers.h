// SPDX-License-Identifier: Apache-2.0
// BAR0 of one function: the register file of the contract, wired to the blocks behind it. Each hook
// is the register's side effect as registers.toml describes it. Kernel thread only; never waits.
#pragma once

#include <contract/register_files.h>

#include <cstdint>
#include <functional>
#include <systemc>

#include "model/card/telemetry.h"
#include "model/common/card_config.h"
#include "model/control/control_processor.h"
#include "model/control/management.h"
#include "model/mmu/mmu.h"
#include "model/pcie/endpoint.h"

namespace spyre::model {

class FunctionRegisters : public BarTarget {
 public:
  struct Blocks {
    ControlProcessor& control;
    ManagementController& management;
    Mmu& mmu;
    PcieEndpoint& endpoint;
    CardTelemetry& telemetry;
  };
  FunctionRegisters(unsigned function, const CardConfig& config, Blocks blocks,
                    std::function<void()> reset);

  uint32_t ReadBar0(uint32_t offset) override { return bar0_.Read(offset); }
  void WriteBar0(uint32_t offset, uint32_t value, unsigned byte_enables,
                 const sc_core::sc_time& arrival) override;

  // Sets INT_STATUS bits and sends the MSI of each cause that software has enabled.
  void Raise(uint32_t causes);
  void Reset();

 private:
  void WireIdentity();
  void WireQueue();
  void WireInterrupt();
  void WirePhysicalFunction();
  void WireManagement();
  void WireFirmware();
  void WireCounters();
  void WireCardTelemetry();
  void ShowCounters(const Register& time_lo, const CounterValues& values);
  void ShowSensors();
  void UpdateQueue();

  const unsigned function_;
  const CardConfig& config_;
  Blocks blocks_;
  std::function<void()> reset_;
  Bar0Registers bar0_;
  sc_core::sc_time arrival_;  // of the write whose hook runs
  uint64_t latched_time_ = 0;
  uint32_t msi_count_ = 0;
  uint32_t map_status_ = 0;
};

}  // namespace spyre::model
