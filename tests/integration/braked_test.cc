// SPDX-License-Identifier: Apache-2.0
// Cores at a part of their clock: what they compute takes longer in proportion, and what they wait
// for does not.
#include <gtest/gtest.h>

#include <string>

#include "model/common/fault_spec.h"
#include "model/contract/program.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::braked_test {
namespace {

// Cores that a power brake slows to 40 % of their clock, after the first launches.
class Braked : public CardFixture {
 protected:
  // How much longer a program takes that repeats one instruction, when the cores are slow.
  double Stretch(const std::string& unit, const std::string& instruction) {
    model::FaultSpec brake;
    brake.kind = model::FaultKind::kPowerBrake;
    brake.when.time_ps = kBrakePs;
    brake.lasts_ps = 1'000'000'000'000;
    brake.percent = 40;
    config_.faults.push_back(brake);
    config_.cores = 1;
    Open();
    Program program = Assemble(".program braked\n.cores 0x1\n.lx 2031616\n.table 1\n.section " +
                               unit + R"( 0x1
  tab r1, 0
  li r0, 0
  li r2, 128
  li r3, 512
  li r4, 64
  li r5, 0x80000
  li r6, 16384
  li r7, 65536
  li r8, 32768
  li r9, 0x40000
  li r12, 1
  li r11, 200
  loop r10, r11
    )" + instruction + "\n  end\n");
    program.address_table = {flex::ToDeviceVirtual(context_->Allocate(1 << 20))};
    const flex::DeviceHandle loaded = Load(program);
    flex::CompletedOperation launch;
    const auto time = [&] {
      context_->DefaultStream().Launch(loaded);
      context_->DefaultStream().Synchronize();
      launch = context_->CompletedOperations().back();
      EXPECT_EQ(launch.status, Status::OK);
      return static_cast<double>(launch.finished_ps - launch.started_ps);
    };
    const double fast_ps = time();
    EXPECT_LT(launch.finished_ps, kBrakePs) << "the program is too long for this test";
    while (launch.finished_ps < kBrakePs) time();
    return time() / fast_ps;
  }
  static constexpr uint64_t kBrakePs = 10'000'000'000;
};

TEST_F(Braked, ThePtArrayTakesTwoAndAHalfTimesAsLong) {
  const double stretch = Stretch("pt", "matmul r0, r9, r5, r2, r4, r3, r6, r7, r8, r0");
  EXPECT_GT(stretch, 2.45);
  EXPECT_LE(stretch, 2.5);
}

TEST_F(Braked, TheVectorUnitTakesTwoAndAHalfTimesAsLong) {
  const double stretch = Stretch("vector", "vunary.neg r0, r9, r0, r3, r12, r0, r0, r0, r2, r2");
  EXPECT_GT(stretch, 2.4);
  EXPECT_LE(stretch, 2.5);
}

TEST_F(Braked, ALoadThatWaitsForMemoryTakesHardlyLonger) {
  const double stretch = Stretch("load", "load r0, r1, r6, r4, r0, r6, r12, r0, r0, r0");
  EXPECT_GE(stretch, 1);
  EXPECT_LT(stretch, 1.2);
}

}  // namespace
}  // namespace spyre::test::braked_test
