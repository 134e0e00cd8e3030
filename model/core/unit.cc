// SPDX-License-Identifier: Apache-2.0
#include "model/core/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/ranges.h"
#include "model/contract/op_table.h"

namespace spyre::model {

CoreUnit::CoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core,
                   trace::Recorder* recorder)
    : sc_module(name),
      core_(core),
      config_(core.config()),
      quantum_ps_(config_.core.quantum_ns * 1000),
      many_cycles_ps_(core.clock().Span(kManyCycles + 1)),
      edge_(core.clock()),
      kind_(kind),
      recorder_(recorder != nullptr && recorder->Wants(trace::kCore) ? recorder : nullptr) {
  statistics_.name = fmt::format("{}.{}", core.unit_prefix(), UnitName(kind));
  if (recorder_ != nullptr) {
    track_ = recorder_->AddTrack(core.title(), UnitName(kind));
    token_wait_ = recorder_->Intern("token wait");
    barrier_wait_ = recorder_->Intern("barrier wait");
    partner_wait_ = recorder_->Intern("partner wait");
  }
}

void CoreUnit::SetPace(uint64_t ps, uint64_t percent) {
  edge_.SetPace(ps, percent);
  constexpr uint64_t kWhole = 100;
  many_cycles_ps_ = Clock(config_.clock.core_mhz).Span(kManyCycles + 1) * kWhole / percent + 1;
}

void CoreUnit::Start(Job& job) {
  const uint32_t bit = 1u << core_.PositionIn(job);
  const auto& sections = job.program->sections;
  const bool has_work = AnyFits(sections, [&](const Section& section) {
    return section.unit == kind_ && (section.core_mask & bit) != 0;
  });
  if (!has_work) return;
  job_ = &job;
  path_ = job.start_path;
  finished_path_ = job.start_path;
  ++job.units_running;
  // Not before: a stack costs the host some system calls, and short runs need few of 160.
  if (!has_thread_) sc_core::sc_spawn([this] { Run(); });
  has_thread_ = true;
  start_.notify(sc_core::SC_ZERO_TIME);
}

std::string CoreUnit::DescribeWait() const {
  if (job_ == nullptr || current_ == nullptr) return {};
  const std::string where = fmt::format("{} at instruction {} ({})", UnitName(kind_), pc(),
                                        FindOp(static_cast<uint8_t>(current_->op))->mnemonic);
  return waiting_token_ != 0 ? fmt::format("{} waits for token t{}", where, waiting_token_) : where;
}

void CoreUnit::Run() {
  wait(start_);  // a new thread runs at once, and its first job starts as any other
  for (;;) {
    while (job_ == nullptr) wait(start_);
    Job& job = *job_;
    const unsigned position = core_.PositionIn(job);
    const uint32_t bit = 1u << position;
    try {
      for (const Section& section : job.program->sections) {
        if (section.unit == kind_ && (section.core_mask & bit) != 0) RunSection(section);
      }
      Drain();
      Sync();
    } catch (const UnitFault& fault) {
      job.Fault(fault.status, fault.address, static_cast<uint16_t>(position));
    } catch (const JobAborted&) {
      // Another unit's fault or a reset: this unit only stops.
    }
    if (job.aborted) Abandon();  // outside the handlers: it waits
    Spend(Cause::kSequencer);
    if (job.follows_paths && path_.at_ps >= job.end_path.at_ps) job.end_path = path_;
    job.core_end_ps[core_.index()] = std::max(job.core_end_ps[core_.index()], NowPs());
    ahead_ps_ = 0;
    owed_ps_ = 0;  // of a job that was torn down it may lie ahead of the next one's start
    waiting_token_ = 0;
    current_ = nullptr;
    job_ = nullptr;
    if (--job.units_running == 0) job.done.notify(sc_core::SC_ZERO_TIME);
  }
}

void CoreUnit::RunSection(const Section& section) {
  sequencer_.Start(*job_->program, section, core_.PositionIn(*job_));
  for (;; sequencer_.Next()) {
    RunPlain();
    const Instruction* const in = sequencer_.Current();
    if (in == nullptr) return;
    current_ = in;
    if (in->wait != 0) TakeToken(in->wait);
    if (Sequencer::IsScalar(in->op)) {
      Advance(1);
      if (in->op == Op::kLdx) {
        sequencer_.SetResult(*in, NumberInLx(*in));
      } else {
        sequencer_.Execute();
      }
      if (in->signal != 0) {
        Spend(Cause::kSequencer);
        Finish(*in, local_ps(), path_);
      } else {  // its path is not needed: what signals next ends later
        finished_ps_ = std::max(finished_ps_, local_ps());
      }
    } else {
      PayOwed();
      operands_ = {};
      if (core_.faults() != nullptr) MeetFaults(*in);
      Spend(Cause::kSequencer);
      const uint64_t finish = Execute(*in);
      if (core_.faults() != nullptr) SpoilResult(*in);
      const bool is_local = finish == local_ps();
      if (finish != kLater) Finish(*in, finish, is_local ? path_ : end_path_);
    }
    SyncIfFarAhead();
  }
}

