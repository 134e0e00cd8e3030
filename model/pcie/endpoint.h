// SPDX-License-Identifier: Apache-2.0
// The PCIe endpoint: configuration spaces of the PF and its VFs, BAR decode of inbound accesses,
// outbound DMA and MSI, and the time that packets take on the link each way.
//
// inbound: from the root complex; payloads carry HostAccess. Config and BAR0 accesses are 4 bytes,
// of which a config write may enable some; BAR2 and BAR4 any length. Times on the link are
// PcieLink's.
//   Never waits; the delay is when the packet (or, for a read, its completion) has arrived.
// dma: from the card's engines; addresses are host IO virtual addresses; payloads carry Transfer.
// Never waits. outbound: to the root complex: host memory and MSI writes; payloads carry Transfer.
// Errors: an access to a function that does not exist, or to a BAR that is disabled, reads all ones
// (ADDRESS_ERROR). Kernel thread only.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/resource.h"
#include "model/common/sparse_memory.h"
#include "model/common/transfer.h"
#include "model/pcie/config_space.h"
#include "model/pcie/host_access.h"
#include "model/pcie/link.h"

namespace spyre::model {

// What lies behind the BARs of one function.
class BarTarget {
 public:
  virtual ~BarTarget() = default;
  // `arrival`: from now until the packet reaches the card; side effects that other processes see
  // happen then.
  virtual uint32_t ReadBar0(uint32_t offset) = 0;
  virtual void WriteBar0(uint32_t offset, uint32_t value, const sc_core::sc_time& arrival) = 0;
};

class PcieEndpoint : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<PcieEndpoint> inbound{"inbound"};
  tlm_utils::simple_initiator_socket<PcieEndpoint> outbound{"outbound"};
  tlm_utils::multi_passthrough_target_socket<PcieEndpoint> dma{"dma"};
  tlm_utils::simple_initiator_socket<PcieEndpoint> window{"window"};  // BAR2, to device memory

  PcieEndpoint(const sc_core::sc_module_name& name, const CardConfig& config,
               trace::Recorder* recorder);

  // Wiring, before simulation.
  void SetBarTarget(unsigned function, BarTarget* target) { bar_targets_[function] = target; }
  void OnFunctionReset(std::function<void(unsigned function)> hook) { on_reset_ = std::move(hook); }
  void SetWindowBase(uint64_t physical) { window_base_ = physical; }

  // Sends MSI `vector` of `function`, if software has enabled it; returns false if masked or
  // disabled.
  bool SendMsi(unsigned function, unsigned vector);

  unsigned enabled_vfs() const { return enabled_vfs_; }
  std::vector<UnitStatistics> Statistics() const { return link_.Statistics(); }

 private:
  void Inbound(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void Dma(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool Present(unsigned function) const { return function <= enabled_vfs_; }
  bool AccessBar(const HostAccess& access, tlm::tlm_generic_payload& payload,
                 sc_core::sc_time& delay);

  const CardConfig& config_;
  std::vector<std::unique_ptr<ConfigSpace>> config_spaces_;
  std::vector<BarTarget*> bar_targets_;
  std::function<void(unsigned)> on_reset_;
  unsigned enabled_vfs_ = 0;
  uint64_t window_base_ = 0;
  SparseMemory sram_;  // BAR4
  PcieLink link_;
  TransferPayload message_;
};

}  // namespace spyre::model
