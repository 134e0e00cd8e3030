// SPDX-License-Identifier: Apache-2.0
// Random register, BAR and configuration accesses of both kinds of function.
#include "tests/fuzz/fuzz_fixture.h"

namespace spyre::fuzz::mmio_fuzz_test {
namespace {

class MmioFuzz : public Fuzz, public ::testing::WithParamInterface<uint32_t> {
 protected:
  // One random access; `wide` also to BAR2, BAR4 and configuration space.
  void Access(Chaos& chaos, driver::FunctionId function, bool wide) {
    const auto value = static_cast<uint32_t>(chaos.OneIn(3) ? chaos.Word() : chaos.Nasty());
    const int where = static_cast<int>(chaos.Below(wide ? 8 : 5));
    if (where == 7) {
      const auto offset = static_cast<uint32_t>(chaos.Below(chaos.OneIn(2) ? 64 : 1024) * 4);
      if (chaos.OneIn(2)) {
        card().ConfigWrite(function, offset, value);
      } else {
        card().ConfigRead(function, offset);
      }
      return;
    }
    const int bar = where == 5 ? 2 : where == 6 ? 4 : 0;
    uint64_t offset = chaos.Nasty();
    if (bar == 0 && !chaos.OneIn(8)) {
      offset = regs::kRegisters[chaos.Below(std::size(regs::kRegisters))].offset;
    }
    if (chaos.OneIn(2)) {
      card().Write32(function, bar, offset, value);
    } else {
      card().Read32(function, bar, offset);
    }
    if (chaos.OneIn(64)) card().Advance(chaos.Below(10'000'000));
  }
};
INSTANTIATE_TEST_SUITE_P(Seed, MmioFuzz, ::testing::Range(1u, 6u));

TEST_P(MmioFuzz, ARandomWalkOverAVirtualFunctionTouchesNobodyElse) {
  Chaos chaos(GetParam());
  Target other = Aim(2);
  GuardHost(2);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 200; ++i) Access(chaos, 1, true);
    ExpectNothingElseTouched(1);
    ExpectNopWorksAfterReset(other);
  }
  const uint32_t express =
      driver::FindCapability(card(), 1, driver::pci::kCapabilityPciExpress).value_or(0);
  card().ConfigWrite(1, 0x44, 0);  // power state D0
  card().ConfigWrite(1, express + driver::pci::kDeviceControl, driver::pci::kInitiateFlr);
  card().Advance(100 * bringup::kMillisecondPs);
  EnableBars(1);
  Target target = Aim(1);
  ExpectNopWorksAfterReset(target);
}

TEST_P(MmioFuzz, ARandomWalkOverTheRegistersOfThePhysicalFunctionIsSurvived) {
  Chaos chaos(GetParam() + 100);
  for (int i = 0; i < 5000; ++i) Access(chaos, 0, false);
  ClosePhysical();
  driver::Device device(card(), 0);
  driver::Entry nop = ControlBlock{};
  device.queue().Submit(nop);
  EXPECT_EQ(device.queue().Wait().status, static_cast<uint16_t>(Status::OK));
}

TEST_P(MmioFuzz, ARandomWalkOverEverythingOfThePhysicalFunctionEndsWithAReset) {
  Chaos chaos(GetParam() + 200);
  for (int i = 0; i < 5000; ++i)
    Access(chaos, static_cast<driver::FunctionId>(chaos.Below(4)), true);
  card().ConfigWrite(0, 0x44, 0);
  const uint32_t express =
      driver::FindCapability(card(), 0, driver::pci::kCapabilityPciExpress).value_or(0);
  ASSERT_NE(express, 0u) << "the capability list is as it was";
  card().ConfigWrite(0, express + driver::pci::kDeviceControl, driver::pci::kInitiateFlr);
  card().Advance(100 * bringup::kMillisecondPs);
  EXPECT_EQ(Config(1, 0), 0xFFFFFFFFu) << "a reset of the PF takes the VFs away";
  ClosePhysical();
  driver::Device device(card(), 0);
  driver::Entry nop = ControlBlock{};
  device.queue().Submit(nop);
  EXPECT_EQ(device.queue().Wait().status, static_cast<uint16_t>(Status::OK));
}

}  // namespace
}  // namespace spyre::fuzz::mmio_fuzz_test
