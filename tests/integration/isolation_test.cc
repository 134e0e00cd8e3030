// SPDX-License-Identifier: Apache-2.0
// What one user of a virtual function leaves on the card, and the next one must not find.
#include <gmock/gmock.h>

#include <functional>
#include <tuple>

#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test {
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
              Manager().EnableVirtualFunctions(2);
            }),
            nothing_);
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

}  // namespace
}  // namespace spyre::test
