// SPDX-License-Identifier: Apache-2.0
// The control-block processor: fetches entries from the submission rings in host memory, checks
// them (a VF's messages through the management controller), runs them in stream order on the DMA
// engine and the cores, and posts responses. Here: what the rest of the card sees of it, and what
// its two implementations share, which is everything outside the block itself: host memory, the
// management controller, the engines, interrupts and traces.
//
// Order: operations of one stream run in order; `serial` runs one operation at a time over all
// streams, `pipelined` one per engine (DMA in, DMA out, compute, and prepare for COMPUTE with
// PREPARE), `concurrent` the same and several programs on partitions of the cores. An operation
// whose stream waits for an event is passed over by other streams. After an operation of a stream
// has failed, later ones of that stream answer ABORTED until the function is reset.
//
// Functions: which of several gets an engine follows from their weights and from what they have had
// of it (fair_share.h); operations of one function keep their order. Copies of several functions
// are under way at once, one of each in a direction, and the DMA engine takes their requests in
// turn, on `serial` hardware too: there, one operation of a function runs at a time, and a program
// beside nothing else.
//
// Limits: an operation that runs longer than its function may is stopped and answers TIMED_OUT
// (function_shares.h). What it waited for then is kept for DescribeWaits. See WatchLimits.
//
// Events: each function has kEventSlots counters. EVENT_SIGNAL raises one, EVENT_WAIT holds its
// stream until one has come far enough. A signal that is answered ABORTED poisons its slot: waits
// for what the counter has not reached, held or yet to come, answer EVENT_FAILED.
//
// Bounds: kHeldOperations operations of a function are fetched and not yet answered.
// kHeldOperations failed streams of a function are told apart; when one more fails, all its streams
// count as failed.
//
// Kernel thread only; the register side never waits.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/fair_share.h"
#include "model/common/performance_counters.h"
#include "model/common/ports.h"
#include "model/common/resource.h"
#include "model/common/transfer.h"
#include "model/control/dispatcher.h"
#include "model/control/management.h"
#include "model/dma/dma_engine.h"
#include "model/fault/fault_injector.h"

namespace spyre::model {

class Waves;

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
  tlm_utils::simple_initiator_socket<ControlProcessor, kSocketBits, TransferProtocol> host{"host"};
  sc_core::sc_port<InterruptInterface> interrupt{"interrupt"};

  // The other blocks of the card that it works with.
  struct Blocks {
    ManagementController& management;
    DmaEngine& dma;
    std::vector<ComputeDispatcher*> dispatchers;  // for programs side by side
    CorePlacement* placement;                     // null: there is one dispatcher
    ComputeDispatcher* prepare;                   // null: serial
    PerformanceCounters& counters;
  };

  // A declared fault: a bit of the RTL's state changes that `seed` chooses. Nothing if it is none.
  virtual void FlipBit(uint64_t /*seed*/) {}
  // Called before simulation.
  void SetFaults(const FaultPort& port) { faults_ = port; }

  // --- register side ---
  virtual void SetQueue(unsigned function, const QueueRegisters& queue) = 0;
  // SQ_TAIL or QUEUE_CONTROL written, RQ_HEAD written; after SetQueue.
  virtual void Doorbell(unsigned function, const sc_core::sc_time& arrival) = 0;
  virtual void ResponsesConsumed(unsigned function, const sc_core::sc_time& arrival) = 0;
  void ResetFunction(unsigned function);
  virtual uint32_t submission_head(unsigned function) const = 0;
  virtual uint32_t response_tail(unsigned function) const = 0;
  virtual bool busy(unsigned function) const = 0;
  virtual Status error(unsigned function) const = 0;
  virtual void ClearError(unsigned function) = 0;

  // A COMPUTE, the first one behind `before` others, starts at start_ps, or later by whole periods;
  // at_start is called then. A launch of another simulation is repeated so, as it met the refreshes
  // of the memory.
  struct HeldCompute {
    unsigned before = 0;
    uint64_t start_ps = 0, period_ps = 1;
    std::function<void()> at_start;
  };
  void HoldCompute(HeldCompute held) { held_ = std::move(held); }

