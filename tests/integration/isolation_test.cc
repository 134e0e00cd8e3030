// SPDX-License-Identifier: Apache-2.0
// What one user of a virtual function leaves on the card, and the next one must not find.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "driver/host_buffer.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::isolation_test {
namespace {

// Both use LX of core 1 at address 0; the second one loads nothing there before it stores.
constexpr const char* kLeave = R"(
.program leave
.cores 0x2
.lx 128
.table 1
.section load 0x2
  tab r1, 0
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0
)";
constexpr const char* kLook = R"(
.program look
.cores 0x2
.lx 128
.table 1
.section store 0x2
  tab r1, 0
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0
)";

class Isolation : public CardFixture,
                  public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  Isolation() {
    config_.num_vfs = 2;
    config_.control.fidelity = Named(std::get<0>(GetParam()));
    config_.concurrency = Named(std::get<1>(GetParam()));
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    Give(0);
  }
  driver::PhysicalFunction Manager() { return driver::PhysicalFunction(*admin_); }
  // VF 1 is there, with memory from there on.
  void Give(uint64_t first) {
    Manager().EnableVirtualFunctions(2);
    for (int region = 0; region < kRegions; ++region)
      Manager().AssignRegion(1, region, (first + static_cast<uint64_t>(region)) << 30, 1 << 30);
  }
  // As one user of VF 1, whose runtime closes at the end.
  std::vector<uint32_t> Use(const char* program, const std::vector<uint32_t>& data) {
    context_ = std::make_unique<flex::RuntimeContext>(*transport_, 1);
    const flex::DeviceHandle tensor = Upload(data);
    Run(program, {tensor});
    std::vector<uint32_t> seen = Download<uint32_t>(tensor, data.size());
    context_.reset();
    return seen;
  }
  // What the second user finds in LX, if `between` happens between the two.
  std::vector<uint32_t> Found(const std::function<void()>& between) {
    Use(kLeave, std::vector<uint32_t>(32, 0x5EC2E7));
    between();
    return Use(kLook, std::vector<uint32_t>(32, 0xFFFFFFFF));
  }
  // The same on core 0 for the prepare engine, where the card has one.
  std::vector<uint32_t> UsePrepared(std::string program, const std::vector<uint32_t>& data) {
    for (size_t at = 0; (at = program.find("0x2", at)) != std::string::npos;)
      program.replace(at, 3, "0x1");
    context_ = std::make_unique<flex::RuntimeContext>(*transport_, 1);
    const flex::DeviceHandle tensor = Upload(data);
    Program assembled = Assemble(program);
    assembled.address_table = {flex::ToDeviceVirtual(tensor)};
    flex::OperationInfo info;
    info.prepare = true;
    context_->DefaultStream().Launch(Load(assembled), info);
    std::vector<uint32_t> seen = Download<uint32_t>(tensor, data.size());
    context_.reset();
    return seen;
  }
  const std::vector<uint32_t> nothing_ = std::vector<uint32_t>(32, 0);
};

// One user's launches find what earlier ones left: LX is memory that outlives a launch.
TEST_P(Isolation, TheSameUserFindsItsOwn) {
  EXPECT_EQ(Found([] {}), std::vector<uint32_t>(32, 0x5EC2E7));
}

TEST_P(Isolation, AResetOfTheFunctionIsAChangeOfUser) {
  EXPECT_EQ(Found([&] {
              transport_->Reset(1);
              transport_->Advance(100'000'000'000);
            }),
            nothing_);
}

TEST_P(Isolation, RegionsThatAreTakenAwayAreAChangeOfUser) {
  EXPECT_EQ(Found([&] {
              for (int region = 0; region < kRegions; ++region) Manager().ReleaseRegion(1, region);
              for (int region = 0; region < kRegions; ++region)
                Manager().AssignRegion(1, region, (16 + static_cast<uint64_t>(region)) << 30,
                                       1 << 30);
            }),
            nothing_);
}

TEST_P(Isolation, VirtualFunctionsOffAndOnAreAChangeOfUser) {
  EXPECT_EQ(Found([&] {
              Manager().EnableVirtualFunctions(0);
              Manager().EnableVirtualFunctions(2);
            }),
            nothing_);
}

TEST_P(Isolation, AResetOfThePhysicalFunctionIsAChangeOfUser) {
  EXPECT_EQ(Found([&] {
              admin_->Reset();
              Give(16);
            }),
            nothing_);
}

TEST_P(Isolation, TheServiceCoreForgetsToo) {
  const std::vector<uint32_t> blank(32, 0xFFFFFFFF);
  UsePrepared(kLeave, std::vector<uint32_t>(32, 0x5EC2E7));
  EXPECT_EQ(UsePrepared(kLook, blank), std::vector<uint32_t>(32, 0x5EC2E7)) << "the same user";
  transport_->Reset(1);
  transport_->Advance(100'000'000'000);
  EXPECT_EQ(UsePrepared(kLook, blank), nothing_);
}

// What a user is given in addition costs nothing of what it has.
TEST_P(Isolation, ARegionMoreIsNoChangeOfUser) {
  Manager().ReleaseRegion(1, 6);
  EXPECT_EQ(Found([&] { Manager().AssignRegion(1, 6, 40ull << 30, 1 << 30); }),
            std::vector<uint32_t>(32, 0x5EC2E7));
}

INSTANTIATE_TEST_SUITE_P(Card, Isolation,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("serial", "pipelined")));

// Memory that one virtual function had, and another gets; on both management controllers.
class Scrubbing : public CardFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr uint64_t kGiB = 1ull << 30;

  Scrubbing() {
    config_.num_vfs = 2;
    config_.management.fidelity = Named(GetParam());
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    Manager().EnableVirtualFunctions(2);
  }
  driver::PhysicalFunction Manager() { return driver::PhysicalFunction(*admin_); }
  double MsOf(const std::function<void()>& action) {
    const uint64_t begin = transport_->NowPs();
    action();
    return static_cast<double>(transport_->NowPs() - begin) / 1e9;
  }
  // Fills the last and the first KiB of region 0 of VF 1, which is [1 GiB, 2 GiB).
  void LeaveSecret() {
    Manager().AssignRegion(1, 0, kGiB, kGiB);
    driver::Device vf(*transport_, 1);
    for (const uint64_t offset : {uint64_t{0}, kGiB - 1024}) Do(vf, Opcode::DMA_IN, offset, 0x5E);
  }
  // The bytes of a KiB of region 0, if they are alike.
  int Look(driver::FunctionId function, uint64_t offset) {
    driver::Device vf(*transport_, function);
    return Do(vf, Opcode::DMA_OUT, offset, 0xEE);
  }
  int Do(driver::Device& vf, Opcode opcode, uint64_t offset, uint8_t fill) {
    driver::HostBuffer buffer(*transport_, vf.function(), 1024);
    std::fill(buffer.data(), buffer.data() + 1024, fill);
    Message message;
    message.opcode = static_cast<uint8_t>(opcode);
    message.host_address = buffer.io_address();
    message.device_offset = offset;
    message.size_bytes = 1024;
    driver::Entry entry = message;
    vf.queue().Submit(entry);
    EXPECT_EQ(vf.queue().Wait().status, 0u);
    const bool alike = std::all_of(buffer.data(), buffer.data() + 1024,
                                   [&](uint8_t b) { return b == *buffer.data(); });
    return alike ? *buffer.data() : -1;
  }
};

