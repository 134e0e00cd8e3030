// SPDX-License-Identifier: Apache-2.0
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

#include "model/common/card_config.h"
#include "model/common/resource.h"
#include "model/common/window.h"
#include "model/contract/control_block.h"
#include "model/mmu/device_port.h"
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
  tlm_utils::simple_initiator_socket<DmaEngine, kSocketBits, TransferProtocol> host{"host"};
  DevicePort memory{"memory"};

  DmaEngine(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
            trace::Recorder* recorder);

  // Runs DMA_IN, DMA_OUT or DMA_FILL. Stops with ABORTED when `aborted` becomes true, which Wake
  // tells, so that nobody waits for an answer of the host that may never come.
  DmaOutcome Execute(const ControlBlock& block, const bool& aborted);
  void Wake() { woken_.notify(); }
  std::vector<UnitStatistics> Statistics() const { return {in_.statistics, out_.statistics}; }

 private:
  struct Direction;
  // A request in flight and its buffer.
  struct Slot final : WindowSlot {
    DmaEngine* engine = nullptr;
    Direction* direction = nullptr;
    std::vector<uint8_t> buffer;
    uint64_t host_address = 0;
    uint64_t device_address = 0;
    bool outward = false;
    void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override;
  };
  struct Direction {
    explicit Direction(size_t slots) : window(slots) {}
    Window<Slot> window;
    uint64_t last_done_ps = 0;  // of the operation at hand
    Status status = Status::OK;
    uint64_t fault_address = 0;
    const bool* aborted = nullptr;  // of the operation at hand
    UnitStatistics statistics;
    trace::TrackId track = 0;
  };
  void SetUp(Direction& direction, const char* unit, const char* track);
  // Sends one request, for the part of device memory that is granted; errors go to the direction's
  // status.
  void Start(Direction& direction, Slot& slot, const ControlBlock& block, const Grant& grant);
  // Between the slot's buffer and host memory, from start_ps; returns when it is done.
  uint64_t HostLeg(Slot& slot, tlm::tlm_command command, uint64_t bytes, uint64_t start_ps);
  void DeviceLegDone(Slot& slot, bool ok, uint64_t done_ps);
  void Await(Direction& direction, Slot& slot);  // until it is free
  static void Fail(Direction& direction, Status status, uint64_t address);

  const CardConfig& config_;
  const Mmu& mmu_;
  trace::Recorder* recorder_;
  sc_core::sc_event woken_;
  Direction in_, out_;
};

}  // namespace spyre::model
