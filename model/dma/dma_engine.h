// The DMA engine: moves data between host memory (through the PCIe endpoint) and device memory, or
// fills device memory. Each direction has its own channels; an operation is cut into read requests
// that the channels take in turn, a bounded number in flight. Execute runs in the caller's SystemC
// thread and waits there. Kernel thread only.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstdint>
#include <systemc>
#include <vector>

#include "model/card/card_config.h"
#include "model/card/resource.h"
#include "model/card/transfer.h"
#include "model/contract/control_block.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

struct DmaOutcome {
  Status status = Status::OK;
  uint64_t fault_address = 0;
  uint64_t device_bytes_read = 0;
  uint64_t device_bytes_written = 0;
};

class DmaEngine : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<DmaEngine> host{"host"};
  tlm_utils::simple_initiator_socket<DmaEngine> memory{"memory"};

  DmaEngine(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
            trace::Recorder* recorder);

  // Runs DMA_IN, DMA_OUT or DMA_FILL. Stops with ABORTED when *aborted becomes true.
  DmaOutcome Execute(const ControlBlock& block, const bool& aborted);
  std::vector<UnitStatistics> Statistics() const { return {in_.statistics, out_.statistics}; }

 private:
  // One direction: its requests in flight and its buffer for one request.
  struct Direction {
    std::vector<uint64_t> in_flight;  // completion times
    size_t next = 0;
    std::vector<uint8_t> buffer;
    UnitStatistics statistics;
    TransferPayload payload;
    trace::TrackId track = 0;
  };
  Status Move(Direction& direction, const ControlBlock& block, uint64_t offset, uint64_t bytes,
              uint64_t* done_ps);
  // One leg; extends `delay`. false: the target refused.
  bool Leg(tlm_utils::simple_initiator_socket<DmaEngine>& socket, Direction& direction,
           tlm::tlm_command command, uint64_t address, uint64_t bytes, sc_core::sc_time& delay);

  const CardConfig& config_;
  const Mmu& mmu_;
  trace::Recorder* recorder_;
  Direction in_, out_;
};

}  // namespace spyre::model
