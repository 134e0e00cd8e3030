// SPDX-License-Identifier: Apache-2.0
#include "model/core/unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/contract/op_table.h"

namespace spyre::model {

CoreUnit::CoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core,
                   trace::Recorder* recorder)
    : sc_module(name),
      core_(core),
      config_(core.config()),
      kind_(kind),
      recorder_(recorder != nullptr && recorder->Wants(trace::kCore) ? recorder : nullptr),
      edge_(core.clock()),
      quantum_ps_(config_.core.quantum_ns * 1000) {
  statistics_.name = fmt::format("{}.{}", core.unit_prefix(), UnitName(kind));
  if (recorder_ != nullptr) {
    track_ = recorder_->AddTrack(core.title(), UnitName(kind));
    token_wait_ = recorder_->Intern("token wait");
    barrier_wait_ = recorder_->Intern("barrier wait");
    partner_wait_ = recorder_->Intern("partner wait");
  }
}

void CoreUnit::Start(Job& job) {
  const uint32_t bit = 1u << core_.index();
  const auto& sections = job.program->sections;
  const bool has_work = std::any_of(sections.begin(), sections.end(), [&](const Section& section) {
    return section.unit == kind_ && (section.core_mask & bit) != 0;
  });
  if (!has_work) return;
  job_ = &job;
  ++job.units_running;
  // Not before: a stack costs the host some system calls, and short runs need few of 160.
  if (!has_thread_) sc_core::sc_spawn([this] { Run(); });
  has_thread_ = true;
  start_.notify(sc_core::SC_ZERO_TIME);
}

std::string CoreUnit::DescribeWait() const {
  if (job_ == nullptr || current_ == nullptr) return {};
  const std::string where = fmt::format("{} at instruction {} ({})", UnitName(kind_), pc_,
                                        FindOp(static_cast<uint8_t>(current_->op))->mnemonic);
  return waiting_token_ != 0 ? fmt::format("{} waits for token t{}", where, waiting_token_) : where;
}

void CoreUnit::Run() {
  wait(start_);  // a new thread runs at once, and its first job starts as any other
  for (;;) {
    while (job_ == nullptr) wait(start_);
    Job& job = *job_;
    const uint32_t bit = 1u << core_.index();
    try {
      for (const Section& section : job.program->sections) {
        if (section.unit == kind_ && (section.core_mask & bit) != 0) RunSection(section);
      }
      Drain();
      Sync();
    } catch (const UnitFault& fault) {
      job.Fault(fault.status, fault.address, static_cast<uint16_t>(core_.index()));
    } catch (const JobAborted&) {
      // Another unit's fault or a reset: this unit only stops.
    }
    if (job.aborted) Abandon();  // outside the handlers: it waits
    ahead_ps_ = 0;
    waiting_token_ = 0;
    current_ = nullptr;
    job_ = nullptr;
    if (--job.units_running == 0) job.done.notify(sc_core::SC_ZERO_TIME);
  }
}

void CoreUnit::RunSection(const Section& section) {
  struct Loop {
    size_t body;
    uint8_t counter;
    int64_t count;
  };
  std::array<Loop, kMaxLoopDepth> loops;
  int depth = 0;
  regs_.fill(0);
  const std::vector<Instruction>& code = section.code;
  for (pc_ = 0; pc_ < code.size(); ++pc_) {
    const Instruction& in = code[pc_];
    current_ = &in;
    if (in.wait != 0) TakeToken(in.wait);
    uint64_t finish;
    if (in.op == Op::kLoop) {
      Advance(1);
      const int64_t count = regs_[in.reg[1]];
      if (count <= 0) {
        for (int nested = 1;
             nested > 0;) {  // to the matching END; Decode has checked that there is one
          ++pc_;
          if (code[pc_].op == Op::kLoop) ++nested;
          if (code[pc_].op == Op::kEnd) --nested;
        }
      } else {
        loops[depth++] = {pc_, in.reg[0], count};
        if (in.reg[0] != 0) regs_[in.reg[0]] = 0;
      }
      finish = local_ps();
    } else if (in.op == Op::kEnd) {
      Advance(1);
      Loop& loop = loops[depth - 1];
      // Trip counting is the sequencer's own; a loop over r0 counts as well.
      if (--loop.count > 0) {
        // The body may have written the counter: it wraps, as all arithmetic of the sequencer.
        int64_t& counter = regs_[loop.counter];
        if (loop.counter != 0) counter = static_cast<int64_t>(static_cast<uint64_t>(counter) + 1);
        pc_ = loop.body;
      } else {
        --depth;
      }
      finish = local_ps();
    } else if (static_cast<uint8_t>(in.op) < static_cast<uint8_t>(Op::kLoad)) {
      Advance(1);
      ExecuteScalar(in);
      finish = local_ps();
    } else {
      operands_ = {};
      finish = Execute(in);
    }
    if (finish != kLater) {
      finished_ps_ = std::max(finished_ps_, finish);
      GiveSignal(in, finished_ps_);
    }
    SyncIfFarAhead();
  }
}

