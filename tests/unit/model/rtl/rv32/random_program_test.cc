// SPDX-License-Identifier: Apache-2.0
// The RV32IM core beside the reference interpreter, instruction by instruction, on random programs.
#include "tests/unit/model/rtl/rv32/random_program.h"

#include <contract/registers.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/rtl/rtl_blocks.h"
#include "tests/unit/model/rtl/rv32/reference_rv32.h"

namespace spyre::model::rv32::random_program_test {
namespace {

constexpr uint32_t kBase = kControllerSramBase, kData = kBase + 0x20000;
constexpr int kSteps = 3000;

class NothingThere : public ControllerBus {
 public:
  bool Maps(uint32_t /*address*/) const override { return false; }
  uint32_t Read(uint32_t /*address*/) override { return 0; }
  void Write(uint32_t /*address*/, uint32_t /*value*/) override {}
};

class RandomProgramTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  RandomProgramTest() {
    const std::vector<uint32_t> words =
        RandomProgram(GetParam()).Make(kBase, kData, kControllerClintBase, 1500);
    ElfImage image;
    image.entry = kBase;
    image.segments.push_back({kBase, std::vector<uint8_t>(4 * words.size()), 0});
    std::memcpy(image.segments[0].data.data(), words.data(), 4 * words.size());
    std::memcpy(reference_.memory.data(), words.data(), 4 * words.size());
    rtl_.Load(image);
  }
  void SetExternal(bool level) {
    rtl_.SetExternalInterrupt(level);
    reference_.external = level;
  }
  void SetPc(uint32_t pc) {
    rtl_.SetPc(pc);
    reference_.SetPc(pc);
  }
  // Both sleep or both go on.
  bool StepBoth() {
    const uint32_t from = reference_.pc;
    const bool steps = reference_.Step();
    EXPECT_EQ(rtl_.Step(), steps) << "at " << std::hex << from;
    if (reference_.clock_register != 0)
      reference_.x[reference_.clock_register] = rtl_.Register(reference_.clock_register);
    return steps;
  }
  std::string Difference() const {
    std::string text;
    const auto compare = [&](const std::string& what, uint32_t rtl, uint32_t reference) {
      if (rtl != reference)
        text += fmt::format("{}: RTL {:08x}, reference {:08x}\n", what, rtl, reference);
    };
    compare("pc", rtl_.pc(), reference_.pc);
    for (unsigned i = 0; i < 32; ++i)
      compare(fmt::format("x{}", i), rtl_.Register(i), reference_.x[i]);
    for (const uint32_t csr :
         {kMstatus, kMie, kMtvec, kMscratch, kMepc, kMcause, kMtval, kMinstret, kMinstreth}) {
      uint32_t value = 0;
      EXPECT_TRUE(rtl_.Csr(csr, &value));
      compare(fmt::format("CSR {:x}", csr), value, *reference_.ReadCsr(csr));
    }
    return text;
  }
  std::string Instruction(uint32_t pc) const {
    uint32_t word = 0;
    return rtl_.ReadMemory(pc, &word, 4) ? fmt::format("{:08x}", word) : "outside";
  }

  NothingThere bus_;
  const std::unique_ptr<RtlController> block_ = MakeRtlController(bus_, {GetParam()});
  RtlController& rtl_ = *block_;
  Reference reference_{kBase, kControllerSramBytes, kControllerClintBase};
};

TEST_P(RandomProgramTest, AgreesWithTheReferenceAfterEveryInstruction) {
  std::mt19937 random(GetParam() + 1000);
  for (int step = 0; step < kSteps; ++step) {
    if (random() % 64 == 0) SetExternal(random() % 2 == 0);
    const uint32_t pc = reference_.pc;
    const std::string instruction = Instruction(pc);
    if (!StepBoth()) {
      // A program that sleeps with every interrupt masked is woken by the debugger.
      SetExternal(true);
      if (rtl_.asleep()) SetPc(reference_.pc);
      continue;
    }
    // A wild jump would only fault for ever.
    if (reference_.mcause == 1 && reference_.pc == reference_.mtvec)
      SetPc(kBase + RandomProgram::kBody);
    const std::string difference = Difference();
    ASSERT_EQ(difference, "") << "after step " << step << ", pc 0x" << std::hex << pc
                              << ", instruction " << instruction;
  }
  std::vector<uint8_t> sram(kControllerSramBytes);
  ASSERT_TRUE(rtl_.ReadMemory(kBase, sram.data(), sram.size()));
  EXPECT_TRUE(sram == reference_.memory);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProgramTest, ::testing::Range(0u, 40u));

}  // namespace
}  // namespace spyre::model::rv32::random_program_test
