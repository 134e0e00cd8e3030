// SPDX-License-Identifier: Apache-2.0
// What TakesOperands says of an instruction is what the unit does with it: random operands of every
// tensor instruction, most of them near a limit.
#include "model/core/operand_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "model/contract/op_table.h"
#include "tests/unit/model/core/core_bench.h"

namespace spyre::model::operand_check_test {
namespace {

constexpr int kPrograms = 400;         // of each instruction
constexpr uint64_t kMapped = 1 << 30;  // of the bench's memory

class OperandCheck : public ::testing::TestWithParam<Op> {
 protected:
  uint64_t OneOf(std::initializer_list<uint64_t> values) {
    return values.begin()[random_() % values.size()];
  }
  // By the operand's name in the table.
  uint64_t Value(std::string_view name) {
    const bool rarely = random_() % 12 == 0;
    if (name == "mask") return rarely ? 2 : 1;
    if (name == "group") return rarely ? 2 : OneOf({0, 1, 33});
    if (name == "core") return rarely ? 1 : 0;
    if (name == "token") return OneOf({0, 1, 63, 64});
    if (name == "bytes") return 0;  // the bench has no ring for messages
    if (name == "dev") return rarely ? 64 : OneOf({0, 128, 1 << 20});
    if (name == "m" || name == "n" || name == "k" || name == "rows" || name == "planes" ||
        name == "count" || name == "records" || name == "blocks") {
      return rarely ? OneOf({3000, 5000, 1 << 20, (1 << 20) + 1, uint64_t{1} << 40})
                    : OneOf({0, 1, 2, 3, 64, 128});
    }
    if (name.find("stride") != std::string_view::npos || name.find("_") != std::string_view::npos ||
        name == "pair") {
      return rarely ? OneOf({2, 130, kLxBytes, kLxBytes + 1, uint64_t{1} << 40})
                    : OneOf({0, 128, 256, 512, 4096, 16384, 32768});
    }
    if (name == "divisor" || name == "cols" || name == "scale" || name == "shift")
      return rarely ? uint64_t{1} << 33 : OneOf({0, 1, 64});
    if (name == "accumulate" || name == "value" || name == "iteration" || name == "id")
      return OneOf({0, 1});
    return rarely ? OneOf({2, 4, kLxUsableBytes - 128, kLxUsableBytes, uint64_t{1} << 40,
                           ~uint64_t{0} - 127})
                  : OneOf({0, 128, 4096, 1 << 20});
  }

  std::mt19937 random_{7};
};

TEST_P(OperandCheck, SaysWhatTheUnitSays) {
  const OpInfo& info = *FindOp(static_cast<uint8_t>(GetParam()));
  const size_t functions = std::max<size_t>(1, FnNames(info.fn_set).size());
  CoreBench bench;
  int taken = 0;
  for (int i = 0; i < kPrograms; ++i) {
    Section section{info.unit, 1, {}};
    Instruction in;
    in.op = info.op;
    if (info.fn_set != FnSet::kRound) in.fn = static_cast<uint8_t>(random_() % functions);
    std::string operands;
    for (size_t k = 0; k < info.operands.size(); ++k) {
      if (info.operands[k] == "-") continue;
      const auto reg = static_cast<uint8_t>(1 + k);
      const uint64_t value = Value(info.operands[k]);
      operands += fmt::format(" {}={}", info.operands[k], value);
      in.reg[k] = reg;
      section.code.push_back({Op::kLi, 0, 0, 0, {reg}, static_cast<int64_t>(value)});
    }
    section.code.push_back(in);
    Program program;
    program.core_mask = 1;
    program.sections = {section};
    Sequencer sequencer;
    sequencer.Start(program, program.sections[0], 0);
    while (Sequencer::IsScalar(sequencer.Current()->op)) {
      sequencer.Execute();
      sequencer.Next();
    }
    DeviceBox box;
    bool takes = TakesOperands(sequencer, in, 0, 1, {}, box);
    takes = takes && box.address + box.extent_bytes <= kMapped;
    const Status status = bench.Run(program);
    EXPECT_EQ(takes, status == Status::OK)
        << info.mnemonic << operands << ": " << StatusName(status);
    taken += takes ? 1 : 0;
  }
  if (info.op == Op::kMark) return;
  EXPECT_GT(taken, kPrograms / 20);
  EXPECT_LT(taken, kPrograms) << "nothing was refused";
}

std::vector<Op> TensorInstructions() {
  std::vector<Op> ops;
  for (const OpInfo& info : OpTable()) {
    if (!info.scalar) ops.push_back(info.op);
  }
  return ops;
}
INSTANTIATE_TEST_SUITE_P(Instructions, OperandCheck, ::testing::ValuesIn(TensorInstructions()),
                         [](const auto& test) {
                           return std::string(FindOp(static_cast<uint8_t>(test.param))->mnemonic);
                         });

}  // namespace
}  // namespace spyre::model::operand_check_test
