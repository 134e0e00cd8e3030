// SPDX-License-Identifier: Apache-2.0
// The PCIe endpoint: configuration spaces of the PF and its VFs, BAR decode of inbound accesses,
// outbound DMA and MSI, and the time that packets take on the link each way.
//
// inbound: from the root complex; payloads carry HostAccess. Accesses to configuration spaces and
// BAR0 are 1 to 4 bytes inside a word, or 8 bytes; BAR2 and BAR4 any length. Byte enables hold.
// Times on the link are PcieLink's.
//   Never waits; the delay is when the packet (or, for a read, its completion) has arrived.
//   transport_dbg: reads of configuration spaces, BAR2 and BAR4 without time and effects; registers
//   answer none. A direct pointer (DMI): the part of device memory that BAR2 shows, until the
//   window moves, the configuration space is written, or the card moves data itself.
// dma: from the card's engines; addresses are host IO virtual addresses; payloads carry Transfer.
// Never waits. outbound: to the root complex: host memory and MSI writes; payloads carry Transfer.
//   Of a read, the response is what the host's completion says: OK, ADDRESS_ERROR ("unsupported
//   request": a received master abort), another error ("completer abort": a received target
//   abort), Transfer::poisoned, or INCOMPLETE, if none comes: the delay is then the time-out of
//   Device Control 2, or, where software has switched that off, until the link goes down.
//   What the root complex cannot answer yet (Transfer::late) is handed back as it is.
// Errors: an access to a function that does not exist, or to a BAR that is disabled, reads all ones
// (ADDRESS_ERROR), and the function, or else the PF, logs an unsupported request. A poisoned write
// is logged and has no effect. A payload without its extension is refused (GENERIC_ERROR).
//
// The link is up from the beginning. While it is down (SetLink), nothing answers: reads and writes
// of the card fail, and the card has been reset: all settings but sticky bits are those after
// power-on. A hot reset is a link that goes down and comes up again; a card that is pulled out is a
// link that stays down. Kernel thread only.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <map>
#include <memory>
#include <optional>
#include <systemc>
#include <utility>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/performance_counters.h"
#include "model/common/ports.h"
#include "model/common/resource.h"
#include "model/common/sparse_memory.h"
#include "model/common/transfer.h"
#include "model/fault/fault_injector.h"
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
  // Bit i of `byte_enables` writes byte i.
  virtual void WriteBar0(uint32_t offset, uint32_t value, unsigned byte_enables,
                         const sc_core::sc_time& arrival) = 0;
};