void CoreUnit::ExecuteScalar(const Instruction& in) {
  const auto wrap = [](uint64_t value) { return static_cast<int64_t>(value); };
  const int64_t a = regs_[in.reg[1]];
  const int64_t b = regs_[in.reg[2]];
  int64_t result = 0;
  switch (in.op) {
    case Op::kNop:
      return;
    case Op::kLi:
      result = in.imm;
      break;
    case Op::kTab:
      if (static_cast<uint64_t>(in.imm) >= job_->program->address_table.size()) {
        throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc_};
      }
      result = wrap(job_->program->address_table[in.imm]);
      break;
    case Op::kCreg: {
      const auto& rows = job_->program->core_registers;
      result = rows.empty() ? 0 : rows[core_.index()][in.imm];
      break;
    }
    case Op::kMadd:
      result =
          wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b) * static_cast<uint64_t>(in.imm));
      break;
    case Op::kMul:
      result =
          wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(in.imm));
      break;
    case Op::kMin:
      result = std::min(a, b);
      break;
    default:
      throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc_};
  }
  if (in.reg[0] != 0) regs_[in.reg[0]] = result;
}

uint64_t CoreUnit::Count(const Instruction& in, int operand, uint64_t limit) const {
  const uint64_t value = reg(in, operand);
  if (value > limit) throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc_};
  return value;
}

void CoreUnit::AdvanceTo(uint64_t time_ps) {
  const uint64_t now = NowPs();
  ahead_ps_ = std::max(now + ahead_ps_, time_ps) - now;
}

void CoreUnit::Advance(uint64_t cycles) {
  const uint64_t now = NowPs();
  if (edge_.ps() != now + ahead_ps_) edge_.MoveTo(now + ahead_ps_);
  edge_.Advance(cycles);
  ahead_ps_ = edge_.ps() - now;
}

void CoreUnit::CheckAborted() const {
  if (job_->aborted) throw JobAborted{};
}

void CoreUnit::Sync() {
  CheckAborted();
  if (ahead_ps_ == 0) return;
  const uint64_t ahead = ahead_ps_;
  ahead_ps_ = 0;
  wait(Ps(ahead));
  CheckAborted();
}

void CoreUnit::WaitWhileAhead(const sc_core::sc_event& event) {
  const uint64_t local = local_ps();
  ahead_ps_ = 0;
  wait(event);
  AdvanceTo(local);
  CheckAborted();
}

void CoreUnit::TakeToken(unsigned token) {
  Sync();
  waiting_token_ = token;
  const uint64_t start = NowPs();
  while (!core_.TryTakeToken(token)) {
    wait(core_.token_event(token));
    CheckAborted();
  }
  waiting_token_ = 0;
  AccountWait(Loss::kTokenWait, start, NowPs(), core_.token_giver(token));
}

void CoreUnit::AccountWait(Loss cause, uint64_t start_ps, uint64_t end_ps,
                           trace::TrackId ended_by) {
  if (end_ps <= start_ps) return;
  // What it is still doing meanwhile is not lost.
  CountLoss(cause, end_ps - std::min(end_ps, std::max(start_ps, busy_until_ps_)));
  if (recorder_ == nullptr) return;
  const trace::NameId name = cause == Loss::kTokenWait     ? token_wait_
                             : cause == Loss::kBarrierWait ? barrier_wait_
                                                           : partner_wait_;
  recorder_->Slice(trace::kWait, track_, name, start_ps, end_ps, job_->flow, 0, ended_by);
}

void CoreUnit::GiveSignal(const Instruction& in, uint64_t finish_ps) {
  if (in.signal != 0)
    core_.GiveTokenAt(After(finish_ps, config_.core.token_cycles), in.signal, track_);
}

void CoreUnit::Account(const Instruction& in, uint64_t start_ps, uint64_t end_ps, uint64_t bytes) {
  // Loads and stores in flight at once count their common time once.
  const uint64_t begin = std::max(start_ps, busy_until_ps_);
  busy_until_ps_ = std::max(busy_until_ps_, end_ps);
  statistics_.busy_ps += end_ps - std::min(begin, end_ps);
  statistics_.bytes += bytes;
  statistics_.requests += 1;
  if (recorder_ == nullptr) return;
  std::optional<trace::NameId>& name = mnemonics_[static_cast<uint8_t>(in.op)];
  if (!name) name = recorder_->Intern(FindOp(static_cast<uint8_t>(in.op))->mnemonic);
  recorder_->Slice(trace::kCore, track_, *name, start_ps, end_ps, job_->flow, bytes, core_.index());
}

}  // namespace spyre::model
