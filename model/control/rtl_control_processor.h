// SPDX-License-Identifier: Apache-2.0
// The control-block processor in RTL: brings the transactions of model/rtl/control to and from the
// rest of the card and turns its clocks into time. See control_processor.h.
//
// The clock stops while the block has nothing to do. Behaviour is that of the timed model; each
// step takes as long as config.control says, and some clocks more: the sums of them, for an
// operation alone in the card, are in docs/control-processor.md.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "model/common/clock.h"
#include "model/control/control_processor.h"
#include "model/rtl/control_rtl.h"

namespace spyre::model {

class RtlControlProcessor : public ControlProcessor {
 public:
  RtlControlProcessor(const sc_core::sc_module_name& name, const CardConfig& config,
                      const Blocks& blocks, trace::Recorder* recorder);

  void SetQueue(unsigned function, const QueueRegisters& queue) override;
  void Doorbell(unsigned function, const sc_core::sc_time& arrival) override;
  void ResponsesConsumed(unsigned function, const sc_core::sc_time& arrival) override;
  uint32_t submission_head(unsigned function) const override;
  uint32_t response_tail(unsigned function) const override;
  bool busy(unsigned function) const override;
  Status error(unsigned function) const override;
  void ClearError(unsigned function) override;
  void FlipBit(uint64_t seed) override;
  bool AttachWaves(Waves* waves) override;

 private:
  void DropFunction(unsigned function) override;
  void AnswerCame() override { Wake(); }
  void DescribeHeldOperations(std::vector<std::string>& lines) const override;
  void ShareChanged(unsigned function) override;
  struct Arrival {
    uint64_t ps;
    uint32_t index;
  };
  // What the registers of a function have said and the block has not yet heard: in the order in
  // which it will.
  struct FunctionState {
    QueueRegisters queue;
    bool reset = false;
    bool ring = false;
    bool cancel_doorbell = false;
    bool clear_error = false;
    std::deque<Arrival> consumed;
    std::deque<Arrival> doorbells;
    PutAside aside;
  };
  using Entry = std::array<uint8_t, kEntryBytes>;  // ControlBlock of the PF, Message of a VF
  struct Pending {
    ControlRtl::Node node;
    ControlBlock block;
  };
  struct Port {
    Operation operation;
    bool at_work = false;
    sc_core::sc_event start;
  };

  static ControlBlock AsBlock(unsigned function, const Entry& entry);
  void Clock();
  void Step(uint64_t now_ps);
  uint64_t NextEdge() const;  // UINT64_MAX: the clock stands still
  bool GiveCommand(unsigned function, uint64_t now_ps);
  uint64_t NextArrival() const;
  uint64_t NextAnswer() const;  // when a read that was put aside comes; UINT64_MAX: there is none
  void ShowSilent(uint64_t now_ps);
  void Wake();

  void ServeHost();
  void NextEntry();
  void RaiseInterrupts();
  void TakeOperation(const ControlRtl::Taken& taken);
  void StartOperation(const ControlRtl::Started& started);
  void ReadEntries();
  void TranslateMessages();
  void RunPort(unsigned index);
  static Engine EngineOf(unsigned port);
  template <typename Action>
  void ForRunning(const Action& action) const {
    for (const std::unique_ptr<Port>& port : ports_)
      if (port != nullptr && port->at_work) action(port->operation);
  }

  const model::Clock clock_;
  const std::unique_ptr<ControlRtl> rtl_;
  uint64_t next_cycle_ = 0;
  bool input_ = false;     // the block has not seen yet
  bool commands_ = false;  // some function may have some
  uint32_t silent_ = 0;    // functions whose read is put aside, one bit each
  sc_core::sc_event wake_, read_asked_, message_asked_;

  std::vector<FunctionState> functions_;
  ControlRtl::Read read_{};
  uint64_t read_begin_ps_ = 0;
  std::vector<uint8_t> batch_;                       // as read
  std::vector<Entry> entries_;                       // of the batch
  size_t entry_ = 0;                                 // the one present
  std::array<std::unique_ptr<Port>, kPorts> ports_;  // made when first used
  std::deque<unsigned> ended_;                       // ports: the block has not yet been told
  std::deque<Pending> pending_;                      // accepted, not begun
};

}  // namespace spyre::model
