// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/correction.h"

#include <gtest/gtest.h>

#include "model/contract/memory_map.h"
#include "model/contract/program_check.h"

namespace spyre::compiler::correction_test {
namespace {

TEST(CorrectionProgram, HasANameThatAProgramMayHaveWhateverTheKernelIsCalled) {
  for (size_t length = 1; length < 3 * kMaxProgramName; ++length) {
    const Program program = CorrectionProgram(std::string(length, 'k'), 1, kProgramBase + 4096,
                                              {kProgramBase + kStickBytes});
    EXPECT_NO_THROW(Encode(program)) << "a kernel's name of " << length << " characters";
  }
}

}  // namespace
}  // namespace spyre::compiler::correction_test