// Scalar instructions that concern nobody but the unit: many at once, unless it may have to
// synchronise between them.
void CoreUnit::RunPlain() {
  for (;;) {
    const uint64_t most = local_ps() + many_cycles_ps_ < SyncPs() ? kManyCycles : 1;
    const uint64_t cycles = sequencer_.ExecutePlain(most);
    if (cycles == 0) return;
    Advance(cycles);
    finished_ps_ = std::max(finished_ps_, local_ps());
    if (most == 1) SyncIfFarAhead();
    if (cycles < most) return;
  }
}

const Instruction* CoreUnit::GoOnAsleep(uint64_t* local_ps) {
  *local_ps = std::max(*local_ps, NowPs());
  if (owed_ps_ > NowPs() || *local_ps + many_cycles_ps_ >= SyncPs() || core_.faults() != nullptr)
    return nullptr;
  sequencer_.Next();
  const uint64_t cycles = sequencer_.ExecutePlain(kManyCycles);
  if (cycles > 0) {
    edge_.MoveBehind(*local_ps, cycles);
    *local_ps = edge_.ps();
    finished_ps_ = std::max(finished_ps_, *local_ps);
  }
  const Instruction* const next = sequencer_.Current();
  if (next == nullptr || next->wait != 0 || Sequencer::IsScalar(next->op)) {
    sequencer_.Back();  // the process goes to it
    return nullptr;
  }
  current_ = next;
  operands_ = {};
  if (follows_paths()) path_.Until(*local_ps, Cause::kSequencer);
  return next;
}

// The number that an address depends on; one access of the LX port.
int64_t CoreUnit::NumberInLx(const Instruction& in) {
  constexpr uint64_t kNumberBytes = sizeof(uint32_t);
  const uint64_t address = reg(in, 1);
  const auto bound = static_cast<uint64_t>(in.imm);
  if (bound == 0 || bound > uint64_t{1} << 32 || address % kNumberBytes != 0)
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc()};
  uint8_t* const data = core_.Lx(address, kNumberBytes);
  Sync();
  AdvanceTo(core_.lx_port().Burst(NowPs(), kNumberBytes));
  if (job_->functional == nullptr) {  // no data: spread over all that it may be
    const uint64_t mixed = (address * 0x9E3779B97F4A7C15u) >> 32;
    return static_cast<int64_t>((mixed * bound) >> 32);
  }
  uint32_t number = 0;
  uint32_t* const result = &number;
  const LxRanges ranges = {{data, kNumberBytes}};
  job_->functional->Push(ranges, [data, result] { std::memcpy(result, data, kNumberBytes); });
  job_->functional->Join();
  if (number >= bound) throw UnitFault{Status::INDEX_RANGE, reg(in, 2) << 32 | number};
  return number;
}

void CoreUnit::Finish(const Instruction& in, uint64_t finish_ps, const PathTime& path) {
  if (finish_ps >= finished_ps_) {
    finished_ps_ = finish_ps;
    if (follows_paths()) finished_path_ = path;
  }
  GiveSignal(in, finished_ps_, finished_path_);
}

uint64_t CoreUnit::Count(const Instruction& in, int operand, uint64_t limit) const {
  const uint64_t value = reg(in, operand);
  if (value > limit) throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc()};
  return value;
}

void CoreUnit::AdvanceTo(uint64_t time_ps) {
  const uint64_t now = NowPs();
  ahead_ps_ = std::max(now + ahead_ps_, time_ps) - now;
}

void CoreUnit::Advance(uint64_t cycles) {
  const uint64_t now = NowPs();
  edge_.MoveBehind(now + ahead_ps_, cycles);
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

// A token that no other unit takes may be taken before its time: the kernel catches up, as far as
// anybody can see it, when the unit does something that others see.
void CoreUnit::TakeToken(unsigned token) {
  Spend(Cause::kSequencer);
  CheckAborted();
  if ((job_->shared_tokens >> token & 1) != 0 || ahead_ps_ > quantum_ps_) Sync();
  waiting_token_ = token;
  const uint64_t start = local_ps();
  while (!core_.TryTakeToken(token)) {
    WaitWhileAhead(core_.ExpectToken(token));
    CheckFailed();
  }
  waiting_token_ = 0;
  owed_ps_ = local_ps();
  if (follows_paths() && NowPs() > start) {
    path_ = core_.token_path(token);
    Spend(Cause::kTokens);
  }
  AccountWait(Loss::kTokenWait, start, NowPs(), core_.token_giver(token));
}

void CoreUnit::PayOwed() {
  const uint64_t now = NowPs();
  if (owed_ps_ <= now) return;
  const uint64_t local = now + ahead_ps_;
  wait(Ps(owed_ps_ - now));
  ahead_ps_ = local - NowPs();
  CheckAborted();
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

void CoreUnit::GiveSignal(const Instruction& in, uint64_t finish_ps, const PathTime& path) {
  if (in.signal == 0) return;
  core_.GiveTokenAt(After(finish_ps, config_.core.token_cycles), in.signal, track_,
                    follows_paths() ? &path : nullptr);
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
