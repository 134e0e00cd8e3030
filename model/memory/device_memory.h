// SPDX-License-Identifier: Apache-2.0
// Device memory: contents, address interleave over channels, and time. Target of the ring, of the
// DMA engine and of the PCIe window. Addresses are physical.
//
// Both transports move the data at the call, or by Transfer::functional (unless
// Transfer::move_data is false), and answer ADDRESS_ERROR outside memory. nb_transport_fw queues
// the access at its channels and responds when the last of them has scheduled its part. b_transport
// is for accesses outside the card's own traffic: it adds the time of an idle memory and queues
// nothing; its payloads need no Transfer, and may have byte enables. transport_dbg moves data only.
// A direct pointer (DMI) to the memory is good until the card itself moves data next, which may be
// later than it seems (functional_queue.h): it is taken back then, and given again when asked for.
// Kernel thread only. Times come from memory_channels.h.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <array>
#include <optional>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/performance_counters.h"
#include "model/common/resource.h"
#include "model/common/sparse_memory.h"
#include "model/common/transfer.h"
#include "model/memory/address_map.h"
#include "model/memory/lpddr5_timing.h"
#include "model/memory/memory_channels.h"
#include "model/memory/memory_faults.h"

namespace spyre::model {

class DeviceMemory : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<DeviceMemory, kSocketBits, TransferProtocol> socket{
      "socket"};

  // functional: joined before data are moved at a call.
  DeviceMemory(const sc_core::sc_module_name& name, const CardConfig& config,
               FunctionalQueue& functional, trace::Recorder* recorder,
               Folding folding = Folding::kOn);

  // Called before simulation.
  void SetFaults(const FaultPort& port);
  // Before simulation; they must outlive the memory. Null: nothing is counted. They have the card's
  // own requests, not those of the PCIe window.
  void SetCounters(PerformanceCounters* counters) { counters_ = counters; }

  SparseMemory& contents() { return contents_; }
  // What earlier accesses have left to each channel, and the same from somewhere else; while no
  // access is under way. Whoever repeats a launch of another simulation needs it.
  using Rest = std::vector<ChannelController::Rest>;
  Rest rest() const { return channels_.RestAt(NowPs()); }
  void SetRest(const Rest& rest) { channels_.SetRest(rest, NowPs()); }
  // Makes [base, base + bytes), which is in memory, zero. Takes no time here: who asks counts it.
  void Clear(uint64_t base, uint64_t bytes);
  // What [base, base + bytes), which is in memory, holds now, for who looks at the card from
  // outside; takes no time.
  std::vector<uint8_t> Look(uint64_t base, uint64_t bytes);
  std::vector<UnitStatistics> Statistics() const;

 private:
  // An access while its channels work on it.
  struct Access {
    tlm::tlm_generic_payload* payload;
    int initiator;      // index in the socket
    uint64_t extra_ps;  // that a correction takes
  };

  tlm::tlm_sync_enum Begin(int id, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                           sc_core::sc_time& delay);
  void Transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned TransportDebug(int id, tlm::tlm_generic_payload& payload);
  bool GetDirect(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& direct);
  void RevokeDirect();
  bool MoveData(tlm::tlm_generic_payload& payload);
  // An access of the card or of the host, not of a debugger: what its memory has wrong shows.
  bool AccessData(tlm::tlm_generic_payload& payload, uint64_t* extra_ps);
  uint64_t UnloadedPs(const tlm::tlm_generic_payload& payload) const;
  void Decide();  // process: channels take decisions, and accesses that have ended are answered
  void DecideAt(uint64_t ps);  // or now if that is earlier
  void TraceRuns(size_t channel, const std::vector<MemoryRun>& runs, bool at_rest);
  void Finish(uint32_t index, uint64_t done_ps);

  const CardConfig& config_;
  FunctionalQueue& functional_;
  trace::Recorder* recorder_;
  // Of each channel: its track, and the slice of runs one way that is not yet recorded.
  struct Lane {
    trace::TrackId track;
    MemoryRun slice;
  };
  std::vector<Lane> lanes_;
  std::array<std::optional<trace::NameId>, 2> slice_names_;  // of reads and writes, once used
  const AddressMap map_;
  const Lpddr5Timing timing_;
  SparseMemory contents_;
  MemoryChannels channels_;
  std::optional<MemoryFaults> faults_;
  PerformanceCounters* counters_ = nullptr;
  bool direct_given_ = false;  // somebody has a pointer
  std::vector<Access> accesses_;
  std::vector<uint32_t> free_accesses_;
  // How far ahead channels decide: what is sent from now on arrives later than that.
  const uint64_t lookahead_ps_;
  // Of an access that meets no other: a read's first burst, a write until the queue has it.
  const uint64_t unloaded_read_ps_, unloaded_write_ps_;
  // Accesses, by index, in the order of their decisions; those from answered_ on wait for the time
  // of theirs.
  std::vector<MemoryCompletion> ended_;
  size_t answered_ = 0;
  sc_core::sc_event decision_;
  uint64_t decides_ps_ = UINT64_MAX;  // when Decide runs next; 0: it runs, and will look again
};

}  // namespace spyre::model
