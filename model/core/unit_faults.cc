// SPDX-License-Identifier: Apache-2.0
// Second part of CoreUnit: what declared faults do to an instruction.
#include "model/core/unit.h"

namespace spyre::model {
namespace {

// The operand with the address in LX that the instruction reads first, or -1.
int SourceOperand(Op op) {
  switch (op) {
    case Op::kStore:
      return 0;
    case Op::kSend:
      return 2;
    case Op::kMatmul:
    case Op::kVbinary:
    case Op::kVunary:
    case Op::kVreduce:
    case Op::kVreduceRows:
    case Op::kVround:
    case Op::kVaccumulate:
    case Op::kVreloc:
    case Op::kVtranspose:
    case Op::kVconvert:
      return 1;
    default:
      return -1;
  }
}

}  // namespace

FaultEvent CoreUnit::EventOf() const {
  FaultEvent event;
  event.core = core_.index();
  event.function = job_->function;
  event.stream = job_->stream;
  event.operation = job_->flow;
  return event;
}

void CoreUnit::MeetFaults(const Instruction& in) {
  const FaultPort& faults = *core_.faults();
  const FaultEvent event = EventOf();
  if (Injection* const injection =
          faults.injector->Strike(FaultSite::kInstruction, event, NowPs())) {
    if (injection->kind() == FaultKind::kCoreLate) {
      AdvanceTo(local_ps() + injection->fault->lasts_ps);
      FaultInjector::Masked(*injection, "the program waits", NowPs());
    }
    while (injection->kind() == FaultKind::kCoreStop) {  // until the job is torn down
      Sync();
      wait(core_.EventOf(0));
      CheckAborted();
    }
  }
  const int source = SourceOperand(in.op);
  if (source < 0) return;
  if (Injection* const injection = faults.injector->Strike(FaultSite::kLx, event, NowPs())) {
    const auto offset = static_cast<uint32_t>(reg(in, source));
    FaultInjector::Detected(*injection, "the core", NowPs());
    faults.errors->Report({RasCode::LX_PARITY,
                           RasSeverity::NON_FATAL,
                           job_->function,
                           {static_cast<uint32_t>(core_.index()), offset}});
    throw UnitFault{Status::LX_PARITY, uint64_t{core_.index()} << 32 | offset};
  }
}

// The first operand is where results go; a wrong bit is somewhere in it.
void CoreUnit::SpoilResult(const Instruction& in) {
  if (SourceOperand(in.op) != 1 || operands_.begin() == operands_.end()) return;
  Injection* const injection =
      core_.faults()->injector->Strike(FaultSite::kResult, EventOf(), NowPs());
  if (injection == nullptr || job_->functional == nullptr) return;
  const LxRange result = *operands_.begin();
  if (result.bytes == 0) return;
  const uint64_t bit = FaultHash(injection->fault->when.seed, NowPs()) % (result.bytes * 8);
  uint8_t* const at = result.at + bit / 8;
  const auto mask = static_cast<uint8_t>(1 << bit % 8);
  job_->functional->Push({{at, 1}}, [at, mask] { *at ^= mask; });
}

}  // namespace spyre::model
