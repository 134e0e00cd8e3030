// SPDX-License-Identifier: Apache-2.0
// The interpreter's barriers: cores meet at each, in whatever order units run.
#include "tests/unit/runtime/compiler/program_interpreter.h"

#include <gtest/gtest.h>

namespace spyre::compiler::harness::program_interpreter_test {
namespace {

// Core 1 sends to core 0 between two barriers; core 0 reads it behind the second. At the first
// barrier core 1 may stay while core 0 is at the second already.
TEST(ProgramInterpreter, ACoreThatIsStillAtTheBarrierBeforeIsNotAtThisOne) {
  const Program program = Assemble(R"(
.program barriers
.cores 0x3
.lx 512
.section vector 0x2
  li r1, 0
  li r2, 0
  li r3, 128
  li r4, 1
  vfill r1, r2, r3, r4, r0 signal=t1
.section ring 0x1
  li r1, 3
  li r2, 1
  barrier r1, r2
  barrier r1, r2
  li r3, 256
  li r4, 128
  send r0, r3, r4, r4, r0
.section ring 0x2
  li r1, 3
  li r2, 1
  barrier r1, r2
  li r3, 128
  send r0, r3, r0, r3, r0 wait=t1
  barrier r1, r2
)");
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Memory memory;
    EXPECT_NO_THROW(Interpreter(program, memory, seed).Run()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace spyre::compiler::harness::program_interpreter_test