  // The name of a COMPUTE in the trace, by its correlation; "": that of its program, of which an
  // image has the first 31 bytes.
  using Namer = std::function<std::string(uint64_t correlation)>;
  void NameComputes(Namer namer) { namer_ = std::move(namer); }

  // Limits longer than 2 * kWatchPs are kept with the help of who runs the simulation, so that the
  // kernel has no event for each operation, of which next to none comes to its limit. It calls this
  // at least every kWatchPs of simulated time while operations are at work, and when nothing is
  // left to happen (starving). True: a limit is to come.
  static constexpr uint64_t kWatchPs = 50'000'000'000;
  bool WatchLimits(bool starving);
  bool at_work() const { return !at_work_.empty(); }

  std::vector<UnitStatistics> Statistics() const { return {statistics_}; }
  void DescribeWaits(std::vector<std::string>& lines) const;
  // Its signals go to *waves, which must outlive it. False: it is not RTL.
  virtual bool AttachWaves(Waves* /*waves*/) { return false; }

 protected:
  static constexpr uint64_t kEntryBytes = sizeof(ControlBlock);               // of every ring
  static constexpr uint32_t kCauseResponse = 1u << 0, kCauseError = 1u << 1;  // of INT_STATUS
  enum Engine { kDmaIn = 0, kDmaOut = 1, kCompute = 2, kPrepare = 3, kEngines = 4, kImmediate = 4 };
  static constexpr std::array<const char*, kEngines> kEngineNames{"dma_in", "dma_out", "compute",
                                                                  "prepare"};

  // What runs one operation at a time: the DMA engine for a function in a direction, the compute
  // engine for a part of the cores, the prepare engine. The same as in the RTL (control_pkg.sv).
  static constexpr unsigned kDmaOutPort = kMaxFunctions;
  static constexpr unsigned kComputePort = 2 * kMaxFunctions;
  static constexpr unsigned kPreparePort = kComputePort + kMaxPartitions;
  static constexpr unsigned kPorts = kPreparePort + 1;
  static constexpr uint64_t kDmaPorts = (1ull << kComputePort) - 1;
  static std::string PortName(unsigned port);

  struct Operation {
    ControlBlock block{};
    Response response{};
    unsigned function = 0;
    Engine engine = kImmediate;
    unsigned port = kPorts;  // where it runs; kPorts: it does not
    DmaWork work;            // stop: why it is to end, of any engine
    Job* job = nullptr;      // while it runs on the cores
    uint64_t deadline_ps = 0;
    uint64_t watched_since_ps = 0;  // when the deadline was set, and `answered` of `work` was this
    uint64_t answered = 0;
    std::string name;
  };

  ControlProcessor(const sc_core::sc_module_name& name, const CardConfig& config,
                   const Blocks& blocks, trace::Recorder* recorder);

  Engine EngineOf(const ControlBlock& block) const;
  // Entries of a ring: a power of two, 2 to 65536.
  static bool ValidEntries(uint32_t entries);
  // For one more response, in a ring that is one.
  static bool HasRoom(const QueueRegisters& queue, uint32_t posted) {
    return ValidEntries(queue.response_entries) &&
           posted - queue.response_head < queue.response_entries;
  }

  // A read of a function's entries that has not come; the others go on until then.
  struct PutAside {
    uint64_t until_ps = 0;              // when there is something to do about it; 0: there is none
    uint64_t failed = 0;                // reads one after the other
    std::vector<uint8_t> late;          // what has come then
    std::shared_ptr<LateAnswer> asked;  // of a host that answers in its own time

