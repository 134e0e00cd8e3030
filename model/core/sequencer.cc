// SPDX-License-Identifier: Apache-2.0
#include "model/core/sequencer.h"

#include <algorithm>

namespace spyre::model {

namespace {
int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }
}  // namespace

void Sequencer::Start(const Program& program, const Section& section, unsigned core) {
  program_ = &program;
  section_ = &section;
  core_ = core;
  pc_ = 0;
  depth_ = 0;
  regs_.fill(0);
}

void Sequencer::Execute() {
  const Instruction& in = section_->code[pc_];
  int64_t& result = regs_[in.reg[0]];
  switch (in.op) {
    case Op::kNop:
      return;
    case Op::kLoop:
      BeginLoop(in);
      return;
    case Op::kEnd:
      EndLoop();
      return;
    case Op::kLi:
      result = in.imm;
      break;
    case Op::kTab:
      if (static_cast<uint64_t>(in.imm) >= program_->address_table.size())
        throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc_};
      result = Wrapped(program_->address_table[in.imm]);
      break;
    case Op::kCreg: {
      const auto& rows = program_->core_registers;
      result = rows.empty() ? 0 : rows[core_][in.imm];
      break;
    }
    case Op::kMadd:
      result = Wrapped(reg(in, 1) + reg(in, 2) * static_cast<uint64_t>(in.imm));
      break;
    case Op::kMul:
      result = Wrapped(reg(in, 1) * reg(in, 2) + static_cast<uint64_t>(in.imm));
      break;
    case Op::kMin:
      result = std::min(regs_[in.reg[1]], regs_[in.reg[2]]);
      break;
    default:
      throw UnitFault{Status::ILLEGAL_INSTRUCTION, pc_};
  }
  regs_[0] = 0;  // whatever was written to it
}

uint64_t Sequencer::ExecutePlain(uint64_t most) {
  const std::vector<Instruction>& code = section_->code;
  uint64_t executed = 0;
  for (; executed < most && pc_ < code.size(); ++executed, ++pc_) {
    const Instruction& in = code[pc_];
    if (!IsScalar(in.op) || in.op == Op::kLdx || in.wait != 0 || in.signal != 0) break;
    Execute();
  }
  return executed;
}

void Sequencer::BeginLoop(const Instruction& in) {
  const int64_t count = regs_[in.reg[1]];
  if (count > 0) {
    loops_[depth_++] = {pc_, in.reg[0], count};
    if (in.reg[0] != 0) regs_[in.reg[0]] = 0;
    return;
  }
  // Skip to the matching END; Decode has checked that there is one.
  for (int nested = 1; nested > 0;) {
    ++pc_;
    if (section_->code[pc_].op == Op::kLoop) ++nested;
    if (section_->code[pc_].op == Op::kEnd) --nested;
  }
}

// Trip counting is the sequencer's own; a loop over r0 counts as well.
void Sequencer::EndLoop() {
  Loop& loop = loops_[depth_ - 1];
  if (--loop.count > 0) {
    // The body may have written the counter: it wraps, as all arithmetic of the sequencer.
    int64_t& counter = regs_[loop.counter];
    if (loop.counter != 0) counter = Wrapped(static_cast<uint64_t>(counter) + 1);
    pc_ = loop.body;
  } else {
    --depth_;
  }
}

}  // namespace spyre::model