class PcieEndpoint : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<PcieEndpoint, kSocketBits, HostAccessProtocol> inbound{"inbound"};
  tlm_utils::simple_initiator_socket<PcieEndpoint, kSocketBits, TransferProtocol> outbound{
      "outbound"};
  tlm_utils::multi_passthrough_target_socket<PcieEndpoint, kSocketBits, TransferProtocol> dma{
      "dma"};
  tlm_utils::simple_initiator_socket<PcieEndpoint, kSocketBits, TransferProtocol> window{
      "window"};  // BAR2, to device memory
  sc_core::sc_port<FunctionResetInterface> function_reset{"function_reset"};

  PcieEndpoint(const sc_core::sc_module_name& name, const CardConfig& config,
               trace::Recorder* recorder);

  // Wiring, before simulation.
  void SetBarTarget(unsigned function, BarTarget* target) { bar_targets_[function] = target; }
  void SetWindowBase(uint64_t physical);
  void SetFaults(const FaultPort& port) { faults_ = port; }
  // Called before simulation; the counters must outlive the endpoint. Null: nothing is counted.
  void SetCounters(PerformanceCounters* counters) { counters_ = counters; }

  // Sends MSI `vector` of `function`, if software has enabled it; returns false if masked or
  // disabled.
  bool SendMsi(unsigned function, unsigned vector);

  void SetLink(bool up);
  // Pulled out: the link is down until Insert, whatever SetLink is told.
  void Remove();
  void Insert() { removed_ = false; }
  bool link_up() const { return link_up_; }
  // Power was off: sticky bits are gone too. While the link is down.
  void ForgetSticky();

  // Of a card behind a switch: the switch ends the link, and brings the data that other cards read
  // and write in the window of BAR2, whose times are its own. False: nothing answers at the
  // address, which is logged as an unsupported request.
  PcieLink& link() { return link_; }
  bool PeerAccess(uint64_t address, bool write, uint8_t* data, uint64_t bytes, bool move_data);

  unsigned enabled_vfs() const { return enabled_vfs_; }
  uint8_t* sram(uint64_t offset) { return sram_.At(offset); }  // behind BAR4
  std::vector<UnitStatistics> Statistics() const { return link_.Statistics(); }

 private:
  // A read that the card gives up at `end_ps`.
  struct Timeout {
    uint64_t end_ps;
    uint16_t function;
  };
  // What an access from the root complex is for.
  struct Place {
    uint16_t function;
    HostAccess::Space space;
    uint64_t offset;
  };

  void Inbound(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned InboundDebug(tlm::tlm_generic_payload& payload);
  bool InboundDirect(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& direct);
  void RevokeDirect();
  void MemoryRevoked(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) { RevokeDirect(); }
  // What declared faults do to a read of the card that the host has answered; *delay is its time.
  void SpoilCompletion(tlm::tlm_generic_payload& payload, sc_core::sc_time* delay);
  void MeetRetraining(unsigned function, uint64_t at_ps);
  uint64_t CompletionTimeoutPs(unsigned function) const;
  bool SendMessage(unsigned function, unsigned vector, uint64_t delay_ps);
  void Dma(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool Present(unsigned function) const { return link_up_ && function <= enabled_vfs_; }
  void UseSizes();
  // Nothing if there is no such function, or its BAR answers nothing.
  std::optional<Place> Decode(const HostAccess& access, uint64_t address) const;
  // The configuration space that logs errors of a request that has arrived; the payload's address
  // is still that of the request.
  ConfigSpace& Logger(const HostAccess& access);
  TlpHeader HeaderOf(const HostAccess& access, const tlm::tlm_generic_payload& payload) const;
  void LogUnsupported(const HostAccess& access, const tlm::tlm_generic_payload& payload);
  // Of a read of the card, which was sent at `start_ps`: what its completion was. `*delay`: when it
  // was there, or, of one that never comes, when the card gives up.
  void LogCompletion(tlm::tlm_generic_payload& payload, uint64_t start_ps, sc_core::sc_time* delay);
  void ForgetReads(unsigned function);  // it has been reset
  void LogTimeouts();  // whose time has come: before a configuration space is looked at
  bool Access(const Place& place, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool AccessConfig(unsigned function, tlm::tlm_generic_payload& payload);
  bool AccessRegisters(unsigned function, tlm::tlm_generic_payload& payload,
                       const sc_core::sc_time& arrival);

  const CardConfig& config_;
  PerformanceCounters* counters_ = nullptr;
  std::vector<std::unique_ptr<ConfigSpace>> config_spaces_;
  std::vector<BarTarget*> bar_targets_;
  std::vector<uint64_t> reads_end_ps_;  // by function: when its last read of the host has ended
  std::vector<Timeout> timeouts_;
  bool link_up_ = true;
  bool removed_ = false;
  unsigned enabled_vfs_ = 0;
  uint64_t window_base_ = 0;
  bool direct_given_ = false;  // the root complex has a pointer to the window
  SparseMemory sram_;          // BAR4
  PcieLink link_;
  FaultPort faults_;
  std::map<std::pair<unsigned, uint64_t>, Injection*> spoiled_;  // reads, by function and address
  TransferPayload message_;
};

}  // namespace spyre::model
