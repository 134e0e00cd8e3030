// SPDX-License-Identifier: Apache-2.0
// The card: every block, wired as docs/architecture.md draws it. What is outside is the PCIe link:
// `endpoint().inbound` and `endpoint().outbound` bind to a root complex (to a bus of the TLM-2.0
// base protocol through model/root_port). A simulation may have several cards. The card never
// starts, pauses or stops the simulation, and changes nothing that belongs to all of it. Kernel
// thread only.
//
//   root complex ── endpoint ── function registers ── control processor ──┬── DMA engine
//   ───────────────┐
//                                     management controller ── MMU        └── dispatcher ── cores
//                                     ── ring ── memory
//
// A pipelined card has a second dispatcher with a service core, the prepare engine. A concurrent
// card has several dispatchers for the cores, and a placement, which says which cores each gets.
#pragma once

#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "model/card/fault_moments.h"
#include "model/card/function_registers.h"
#include "model/card/telemetry.h"
#include "model/common/card_config.h"
#include "model/common/functional_queue.h"
#include "model/common/ports.h"
#include "model/control/control_processor.h"
#include "model/control/core_placement.h"
#include "model/control/debug_target.h"
#include "model/control/dispatcher.h"
#include "model/control/management.h"
#include "model/core/core.h"
#include "model/dma/dma_engine.h"
#include "model/fault/fault_injector.h"
#include "model/memory/device_memory.h"
#include "model/mmu/mmu.h"
#include "model/pcie/endpoint.h"
#include "model/ring/ring.h"

namespace spyre::model {

class Waves;

class Card final : public sc_core::sc_module,
                   private InterruptInterface,
                   private FunctionResetInterface,
                   private MemoryClearInterface,
                   private FaultInterface {
 public:
  // True while the card is lost: its firmware has stopped, and management().fault() says why.
  // May be left unbound.
  sc_core::sc_port<sc_core::sc_signal_inout_if<bool>, 0, sc_core::SC_ZERO_OR_MORE_BOUND> fault{
      "fault"};

  // PERST#, as a positive level: while true, the card is in reset and its link is down; it is as
  // after power-on when it becomes false, but for what memories hold. May be left unbound.
  sc_core::sc_port<sc_core::sc_signal_in_if<bool>, 0, sc_core::SC_ZERO_OR_MORE_BOUND> perst{
      "perst"};

  // Copies the configuration. recorder: may be null; must outlive the card. Throws Error(kBadInput)
  // for parameters that contradict each other and if the resolution of time is not a picosecond,
  // which is SystemC's default and the unit in which the card counts; Error(kDeviceFault) for a
  // firmware image that cannot be loaded.
  Card(const sc_core::sc_module_name& name, const CardConfig& config, trace::Recorder* recorder);
  ~Card() override;

  const CardConfig& config() const { return config_; }
  PcieEndpoint& endpoint() { return *endpoint_; }
  DeviceMemory& memory() { return *memory_; }
  Mmu& mmu() { return mmu_; }
  ControlProcessor& control() { return *control_; }
  ManagementController& management() { return *management_; }
  CardTelemetry& telemetry() { return *telemetry_; }

  // Told of every COMPUTE job before it begins and after it has ended; must not block.
  // On a pipelined card two jobs may run at once, one of them with job.prepare; on a concurrent
  // card more, each on cores of its own (job.cores).
  void OnJob(const ComputeDispatcher::JobHook& hook);
  void OnStep(const ComputeDispatcher::StepHook& hook);

  // Who debugs the management controller; may be null, must outlive the card. Throws
  // Error(kBadInput) if that is not RTL.
  void SetDebugger(Debugger* debugger);

  // Signals of `block` ("control", "management" or "pt") go to *waves, which must outlive the card.
  // Throws Error(kBadInput) if that block is not RTL.
  void AttachWaves(const std::string& block, Waves* waves);

  // Throws Error(kDeviceFault) if the RTL of a block did not do what the card's times are based on.
  // While no operation runs.
  void CheckRtl() const;

  // Busy time, bytes and requests of every unit, for the report.
  std::vector<UnitStatistics> Statistics() const;
  // What came of card.fidelity = "fast"; null with another.
  const FastStatistics* fast() const { return fast_ != nullptr ? &fast_->statistics() : nullptr; }
  // The faults that config().faults declares, and what came of them; null if it declares none.
  FaultInjector* faults() { return faults_.get(); }
  // Who waits on what, one line each: for the watchdog's message.
  std::string DescribeWaits() const;

 private:
  void Interrupt(unsigned function, uint32_t causes) override;
  void ResetFunction(unsigned function) override;
  void ResetCard() override;
  void ClearMemory(uint64_t base, uint64_t bytes) override { memory_->Clear(base, bytes); }
  void FollowPerst();  // process
  void Lost() override { lost_.notify(sc_core::SC_ZERO_TIME); }
  void ShowFault();  // process: drives `fault`
  void ResetQueue(unsigned function);
  // Each block hears of faults only if one of them may happen there.
  void DeclareFaults();
  std::vector<UnitStatistics> LaunchUnits() const;  // that COMPUTE uses
  void SetSpeed(unsigned percent);                  // of the cores

  const CardConfig config_;
  sc_core::sc_event lost_;
  FunctionalQueue functional_;
  Mmu mmu_;
  std::unique_ptr<CardTelemetry> telemetry_;
  std::unique_ptr<PcieEndpoint> endpoint_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<Ring> ring_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::unique_ptr<DmaEngine> dma_;
  std::unique_ptr<ManagementController> management_;
  std::unique_ptr<FastLaunches> fast_;
  std::unique_ptr<CorePlacement> placement_;  // concurrent
  std::vector<std::unique_ptr<ComputeDispatcher>> dispatchers_;
  std::unique_ptr<Core> service_core_;  // pipelined, and what follows
  std::unique_ptr<ComputeDispatcher> prepare_dispatcher_;
  std::unique_ptr<ControlProcessor> control_;
  std::vector<std::unique_ptr<FunctionRegisters>> functions_;
  std::unique_ptr<FaultInjector> faults_;  // null: none are declared, and what follows
  FaultPort fault_port_;
  std::unique_ptr<FaultMoments> moments_;
};

}  // namespace spyre::model
