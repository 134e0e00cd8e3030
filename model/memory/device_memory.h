// Device memory: contents, address interleave over channels, and time. Target of the ring, of the
// DMA engine and of the PCIe window. Addresses are physical.
//
// Both transports move the data at the call, or by Transfer::functional (unless
// Transfer::move_data is false), and answer ADDRESS_ERROR outside memory. nb_transport_fw queues
// the access at its channels and responds when the last of them has scheduled its part. b_transport
// is for accesses outside the card's own traffic: it adds the time of an idle memory and queues
// nothing. transport_dbg moves data only. Kernel thread only.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <systemc>
#include <vector>

#include "model/card/card_config.h"
#include "model/card/resource.h"
#include "model/card/transfer.h"
#include "model/memory/address_map.h"
#include "model/memory/channel_controller.h"
#include "model/memory/lpddr5_timing.h"
#include "model/memory/sparse_memory.h"

namespace spyre::model {

class DeviceMemory : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<DeviceMemory> socket{"socket"};

  // functional: joined before data are moved at a call.
  DeviceMemory(const sc_core::sc_module_name& name, const CardConfig& config,
               FunctionalQueue& functional, trace::Recorder* recorder);

  SparseMemory& contents() { return contents_; }
  const std::vector<ChannelController>& channels() const { return channels_; }
  std::vector<UnitStatistics> Statistics() const;

 private:
  // An access while its channels work on it.
  struct Access {
    tlm::tlm_generic_payload* payload;
    int initiator;  // index in the socket
    uint32_t pieces;
    uint64_t done_ps;
  };

  tlm::tlm_sync_enum Begin(int id, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                           sc_core::sc_time& delay);
  void Transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned TransportDebug(int id, tlm::tlm_generic_payload& payload);
  bool MoveData(tlm::tlm_generic_payload& payload);
  uint64_t UnloadedPs(const tlm::tlm_generic_payload& payload) const;
  void Decide();  // process: channels take the decisions that are due
  void TraceRuns(size_t channel);
  void Finish(uint32_t index);

  const CardConfig& config_;
  FunctionalQueue& functional_;
  trace::Recorder* recorder_;
  // Of each channel: its track, and the slice of runs without a gap that is not yet recorded.
  struct Lane {
    trace::TrackId track;
    MemoryRun slice;
  };
  std::vector<Lane> lanes_;
  std::vector<MemoryRun> runs_;  // of one channel, since its last decision
  const AddressMap map_;
  const Lpddr5Timing timing_;
  SparseMemory contents_;
  std::vector<ChannelController> channels_;
  std::vector<uint64_t> next_decision_ps_;  // of each channel
  std::vector<Access> accesses_;
  std::vector<uint32_t> free_accesses_;
  std::vector<MemoryCompletion> completions_;  // of one channel, while Decide walks them
  std::vector<uint32_t> finished_;             // accesses, by index, likewise
  sc_core::sc_event decision_;
};

}  // namespace spyre::model
