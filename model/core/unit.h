// SPDX-License-Identifier: Apache-2.0
// CoreUnit: what every unit of a core has. It runs one section: scalar instructions and loops by
// its sequencer, tokens, and tensor instructions, which it hands to the derived unit. One SystemC
// thread per unit, from its first job on; asleep while there is none.
//
// A unit keeps local time ahead of the kernel (temporal decoupling), bounded by core.quantum_ns; it
// synchronises before it waits for a token and before it touches the ring.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <systemc>
#include <vector>

#include "model/core/core.h"
#include "model/core/sequencer.h"

namespace spyre::model {

struct JobAborted {};

class CoreUnit : public sc_core::sc_module {
 public:
  CoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core, trace::Recorder* recorder);

  void Start(Job& job);
  // The core's clock changes its pace at ps (Clock::SetPace).
  virtual void SetPace(uint64_t ps, uint64_t percent);
  const UnitStatistics& statistics() const { return statistics_; }
  std::string DescribeWait() const;  // empty if the unit is not waiting
  trace::TrackId track() const { return track_; }

 protected:
  // Executes one tensor instruction whose wait token has been taken. Advances local time to when
  // the unit can take its next instruction; returns when the instruction is finished, at which its
  // signal token is given; or kLater, and the unit itself gives the token when it knows. Leaves the
  // path to local time in path_, and the path to what it returns in end_path_ if that is another
  // time.
  static constexpr uint64_t kLater = UINT64_MAX;
  virtual uint64_t Execute(const Instruction& in) = 0;
  // Waits for work still in flight at the end of a section.
  virtual void Drain() {}
  // While the unit waits for a token: throws what has gone wrong with earlier instructions.
  virtual void CheckFailed() {}
  // The job is being torn down: waits for what others still hold, and forgets it.
  virtual void Abandon() {}

  uint64_t reg(const Instruction& in, int operand) const { return sequencer_.reg(in, operand); }
  // An operand that is a count or a size: faults unless within [0, limit].
  uint64_t Count(const Instruction& in, int operand, uint64_t limit = 1ull << 32) const;

  Job& job() const { return *job_; }
  // The bytes [address, address + bytes) of LX, for an operand of the instruction at hand; throws
  // UnitFault(LX_OVERFLOW) outside the usable part. Three times an instruction at most.
  uint8_t* Lx(uint64_t address, uint64_t bytes) {
    uint8_t* const at = core_.Lx(address, bytes);
    operands_.Add({at, bytes});
    return at;
  }
  // What an instruction does to the data of its operands, if the job has data
  // (model/common/functional_queue.h).
  template <typename Work>
  void Later(const Work& work) const {
    if (job_->functional != nullptr) job_->functional->Push(operands_, work);
  }
  size_t pc() const { return sequencer_.pc(); }
  uint64_t local_ps() const { return NowPs() + ahead_ps_; }
  void AdvanceTo(uint64_t time_ps);  // local time, if later
  void Advance(uint64_t cycles);     // local time, from its next edge
  // `cycles` cycles of the core's clock after the first edge at or after `ps`.
  uint64_t After(uint64_t ps, uint64_t cycles) const { return core_.clock().After(ps, cycles); }
  void Sync();  // kernel time catches up with local time; throws JobAborted
  // Waits for `event`; local time stays, unless the kernel passes it.
  void WaitWhileAhead(const sc_core::sc_event& event);
  // While the unit's process sleeps in Execute, at local time `*local_ps`: goes on as the process
  // would behind that instruction, and brings *local_ps up to date. Returns the next tensor
  // instruction, for the caller to execute in place of the process, if nothing on the way there has
  // to wait; null: the process has to go on. Throws UnitFault.
  const Instruction* GoOnAsleep(uint64_t* local_ps);
  // What is owed does not count, and TakeToken has seen to that.
  void SyncIfFarAhead() {
    if (local_ps() > SyncPs()) Sync();
  }
  // For who counts cycles by itself: the first cycle of the core's clock at which SyncIfFarAhead
  // would synchronise.
  uint64_t FarAheadCycle() const { return core_.clock().CycleAt(NowPs() + quantum_ps_ + 1); }
  void CheckAborted() const;
  void GiveSignal(const Instruction& in, uint64_t finish_ps, const PathTime& path);
  // The time up to local time was spent on `cause`.
  void Spend(Cause cause) {
    if (follows_paths()) path_.Until(local_ps(), cause);
  }
  // Somebody asks for the job's path; else nobody brings any up to date.
  bool follows_paths() const { return job_->follows_paths; }
  void Account(const Instruction& in, uint64_t start_ps, uint64_t end_ps, uint64_t bytes);
  // There is a trace; else nobody asks for tracks.
  bool records() const { return recorder_ != nullptr; }
  // Counts and traces that the unit has waited from start_ps to end_ps, and which track ended it.
  void AccountWait(Loss cause, uint64_t start_ps, uint64_t end_ps, trace::TrackId ended_by);
  void CountLoss(Loss cause, uint64_t ps) { statistics_.lost(cause) += ps; }

  Core& core_;
  const CardConfig& config_;
  // Brought up to date before anybody takes it over: local time may be later.
  PathTime path_;
  PathTime end_path_;

 private:
  void Run();
  void RunSection(const Section& section);
  void RunPlain();
  // What a sync bounds: local time must not pass it.
  uint64_t SyncPs() const { return std::max(NowPs(), owed_ps_) + quantum_ps_; }
  int64_t NumberInLx(const Instruction& in);
  void TakeToken(unsigned token);
  void PayOwed();
  // Declared faults of the tensor instruction at hand: before it runs, and after.
  void MeetFaults(const Instruction& in);
  void SpoilResult(const Instruction& in);
  FaultEvent EventOf() const;
  void Finish(const Instruction& in, uint64_t finish_ps, const PathTime& path);

  static constexpr uint64_t kManyCycles = 64;

  // What every step looks at, side by side in the host's cache.
  Job* job_ = nullptr;
  const Instruction* current_ = nullptr;
  unsigned waiting_token_ = 0;
  uint64_t ahead_ps_ = 0;
  uint64_t owed_ps_ = 0;  // the kernel must come to it before anything outside the unit is touched
  const uint64_t quantum_ps_;
  uint64_t many_cycles_ps_;   // at least what kManyCycles take, from anywhere
  uint64_t finished_ps_ = 0;  // the last instruction and all before it; signals keep this order
  Sequencer sequencer_;
  ClockCursor edge_;  // where Advance left local time

  const Unit kind_;
  trace::Recorder* recorder_;
  trace::TrackId track_ = 0;
  trace::NameId token_wait_ = 0, barrier_wait_ = 0, partner_wait_ = 0;
  // By opcode, from its first slice on: names get their ids in order of appearance.
  std::array<std::optional<trace::NameId>, 256> mnemonics_;
  UnitStatistics statistics_;
  uint64_t busy_until_ps_ = 0;
  bool has_thread_ = false;
  sc_core::sc_event start_;
  PathTime finished_path_;  // to finished_ps_, if a signal can need it
  LxRanges operands_;       // of the instruction at hand
};

}  // namespace spyre::model
