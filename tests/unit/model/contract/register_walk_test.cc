// SPDX-License-Identifier: Apache-2.0
// Every register of the contract, one test each: its reset value and its access kind.
#include <contract/register_files.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace spyre::regs {
// GoogleTest prints parameters with this.
void PrintTo(const RegisterInfo& info, std::ostream* out) {
  *out << info.block << '.' << info.name;
}
}  // namespace spyre::regs

namespace spyre::model::register_walk_test {
namespace {

using regs::Access;
using regs::RegisterInfo;

class RegisterWalk : public testing::TestWithParam<RegisterInfo> {
 protected:
  RegisterWalk() : registers_(true) {}
  uint32_t Read() { return registers_.Read(GetParam().offset); }
  void Write(uint32_t value) { registers_.Write(GetParam().offset, value); }
  void Poke(uint32_t value) { registers_.At(GetParam().offset).Set(value); }
  uint32_t Mask() const { return GetParam().mask; }

  Bar0Registers registers_;
};

TEST_P(RegisterWalk, ResetsToTheValueOfTheContract) {
  const uint32_t expected = GetParam().access == Access::kWriteOnly ? 0 : GetParam().reset;
  EXPECT_EQ(Read(), expected);
  Poke(~GetParam().reset);
  registers_.Reset();
  EXPECT_EQ(Read(), expected) << "after Reset()";
}

TEST_P(RegisterWalk, BehavesAsItsAccessKindSays) {
  switch (GetParam().access) {
    case Access::kReadOnly:
      Write(~GetParam().reset);
      EXPECT_EQ(Read(), GetParam().reset) << "a write must not change it";
      break;
    case Access::kReadWrite:
      for (int bit = 0; bit < 32; ++bit) {
        Write(1u << bit);
        EXPECT_EQ(Read(), (1u << bit) & Mask()) << "bit " << bit;
      }
      break;
    case Access::kWriteOneToClear:
      Poke(0xFFFFFFFF);
      Write(0x55555555);
      EXPECT_EQ(Read(), Mask() & 0xAAAAAAAA);
      Write(0xFFFFFFFF);
      EXPECT_EQ(Read(), 0u);
      break;
    case Access::kWriteOnly:
      Write(0xFFFFFFFF);
      EXPECT_EQ(Read(), 0u);
      break;
    case Access::kReadToClear:
      Poke(0xFFFFFFFF);
      EXPECT_EQ(Read(), Mask());
      EXPECT_EQ(Read(), 0u) << "the first read clears it";
      Write(0xFFFFFFFF);
      EXPECT_EQ(Read(), 0u) << "a write must not change it";
      break;
  }
}

TEST_P(RegisterWalk, IsSeenByAVirtualFunctionIfItsScopeIsAll) {
  const Bar0Registers virtual_function(false);
  EXPECT_EQ(virtual_function.Find(GetParam().offset) != nullptr, !GetParam().pf_only);
}

std::string RegisterName(const testing::TestParamInfo<RegisterInfo>& param) {
  return param.param.name;
}

INSTANTIATE_TEST_SUITE_P(Contract, RegisterWalk, testing::ValuesIn(regs::kRegisters), RegisterName);

}  // namespace
}  // namespace spyre::model::register_walk_test
