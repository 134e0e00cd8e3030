// SPDX-License-Identifier: Apache-2.0
// The DMA engine: moves data between host memory (through the PCIe endpoint) and device memory, or
// fills device memory. Each direction has its own channels; an operation is cut into read requests
// that the channels take in turn, a bounded number in flight. Each function may have one operation
// in each direction; those of several functions take turns request by request, by weight
// (fair_share.h). Execute runs in the caller's SystemC thread and waits there. Kernel thread only.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/fair_share.h"
#include "model/common/resource.h"
#include "model/common/window.h"
#include "model/common/work_done.h"
#include "model/contract/control_block.h"
#include "model/fault/fault_injector.h"
#include "model/mmu/device_port.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

struct DmaOutcome {
  Status status = Status::OK;
  uint64_t fault_address = 0;
};

// An operation while it runs, for whoever watches it: what it has done grows as requests are sent.
struct DmaWork : WorkDone {
  uint32_t cost = FairShare::kFullCost;  // of its function
  // Not OK: why it is to end before it is done; Wake tells the engine.
  Status stop = Status::OK;
  uint64_t answered = 0;  // requests that have come to their end
};

class DmaEngine : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<DmaEngine, kSocketBits, TransferProtocol> host{"host"};
  DevicePort memory{"memory"};

  DmaEngine(const sc_core::sc_module_name& name, const CardConfig& config, const Mmu& mmu,
            trace::Recorder* recorder);

  // Called before simulation.
  void SetFaults(const FaultPort& port) { faults_ = port; }

  // Runs DMA_IN, DMA_OUT or DMA_FILL; one of a function and direction at a time. Ends early with
  // work.stop, so that nothing waits for an answer of the host that may never come.
  DmaOutcome Execute(const ControlBlock& block, DmaWork& work);
  void Wake() { woken_.notify(); }
  std::vector<UnitStatistics> Statistics() const { return {in_.statistics, out_.statistics}; }

 private:
  struct Direction;
  // What a function has under way in a direction.
  struct Operation {
    DmaWork* work = nullptr;
    Direction* direction = nullptr;
    unsigned function = 0;
    uint64_t outstanding = 0;   // requests
    uint64_t last_done_ps = 0;  // of them
    Status status = Status::OK;
    uint64_t fault_address = 0;
    bool draining = false;
    std::shared_ptr<LateAnswer> late;  // to the request that is next
    sc_core::sc_event turn, drained;
  };
  // A request in flight and its buffer.
  struct Slot final : WindowSlot {
    DmaEngine* engine = nullptr;
    Operation* operation = nullptr;  // at hand, or the last
    std::vector<uint8_t> buffer;
    uint64_t host_address = 0;
    uint64_t device_address = 0;
    bool outward = false;
    void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override;
  };
  struct Direction {
    Direction(size_t slots, size_t functions)
        : window(slots), operations(functions), shares(functions) {}
    Window<Slot> window;
    std::vector<std::unique_ptr<Operation>> operations;  // by function; made when first needed
    FairShare shares;
    Operation* turn = nullptr;        // whose request is next
    std::vector<Operation*> waiting;  // for their turns
    unsigned active = 0;              // operations
    uint64_t active_since_ps = 0;
    UnitStatistics statistics;
    const char* track_name = "";
    trace::TrackId track = 0;
  };
  void SetUp(Direction& direction, const char* unit, const char* track);
  Operation& Begin(Direction& direction, const ControlBlock& block, DmaWork& work);
  void End(Direction& direction, Operation& operation, const ControlBlock& block);
  // Returns when it is the operation's turn to send a request. False: it is to stop.
  static bool TakeTurn(Direction& direction, Operation& operation, sc_core::sc_event& woken);
  static void PassTurn(Direction& direction);  // to who stands lowest, if anybody waits
  static Operation* Next(const Direction& direction);
  // Sends one request, for the part of device memory that is granted; errors go to the operation's
  // status. A read of the host whose answer was lost or damaged is sent again, which waits: nothing
  // of it has been written yet. One that the host answers later is left to be started again then.
  void Start(Operation& operation, Slot& slot, const ControlBlock& block, Grant grant);
  // Between the slot's buffer and host memory, from start_ps; returns when it is done, and the
  // payload says how.
  uint64_t HostLeg(Slot& slot, tlm::tlm_command command, uint64_t bytes, uint64_t start_ps);
  void DeviceLegDone(Slot& slot, bool ok, uint64_t done_ps);
  void Await(Direction& direction, Slot& slot);  // until it is free
  static void Fail(Operation& operation, Status status, uint64_t address);

  const CardConfig& config_;
  const Mmu& mmu_;
  trace::Recorder* recorder_;
  FaultPort faults_;
  sc_core::sc_event woken_;
  Direction in_, out_;
};

}  // namespace spyre::model