TEST_P(Scrubbing, MemoryThatNobodyHadIsGivenAtOnce) {
  EXPECT_LT(MsOf([&] { Manager().AssignRegion(1, 0, 0, 8 * kGiB); }), 0.1);
  EXPECT_EQ(Look(1, 4096), 0);
}

TEST_P(Scrubbing, MemoryThatSomebodyHadIsClearedFirst) {
  LeaveSecret();
  EXPECT_EQ(Look(1, 0), 0x5E);
  Manager().ReleaseRegion(1, 0);
  // 102,400 bytes a microsecond.
  EXPECT_NEAR(MsOf([&] { Manager().AssignRegion(2, 0, kGiB, kGiB); }), kGiB / 102400.0 / 1000,
              0.05);
  EXPECT_EQ(Look(2, 0), 0);
  EXPECT_EQ(Look(2, kGiB - 1024), 0);
}

TEST_P(Scrubbing, OnlyWhatWasGivenTakesTime) {
  LeaveSecret();
  Manager().ReleaseRegion(1, 0);
  EXPECT_NEAR(MsOf([&] { Manager().AssignRegion(2, 0, 0, 4 * kGiB); }), kGiB / 102400.0 / 1000,
              0.05);
  EXPECT_EQ(Look(2, kGiB), 0);
  EXPECT_EQ(Look(2, 2 * kGiB - 1024), 0);
}

TEST_P(Scrubbing, StepByStepAndByGrowthToo) {
  LeaveSecret();
  Manager().ReleaseRegion(1, 0);
  Manager().CreateRegion(2, 0, kGiB / 2);
  Manager().MapRegion(2, 0, kGiB);
  EXPECT_NEAR(MsOf([&] { Manager().ActivateRegion(2, 0); }), kGiB / 204800.0 / 1000, 0.05);
  EXPECT_EQ(Look(2, 0), 0);
  EXPECT_NEAR(MsOf([&] { Manager().ResizeRegion(2, 0, kGiB); }), kGiB / 204800.0 / 1000, 0.05);
  EXPECT_EQ(Look(2, kGiB - 1024), 0);
}

// What the operator has computed itself.
TEST_P(Scrubbing, MemoryThatThePhysicalFunctionMappedIsClearedFirst) {
  Manager().MapRange(3 * kGiB, 1 << 20, kPermissionRead | kPermissionWrite);
  ControlBlock fill;
  fill.opcode = static_cast<uint8_t>(Opcode::DMA_FILL);
  fill.device_address = 3 * kGiB;
  fill.size_bytes = 1 << 20;
  fill.value = 0x5E5E5E5E5E5E5E5E;
  driver::Entry entry = fill;
  admin_->queue().Submit(entry);
  EXPECT_EQ(admin_->queue().Wait().status, 0u);
  Manager().UnmapAll();
  Manager().AssignRegion(1, 0, 3 * kGiB, 1 << 20);
  EXPECT_EQ(Look(1, 0), 0);
  EXPECT_EQ(Look(1, (1 << 20) - 1024), 0);
}

TEST_P(Scrubbing, AResetOfThePhysicalFunctionLeavesNobodyAnything) {
  LeaveSecret();
  Manager().SetRegionQuota(2, kGiB);
  Manager().SetEnabled(1, false);
  Manager().SetCores(1, 1);
  admin_->Reset();
  Manager().EnableVirtualFunctions(2);
  {
    driver::Device vf(*transport_, 1);
    EXPECT_EQ(vf.identity().regions, 0);
  }
  Manager().AssignRegion(2, 0, kGiB, 4 * kGiB);
  EXPECT_EQ(Look(2, 0), 0);
  Manager().AssignRegion(1, 0, 8 * kGiB, kGiB);
  EXPECT_EQ(Look(1, 0), 0) << "it is not disabled any more";
}

INSTANTIATE_TEST_SUITE_P(Fidelity, Scrubbing, ::testing::Values("behavioural", "rtl"));

}  // namespace
}  // namespace spyre::test::isolation_test
