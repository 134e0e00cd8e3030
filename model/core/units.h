// SPDX-License-Identifier: Apache-2.0
// The five units of a core. Each executes the tensor instructions of its kind (semantics:
// model/contract/program.h).
#pragma once

#include <array>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "model/core/burst_window.h"
#include "model/core/unit.h"

namespace spyre::model {

// Moves boxes between device memory and LX, burst by burst through the ring, a bounded number of
// bursts in flight: a window of places that are used in turn, one for unicast and one for multicast
// bursts. Instructions overlap and end in order.
//
// The unit's process starts an instruction and sleeps until all its bursts are on their way. When a
// place becomes free, the call that says so sends the next burst, ahead of its time, and goes on to
// the next load if that needs to wait for nothing else: the process is woken when it must wait.
class LoadStoreUnit : public CoreUnit, private MulticastMember {
 public:
  LoadStoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core,
                trace::Recorder* recorder);

  void SetPace(uint64_t ps, uint64_t percent) override {
    CoreUnit::SetPace(ps, percent);
    issue_.SetPace(ps, percent);
  }

 protected:
  uint64_t Execute(const Instruction& in) override;
  void Drain() override;
  void CheckFailed() override;
  void Abandon() override;

 private:
  // An instruction whose bursts are on their way.
  struct Move {
    const Instruction* in;
    uint64_t start_ps;
    uint64_t bytes;
    uint64_t done_ps;              // of the bursts that have ended
    uint64_t bursts;               // that have not
    bool issued;                   // all bursts have been sent
    std::optional<PathTime> path;  // to done_ps; of a job that follows paths
  };
  // A place of a window, and the burst that has it or had it last.
  struct Burst {
    Move* move = nullptr;
    uint64_t device_address = 0;
    uint64_t sent_ps = 0;
    uint64_t done_ps = 0;            // may be in the future
    std::unique_ptr<PathTime> path;  // see PathOf
    uint32_t bytes = 0;
    bool waiting = false;  // an answer has yet to come
  };
  // To sent_ps, and when the answer has come to done_ps. Kept apart, as few jobs follow paths.
  static PathTime& PathOf(Burst& burst) {
    if (burst.path == nullptr) burst.path = std::make_unique<PathTime>();
    return *burst.path;
  }
  struct Unicast final : Burst, TransferClient {
    LoadStoreUnit* unit = nullptr;
    TransferPayload payload;
    void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override;
  };
  // One side of a box: where it begins, and how far its rows and planes are apart.
  struct Side {
    uint64_t address;
    uint64_t row_stride;
    uint64_t plane_stride;
    uint64_t At(uint64_t plane, uint64_t row) const {
      return address + plane * plane_stride + row * row_stride;
    }
  };
  // The instruction whose bursts are being sent: a box in runs of contiguous bytes.
  struct Box {
    Move* move;
    Side device, lx;
    uint64_t run_bytes, rows, planes;  // a run is contiguous in device memory
    Pieces pieces;                     // of a run, in LX
    // Of the whole box, if one translation holds for all of it; else each run has its own.
    bool translated;
    Grant grant;
    uint8_t* data;
    // Where it has come to.
    uint64_t plane, row;
    uint64_t local_ps;  // when the unit can send the next burst or begin the next run
    Grant run;          // what is left of the run at hand; 0 bytes: the next one has not begun
    uint64_t run_device;
    uint8_t* run_data;
  };

  // Begins an instruction at a local time; false: it moves nothing, and has ended.
  bool Begin(const Instruction& in, uint64_t start_ps);
  bool BeginNext();
  uint64_t LxBytesOfRun() const;
  void Translate();
  // These two, false: it may not be accessed, and the unit has failed.
  bool BeginRun();
  bool RenewRun();
  void SendBursts();
  bool SendBox();  // false: it needs a place that is not free
  void WaitForProgress() {
    waiting_ = true;
    WaitWhileAhead(progress_);
    waiting_ = false;
  }
  void Send(Burst& burst, uint64_t bytes);
  void MulticastEnded(void* place, const MulticastEnd& end) override;
  void PartnersWaited(const Burst& burst, const MulticastEnd& end);
  // A load that was asked for at asked_ps, by the last of its members, and is at its core.
  void CountLoad(uint64_t asked_ps, const BurstTimes& times, uint64_t arrived_ps);
  void BurstDone(Burst& burst, tlm::tlm_response_status status, uint64_t done_ps);
  Move& BeginMove(const Move& move);
  void EndMoves();  // those at the front that are complete
  void Fail(const UnitFault& fault);