    uint64_t EndPs() const {
      if (asked == nullptr) return until_ps;
      return asked->here ? 0 : UINT64_MAX;
    }
    bool Over() const { return EndPs() <= NowPs(); }
  };
  enum class Fetched { kEntries, kLater, kNothing };
  // Reads as many entries of host memory as `entries` holds, and waits for them. kLater: not before
  // aside.Over(), when it is called again. kNothing: the host refused, or did not answer in time;
  // of a function that is reset meanwhile, at once.
  Fetched FetchEntries(unsigned function, uint64_t address, std::vector<uint8_t>& entries,
                       PutAside& aside);
  // A declared fault can make the card's fetching hang: then this waits until the function is
  // reset, and says no.
  bool CanFetch(unsigned function);
  struct HostRead {
    bool good = false;       // the data are there
    bool answered = false;   // by the host, well or badly; else its time is over after `delay`
    bool transient = false;  // another read may be answered well
    sc_core::sc_time delay;
  };
  // One read, which waits for nothing; aside.asked is then set if the host answers later.
  HostRead ReadHostOnce(unsigned function, uint64_t address, void* data, uint64_t bytes,
                        PutAside& aside);
  virtual void AnswerCame() = 0;                     // to a read that was put aside
  virtual void DropFunction(unsigned function) = 0;  // all that the function has
  // Posts a write; it is on its way when this returns.
  bool WriteHost(unsigned function, uint64_t address, const void* data, uint64_t bytes);
  // Posts a response, at its place in the queue's ring.
  bool WriteResponse(unsigned function, const QueueRegisters& queue, uint64_t address,
                     const Response& response);
  // A message through the management controller. Waits.
  Status Translate(unsigned function, const Message& message, ControlBlock* block, uint64_t* fault);
  // Runs the operation on its engine and fills in status, fault and counters. Waits; one caller a
  // port at a time.
  void Run(Operation& operation);
  // While it runs, or before. The first reason counts.
  static void Stop(Operation& operation, Status why);
  virtual void DescribeHeldOperations(std::vector<std::string>& lines) const = 0;
  void Trace(const Operation& operation) const;  // after its end
  void Interrupt(unsigned function, uint32_t cause) { interrupt->Interrupt(function, cause); }
  static std::string DescribeRunning(const Operation& operation);
  static std::string DescribeHeld(unsigned function, const ControlBlock& block);
  static std::string DescribeFullRing(unsigned function, uint32_t held, uint32_t posted,
                                      const QueueRegisters& queue);
  static std::string DescribeStopped(unsigned function, Status why);

  // False: the function is being reset, nothing of it is fetched. accepting_changed_ tells of the
  // end.
  bool Accepting(unsigned function) const { return blocks_.management.accepting(function); }
  const FunctionShares& shares() const { return blocks_.management.shares(); }
  virtual void ShareChanged(unsigned /*function*/) {}
  // Compute ports that there are, and how many programs of the function may be at work.
  unsigned compute_ports() const { return static_cast<unsigned>(blocks_.dispatchers.size()); }
  unsigned MostPrograms(unsigned function) const {
    return blocks_.placement == nullptr ? 1 : blocks_.placement->PartitionsOf(function);
  }

  const CardConfig& config_;
  UnitStatistics statistics_;
  sc_core::sc_event accepting_changed_;

 private:
  // What declared faults do to a response; true: it is on its way, or lost.
  bool SpoilResponse(unsigned function, const QueueRegisters& queue, uint64_t address,
                     const Response& response);
  void RunDma(Operation& operation);
  void RunCompute(Operation& operation, ComputeDispatcher& dispatcher);
  void Hold(Operation& operation);
  ComputeDispatcher* DispatcherOf(const Operation& operation) const;
  void SetDeadline(Operation& operation);
  void CheckLimits();  // process
  void KeepDiagnosis(const Operation& operation);

  Blocks blocks_;
  trace::Recorder* recorder_;
  FaultPort faults_;
  TraceSink messages_;  // the management controller at work
  TransferPayload read_payload_, write_payload_;
  std::optional<HeldCompute> held_;
  Namer namer_;
  std::vector<uint64_t> resets_;  // by function
  sc_core::sc_event reset_;
  std::vector<Operation*> at_work_;                  // in the order in which they began
  sc_core::sc_event limit_;                          // the earliest deadline of those may have come
  std::vector<std::vector<std::string>> timed_out_;  // by function: the last one's diagnosis
};

// config.control.fidelity decides which one is made.
std::unique_ptr<ControlProcessor> MakeControlProcessor(const sc_core::sc_module_name& name,
                                                       const CardConfig& config,
                                                       const ControlProcessor::Blocks& blocks,
                                                       trace::Recorder* recorder);

}  // namespace spyre::model
