// SPDX-License-Identifier: Apache-2.0
#include "model/core/program_work.h"

#include "model/core/sequencer.h"

namespace spyre::model {
namespace {

// Adds what one execution of a tensor instruction does.
void Add(const Sequencer& sequencer, const Instruction& in, unsigned core, ProgramWork& work) {
  const auto operand = [&](int i) { return sequencer.reg(in, i); };
  if (in.op == Op::kMatmul) {
    work.macs += operand(3) * operand(4) * operand(5);
  } else if (in.op == Op::kStore) {
    work.bytes_written += operand(2) * operand(3) * operand(6);
  } else if (in.op == Op::kLoad) {
    const uint64_t below = (uint64_t{1} << core) - 1;
    const bool counts = (operand(9) & below) == 0;
    if (counts) work.bytes_read += operand(2) * operand(3) * operand(6);
  }
}

}  // namespace

std::optional<ProgramWork> CountWork(const Program& program, uint64_t max_instructions) {
  ProgramWork work;
  Sequencer sequencer;
  try {
    for (const Section& section : program.sections) {
      for (uint32_t left = section.core_mask & program.core_mask; left != 0; left &= left - 1) {
        const auto core = static_cast<unsigned>(__builtin_ctz(left));
        sequencer.Start(program, section, core);
        for (; const Instruction* in = sequencer.Current(); sequencer.Next()) {
          if (++work.instructions > max_instructions) return {};
          if (Sequencer::IsScalar(in->op)) {
            sequencer.Execute();
          } else {
            Add(sequencer, *in, core, work);
          }
        }
      }
    }
  } catch (const UnitFault&) {
    return {};
  }
  return work;
}

}  // namespace spyre::model
