// SPDX-License-Identifier: Apache-2.0
// What the sequencer of a unit does besides tensor instructions: registers, loops, the address
// table. It knows no time. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/contract/control_block.h"
#include "model/contract/program.h"

namespace spyre::model {

// The instruction cannot be executed. Inside a unit's process it becomes the job's outcome.
struct UnitFault {
  Status status;
  uint64_t address;
};

class Sequencer {
 public:
  // Program and section must outlive the run.
  void Start(const Program& program, const Section& section, unsigned core);
  // The instruction at hand; null behind the last one.
  const Instruction* Current() const {
    return pc_ < section_->code.size() ? &section_->code[pc_] : nullptr;
  }
  void Next() { ++pc_; }
  // Undoes a Next, for who then leaves the instruction at hand to somebody else's.
  void Back() { --pc_; }
  // Executes the one at hand, which every unit has (IsScalar). Throws UnitFault.
  void Execute();
  // Executes the one at hand and those behind it as long as they are scalar, neither wait nor
  // signal, and look at nothing but registers; at most `most`. Returns how many.
  uint64_t ExecutePlain(uint64_t most);
  // What the unit has found for the LDX at hand, which Execute does not know.
  void SetResult(const Instruction& in, int64_t value) {
    if (in.reg[0] != 0) regs_[in.reg[0]] = value;
  }

  static bool IsScalar(Op op) { return static_cast<uint8_t>(op) < static_cast<uint8_t>(Op::kLoad); }
  size_t pc() const { return pc_; }
  // Operand number `operand` of a tensor instruction.
  uint64_t reg(const Instruction& in, int operand) const {
    return static_cast<uint64_t>(regs_[in.reg[operand]]);
  }

 private:
  struct Loop {
    size_t body;
    uint8_t counter;
    int64_t count;
  };

  void BeginLoop(const Instruction& in);
  void EndLoop();

  const Program* program_ = nullptr;
  const Section* section_ = nullptr;
  unsigned core_ = 0;
  int depth_ = 0;
  size_t pc_ = 0;
  std::array<int64_t, kRegisters> regs_{};
  std::array<Loop, kMaxLoopDepth> loops_{};
};

}  // namespace spyre::model
