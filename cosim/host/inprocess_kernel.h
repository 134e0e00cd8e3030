// SPDX-License-Identifier: Apache-2.0
// The simulation of this process, with all its modules, which last as long as it does: cards, the
// host's side of their links, and a switch between them if there is one. InProcessTransport owns
// it. Called under its mutex; errors are those of InProcessTransport.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "cosim/host/host_bridge.h"
#include "cosim/host/inprocess_transport.h"
#include "model/card/card.h"
#include "model/pcie_switch/pcie_switch.h"

namespace spyre::cosim {

class InProcessTransport::Kernel {
 public:
  Kernel();
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  model::Card& AddCard(const CardSetup& setup);
  HostBridge& bridge() { return *bridges_.back(); }  // of the card that was added last
  size_t cards() const { return cards_.size(); }

  // Called before the first card is added.
  void AddSwitch(const model::SwitchConfig& config, const CardSetup& first,
                 trace::Recorder* recorder);
  model::PcieSwitch* pcie_switch() { return pcie_switch_.get(); }

  void Begin();  // elaborates; every process goes to sleep

  // Times that the simulation was asked to pause.
  uint64_t pauses() const;
  // These two ask all cards; see model::ControlProcessor.
  bool at_work() const;
  bool WatchLimits(bool starving);

  // What a process of the simulation threw, on its way to whoever runs the simulation.
  static std::exception_ptr TakeUncaught();

  std::recursive_mutex mutex;
  bool ended = false;
  Sampler sampler;  // empty if no samples are wanted
  uint64_t sample_interval_ps = 0, next_sample_ps = 0;

 private:
  std::vector<std::unique_ptr<model::Card>> cards_;
  std::unique_ptr<model::PcieSwitch> pcie_switch_;  // null: every card has a link to the host
  std::vector<std::unique_ptr<HostBridge>> bridges_;
};

}  // namespace spyre::cosim
