// SPDX-License-Identifier: Apache-2.0
// The control-block processor as a timed model: each step costs what config.control says, and the
// choice of what runs next costs nothing. See control_processor.h.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "model/control/control_processor.h"

namespace spyre::model {

class TimedControlProcessor : public ControlProcessor {
 public:
  TimedControlProcessor(const sc_core::sc_module_name& name, const CardConfig& config,
                        const Blocks& blocks, trace::Recorder* recorder);

  void SetQueue(unsigned function, const QueueRegisters& queue) override {
    functions_[function].queue = queue;
    if (!queue.enabled) functions_[function].aside = PutAside();
  }
  void Doorbell(unsigned function, const sc_core::sc_time& arrival) override;
  void ResponsesConsumed(unsigned function, const sc_core::sc_time& arrival) override;
  uint32_t submission_head(unsigned function) const override {
    return functions_[function].fetched;
  }
  uint32_t response_tail(unsigned function) const override { return functions_[function].posted; }
  bool busy(unsigned function) const override;
  Status error(unsigned function) const override { return functions_[function].error; }
  void ClearError(unsigned function) override { functions_[function].error = Status::OK; }

 private:
  void DropFunction(unsigned function) override;
  void AnswerCame() override { doorbell_.notify(sc_core::SC_ZERO_TIME); }
  void DescribeHeldOperations(std::vector<std::string>& lines) const override;
  struct HeldOperation : Operation {
    // The function's generation when this was fetched: responses of an earlier one are dropped.
    uint64_t generation = 0;
    bool refused = false;  // bad entry: answered in the order of its stream, never run
  };
  struct EventState {
    uint64_t counter = 0;   // only goes up
    bool poisoned = false;  // a signal was aborted: what is not reached yet has failed
  };
  struct FunctionState {
    QueueRegisters queue;
    uint32_t fetched = 0;
    uint32_t posted = 0;
    uint32_t held = 0;     // fetched and not yet answered
    uint32_t pending = 0;  // of these, not yet started
    uint64_t next_sequence = 1;
    uint64_t generation = 0;
    Status error = Status::OK;
    PutAside aside;
    std::deque<std::pair<uint32_t, uint64_t>> doorbells;  // tail, arrival
    std::array<EventState, kEventSlots> events{};
    std::set<uint32_t> failed_streams;  // up to kHeldOperations
    bool all_failed = false;            // there was no room for one more
  };
  using OperationPtr = std::shared_ptr<HeldOperation>;
  struct Port {
    OperationPtr running;
    sc_core::sc_event start;
  };
  // What functions take turns for: the cores, on serial hardware the whole card; the service core.
  static constexpr size_t kPools = 2;

  void Fetch();
  bool FetchFrom(unsigned function);
  OperationPtr Decode(unsigned function, const uint8_t* entry, uint64_t queued_ps);
  void Issue();
  OperationPtr NextEligible() const;
  // Whether there is a place for it, whoever's turn it is.
  bool HasPlace(const HeldOperation& operation) const;
  unsigned PortFor(const HeldOperation& operation) const;  // kPorts: there is none
  unsigned ComputePortFor(unsigned function) const;
  size_t PoolOf(const HeldOperation& operation) const;  // kPools: it needs no turn
  bool Runs(unsigned function) const;
  void Start(const OperationPtr& operation);
  void RunPort(Port& port);
  template <typename Action>
  void ForRunning(const Action& action) const {
    for (uint64_t left = busy_; left != 0; left &= left - 1)
      action(*ports_[static_cast<size_t>(__builtin_ctzll(left))]->running);
  }
  static bool Reached(const FunctionState& state, uint64_t event);
  static void RunImmediate(FunctionState& state, HeldOperation& operation);
  void Finish(const OperationPtr& operation);
  void Respond();
  void StopQueue(unsigned function, Status why);
  static bool Failed(const FunctionState& state, uint32_t stream);
  static void MarkFailed(FunctionState& state, uint32_t stream);
  bool InService(const OperationPtr& operation) const;
  OperationPtr NextAnswerable();

  std::vector<FunctionState> functions_;
  std::deque<OperationPtr> pending_;                 // fetched, not started
  unsigned pending_functions_ = 0;                   // that have some of them
  std::array<std::unique_ptr<Port>, kPorts> ports_;  // made when first used
  uint64_t busy_ = 0;                                // ports, one bit each
  std::array<FairShare, kPools> pools_;
  std::deque<OperationPtr> finished_;  // response not yet posted
  size_t next_function_ = 0;
  std::vector<uint8_t> entries_;  // that Fetch has read
  sc_core::sc_event doorbell_, pending_changed_, engine_done_, finished_changed_, answered_, space_;
};

}  // namespace spyre::model