  const bool is_store_;
  BurstWindow<Unicast> unicasts_;
  BurstWindow<Burst> multicasts_;
  uint64_t in_flight_ = 0;
  std::list<Move> moves_;        // in the order of the program
  std::list<Move> ended_moves_;  // for use again, the latest first
  Box box_{};
  TransferRequest transfer_;    // of the instruction at hand
  ClockCursor issue_;           // where the last burst or run left box_.local_ps
  bool sending_ = false;        // the box has bursts that have not been sent
  bool in_send_ = false;        // SendBursts is at work
  sc_core::sc_event progress_;  // all bursts have been sent, or none is in flight
  bool waiting_ = false;        // the unit's process waits for it
  uint64_t last_done_ps_ = 0;
  PathTime last_path_;              // to it
  uint64_t partners_until_ps_ = 0;  // waits for partners are counted up to here
  bool failed_ = false;
  UnitFault failure_{Status::OK, 0};
};

// The PT arrays of the core's corelets, weight stationary: blocks of 64 k x one stick of weights,
// rows of activations past them. The next MATMUL begins to load weights while the last one's rows
// are still in the array.
class PtUnit : public CoreUnit {
 public:
  PtUnit(const sc_core::sc_module_name& name, Core& core, trace::Recorder* recorder)
      : CoreUnit(name, Unit::kPt, core, recorder) {}

 protected:
  uint64_t Execute(const Instruction& in) override;
  void Drain() override;
  void Abandon() override { array_free_ = 0; }

 private:
  // Advances local time to where the weights of the next MATMUL may come, array_free_ to where this
  // one's sums are in LX; returns the bytes through the LX port.
  // flag: of kMatmulCorelets, or 0.
  uint64_t Price(uint8_t flag, MatmulFn fn, uint64_t m, uint64_t n, uint64_t k, bool accumulate);
  uint64_t Rate(DataFormat format) const;     // multiply-accumulates, relative to fp16
  uint64_t Latency(DataFormat format) const;  // cycles until a sum can be added to again

  uint64_t array_free_ = 0;  // cycle of the core's clock
  PathTime array_path_;      // to it
};

// The vector units (SFU) of the corelets: pointwise functions, reductions, rounding, transposes,
// conversions, program correction.
class VectorUnit : public CoreUnit {
 public:
  VectorUnit(const sc_core::sc_module_name& name, Core& core, trace::Recorder* recorder)
      : CoreUnit(name, Unit::kVector, core, recorder) {}

 protected:
  uint64_t Execute(const Instruction& in) override;

 private:
  struct Walk;  // planes and rows of one operand
  // Where loops are generated: hundredths of a cycle for a stick (0: no such loop), in loops over
  // so many sticks.
  struct Loop {
    uint64_t centicycles = 0;
    uint64_t sticks = 0;
  };
  Walk OperandWalk(const Instruction& in, int address, int plane_stride, int row_stride,
                   uint64_t stick_bytes);
  void Binary(const Instruction& in);
  Loop BinaryLoop(uint8_t fn, uint64_t planes, uint64_t rows, const Walk& a, const Walk& b) const;
  void Unary(const Instruction& in);
  void Reduce(const Instruction& in);
  void ReduceRows(const Instruction& in);
  void Round(const Instruction& in);
  void Accumulate(const Instruction& in);
  void Fill(const Instruction& in);
  void Relocate(const Instruction& in);
  void Transpose(const Instruction& in);
  void Convert(const Instruction& in);

  // Work of the instruction at hand, filled by the methods above and priced by Execute.
  uint64_t elements_ = 0;
  uint64_t port_bytes_ = 0;
  uint64_t passes_ = 1;
  uint64_t row_cycles_ = 0;  // of all rows, beside the passes
  Loop loop_;
};

// Partial sums and barriers between cores; marks where steps of the program begin.
class RingUnit : public CoreUnit {
 public:
  RingUnit(const sc_core::sc_module_name& name, Core& core, trace::Recorder* recorder)
      : CoreUnit(name, Unit::kRing, core, recorder) {}

 protected:
  uint64_t Execute(const Instruction& in) override;

 private:
  uint64_t Send(const Instruction& in);
  TransferPayload payload_;
};

}  // namespace spyre::model
