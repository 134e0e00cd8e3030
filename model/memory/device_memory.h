// Device memory: contents, address interleave over channels, and time. Target of the ring, of the
// DMA engine and of the PCIe window. Addresses are physical.
//
// b_transport never waits: it moves the data (unless Transfer::move_data is false), adds the access
// time to the delay, and answers ADDRESS_ERROR outside memory. transport_dbg moves data only.
// Kernel thread only.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <systemc>
#include <vector>

#include "model/card/card_config.h"
#include "model/card/transfer.h"
#include "model/memory/channel.h"
#include "model/memory/sparse_memory.h"

namespace spyre::model {

class DeviceMemory : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<DeviceMemory> socket{"socket"};

  DeviceMemory(const sc_core::sc_module_name& name, const CardConfig& config,
               trace::Recorder* recorder);

  SparseMemory& contents() { return contents_; }
  const std::vector<MemoryChannel>& channels() const { return channels_; }

 private:
  void Transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned TransportDebug(int id, tlm::tlm_generic_payload& payload);
  bool MoveData(tlm::tlm_generic_payload& payload);

  const CardConfig& config_;
  SparseMemory contents_;
  std::vector<MemoryChannel> channels_;
};

}  // namespace spyre::model
