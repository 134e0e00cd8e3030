// The control-block processor: fetches entries from the submission rings in host memory, checks
// them (a VF's messages through the management controller), runs them in stream order on the DMA
// engine and the cores, and posts responses.
//
// Order: operations of one stream run in order; `serial` runs one operation at a time over all
// streams, `pipelined` one per engine (DMA in, DMA out, compute). An operation whose stream waits
// for an event is passed over by other streams. After an operation of a stream has failed, later
// ones of that stream answer ABORTED until the function is reset. Kernel thread only; register
// hooks never wait.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <systemc>
#include <vector>

#include "model/card/card_config.h"
#include "model/card/resource.h"
#include "model/card/transfer.h"
#include "model/control/dispatcher.h"
#include "model/control/management.h"
#include "model/dma/dma_engine.h"

namespace spyre::model {

// Ring registers of one function, as software has set them.
struct QueueRegisters {
  uint64_t submission_base = 0;
  uint32_t submission_entries = 0;
  uint32_t submission_tail = 0;
  uint64_t response_base = 0;
  uint32_t response_entries = 0;
  uint32_t response_head = 0;
  bool enabled = false;
};

class ControlProcessor : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<ControlProcessor> host{"host"};

  ControlProcessor(const sc_core::sc_module_name& name, const CardConfig& config,
                   ManagementController& management, DmaEngine& dma, ComputeDispatcher& dispatcher,
                   trace::Recorder* recorder);

  // Cause bit of INT_STATUS; the card sets it and sends the MSI if software wants it.
  void OnInterrupt(std::function<void(unsigned function, uint32_t cause)> hook) {
    on_interrupt_ = std::move(hook);
  }

  // --- register side: never waits ---
  QueueRegisters& queue(unsigned function) { return functions_[function].queue; }
  void Doorbell(unsigned function, const sc_core::sc_time& arrival);           // SQ_TAIL written
  void ResponsesConsumed(unsigned function, const sc_core::sc_time& arrival);  // RQ_HEAD written
  void ResetFunction(unsigned function);
  uint32_t submission_head(unsigned function) const { return functions_[function].fetched; }
  uint32_t response_tail(unsigned function) const { return functions_[function].posted; }
  bool busy(unsigned function) const;
  Status error(unsigned function) const { return functions_[function].error; }
  void ClearError(unsigned function) { functions_[function].error = Status::OK; }

  std::vector<UnitStatistics> Statistics() const { return {statistics_}; }
  void DescribeWaits(std::vector<std::string>& lines) const;

 private:
  static constexpr uint64_t kEntryBytes = sizeof(ControlBlock);  // of every ring
  enum Engine { kDmaIn = 0, kDmaOut = 1, kCompute = 2, kEngines = 3, kImmediate = 3 };
  struct Operation {
    ControlBlock block{};
    Response response{};
    unsigned function = 0;
    uint64_t generation =
        0;  // of the function when fetched: responses of an earlier life are dropped
    Engine engine = kImmediate;
    bool refused = false;  // bad entry: answered in the order of its stream, never run
    bool aborted = false;
    Job* job = nullptr;  // while it runs on the cores
    std::string name;
  };
  struct FunctionState {
    QueueRegisters queue;
    uint32_t fetched = 0;
    uint32_t posted = 0;
    uint32_t held = 0;  // fetched and not yet answered
    uint64_t next_sequence = 1;
    uint64_t generation = 0;
    Status error = Status::OK;
    std::deque<std::pair<uint32_t, uint64_t>> doorbells;  // tail, arrival
    std::set<uint64_t> events;
    std::set<uint32_t> failed_streams;
  };
  using OperationPtr = std::shared_ptr<Operation>;

  void Fetch();
  bool FetchFrom(unsigned function);
  OperationPtr Decode(unsigned function, const uint8_t* entry, uint64_t queued_ps);
  void Issue();
  OperationPtr NextEligible() const;
  void RunEngine(Engine engine);
  void RunDma(Operation& operation);
  void RunCompute(Operation& operation);
  void RunImmediate(Operation& operation);
  void Finish(const OperationPtr& operation);
  void Respond();
  void StopQueue(unsigned function, Status why);
  bool HostAccess(tlm::tlm_command command, unsigned function, uint64_t address, void* data,
                  uint64_t bytes);
  static Engine EngineOf(Opcode opcode);
  bool InService(const OperationPtr& operation) const;
  static bool HasRoom(const FunctionState& state);  // for one more response
  OperationPtr NextAnswerable();

  const CardConfig& config_;
  ManagementController& management_;
  DmaEngine& dma_;
  ComputeDispatcher& dispatcher_;
  trace::Recorder* recorder_;
  TraceSink messages_;  // the management controller at work
  std::function<void(unsigned, uint32_t)> on_interrupt_;
  std::vector<FunctionState> functions_;
  std::deque<OperationPtr> pending_;  // fetched, not started
  std::array<OperationPtr, kEngines> running_{};
  std::deque<OperationPtr> finished_;  // response not yet posted
  size_t next_function_ = 0;
  sc_core::sc_event doorbell_, pending_changed_, engine_done_, finished_changed_, answered_, space_;
  std::array<sc_core::sc_event, kEngines> start_;
  TransferPayload fetch_payload_, respond_payload_;
  UnitStatistics statistics_;
};

}  // namespace spyre::model
