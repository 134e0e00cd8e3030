// SPDX-License-Identifier: Apache-2.0
// Operations that run longer than their function may: they are stopped, and nobody else is
// disturbed.
#include <gmock/gmock.h>

#include <tuple>

#include "tests/card_choices.h"
#include "tests/integration/tenants.h"

namespace spyre::test::time_limit_test {
namespace {

using ::testing::HasSubstr;

// Waits on every core for tokens and at a barrier that never come.
constexpr const char* kEndless = R"(
.program endless
.cores 0x3
.section vector 0x3
  nop wait=t7
.section ring 0x1
  li r1, 3
  barrier r1, r0
)";
constexpr const char* kShort = R"(
.program short
.cores 0x1
.section vector 0x1
  nop
)";
// 27 us.
constexpr const char* kLonger = R"(
.program longer
.cores 0x1
.section vector 0x1
  li r1, 15000
  loop r2, r1
    nop
  end
)";

// card.control.fidelity, card.concurrency.
class TimeLimit : public Tenants,
                  public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  static constexpr uint32_t kLimitUs = 2000;
  static constexpr uint64_t kLimitPs = uint64_t{kLimitUs} * 1'000'000;

  TimeLimit() {
    config_.control.fidelity = Named(std::get<0>(GetParam()));
    config_.concurrency = Named(std::get<1>(GetParam()));
  }
  void Open() {
    OpenTenants(2);
    for (unsigned vf = 1; vf <= 2; ++vf) {
      LoadAs(vf, kEndless, 0);
      LoadAs(vf, kShort, kProgramBytes);
      LoadAs(vf, kLonger, 2 * kProgramBytes);
    }
  }
};

TEST_P(TimeLimit, AProgramThatNeverEndsIsStoppedAndOtherFunctionsGoOn) {
  Open();
  Manager().SetTimeLimit(1, kLimitUs);
  const uint64_t endless = PutLaunch(1, 0, 5);
  const uint64_t behind = PutLaunch(1, kProgramBytes, 5);
  const uint64_t beside = PutLaunch(1, kProgramBytes, 6);
  Ring(1);
  Work(20'000'000);
  const uint64_t program = PutLaunch(2, kProgramBytes);
  const uint64_t copy = PutCopy(2, Opcode::DMA_OUT, 0, 128, 1);
  Ring(2);
  Work(kLimitPs + 100'000'000);
  EXPECT_EQ(StatusOf(1, endless), Status::TIMED_OUT);
  EXPECT_GE(TimeOf(Got(1, endless)), kLimitPs);
  EXPECT_LE(TimeOf(Got(1, endless)), kLimitPs + 10'000);  // clocks of the RTL
  EXPECT_EQ(StatusOf(1, behind), Status::ABORTED) << "its stream has failed";
  EXPECT_EQ(StatusOf(1, beside), Status::OK) << "other streams have not";
  EXPECT_EQ(StatusOf(2, program), Status::OK);
  EXPECT_EQ(StatusOf(2, copy), Status::OK);
}

TEST_P(TimeLimit, SaysWhatTheProgramWaitedForAndIsInTheErrorLog) {
  Open();
  Manager().SetTimeLimit(1, kLimitUs);
  PutLaunch(1, 0, 5);
  Ring(1);
  Work(2 * kLimitPs);
  const std::string diagnosis = transport_->Diagnose();
  EXPECT_THAT(diagnosis, HasSubstr("function 1 stream 5: COMPUTE endless"));
  EXPECT_THAT(diagnosis, HasSubstr("limit of 2000 us"));
  EXPECT_THAT(diagnosis, HasSubstr("core 01 vector at instruction 0 (nop) waits for token t7"));
  EXPECT_THAT(diagnosis, HasSubstr("core 00 ring at instruction 1 (barrier)"));
  bool found = false;
  for (const driver::RasRecord& record : Manager().ReadErrorLog()) {
    if (record.code != RasCode::TIME_LIMIT) continue;
    found = true;
    EXPECT_EQ(record.function, 1);
    EXPECT_EQ(record.severity, RasSeverity::NON_FATAL);
    EXPECT_THAT(record.detail, ::testing::ElementsAre(5, kLimitUs));
  }
  EXPECT_TRUE(found);
}

TEST_P(TimeLimit, WithoutAWordOfThePhysicalFunctionTheCardHasOne) {
  config_.control.operation_limit_us = 700;
  Open();
  const uint64_t endless = PutLaunch(1, 0);
  Ring(1);
  Work(1'000'000'000);
  EXPECT_EQ(StatusOf(1, endless), Status::TIMED_OUT);
  EXPECT_NEAR(static_cast<double>(TimeOf(Got(1, endless))), 700e6, 1e4);
}

TEST_P(TimeLimit, ALimitIsOfOneFunctionAndOfOperationsThatAreNotOver) {
  Open();
  Manager().SetTimeLimit(1, 20);
  Manager().SetTimeLimit(2, 100);
  const uint64_t too_long = PutLaunch(1, 2 * kProgramBytes);
  const uint64_t in_time = PutLaunch(2, 2 * kProgramBytes);
  Ring(1);
  Ring(2);
  Work(200'000'000);
  EXPECT_EQ(StatusOf(1, too_long), Status::TIMED_OUT);
  EXPECT_EQ(StatusOf(2, in_time), Status::OK);
  Manager().SetTimeLimit(1, 0);
  const uint64_t again = PutLaunch(1, 2 * kProgramBytes, 1);
  Ring(1);
  Work(200'000'000);
  EXPECT_EQ(StatusOf(1, again), Status::OK) << "0: the card's own limit";
}

TEST_P(TimeLimit, ACopyThatGetsOnIsNotStopped) {
  Open();
  Manager().SetTimeLimit(1, 20);
  const uint64_t copy = PutCopy(1, Opcode::DMA_IN, 0, 8 << 20);
  Ring(1);
  Work(1'000'000'000);
  EXPECT_EQ(StatusOf(1, copy), Status::OK);
  EXPECT_GT(TimeOf(Got(1, copy)), 100'000'000u) << "ps: several times the limit";
}

TEST_P(TimeLimit, DisablingAFunctionEndsWhatItHasRunning) {
  Open();
  const uint64_t endless = PutLaunch(1, 0);
  const uint64_t held = PutLaunch(1, kProgramBytes, 1);
  Ring(1);
  Work(20'000'000);
  const uint64_t program = PutLaunch(2, kProgramBytes);
  Ring(2);
  Manager().SetEnabled(1, false);
  Work(20'000'000);
  EXPECT_EQ(StatusOf(1, endless), Status::ABORTED);
  EXPECT_EQ(StatusOf(1, held), Status::ABORTED);
  EXPECT_EQ(StatusOf(2, program), Status::OK);
  const uint64_t refused = PutLaunch(1, kProgramBytes, 2);
  Ring(1);
  Work(20'000'000);
  EXPECT_EQ(StatusOf(1, refused), Status::PERMISSION);
  Manager().SetEnabled(1, true);
  const uint64_t accepted = PutLaunch(1, kProgramBytes, 3);
  Ring(1);
  Work(20'000'000);
  EXPECT_EQ(StatusOf(1, accepted), Status::OK);
}

TEST_P(TimeLimit, NoneLeavesAProgramThatNeverEndsToTheHost) {
  config_.control.operation_limit_us = 0;
  Open();
  PutLaunch(1, 0);
  Ring(1);
  Work(20'000'000);
  EXPECT_EQ(transport_->WaitInterrupt(1, 0, transport_->NowPs() + 3'000'000'000'000),
            driver::WaitResult::kStalled);
  EXPECT_THAT(transport_->Diagnose(), HasSubstr("core 00 vector at instruction 0"));
}

INSTANTIATE_TEST_SUITE_P(Card, TimeLimit,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("serial", "pipelined")));

// What two users see who only have a virtual function each.
TEST_F(Tenants, TheUserOfAnEndlessProgramIsToldWhyAndTheOtherOneNothing) {
  config_.num_vfs = 2;
  transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
  admin_ = std::make_unique<driver::Device>(*transport_, 0);
  Manager().EnableVirtualFunctions(2);
  for (unsigned vf = 1; vf <= 2; ++vf) {
    for (int region = 0; region < kRegions; ++region) {
      Manager().AssignRegion(static_cast<driver::FunctionId>(vf), region,
                             (vf * 8 + static_cast<uint64_t>(region)) << 30, 1 << 30);
    }
  }
  flex::RuntimeContext other(*transport_, 2);
  context_ = std::make_unique<flex::RuntimeContext>(*transport_, 1);
  context_->DefaultStream().Launch(Load(Assemble(kEndless)));

  std::vector<uint8_t> data(128, 0x5A), back(128);
  const flex::DeviceHandle tensor = other.Allocate(128);
  other.DefaultStream().CopyToDevice(data.data(), tensor, data.size());
  other.DefaultStream().CopyFromDevice(back.data(), tensor, back.size());
  EXPECT_NO_THROW(other.DefaultStream().Synchronize());
  EXPECT_EQ(back, data);

  const std::string error = FailureOf([&] { context_->DefaultStream().Synchronize(); });
  EXPECT_THAT(error, HasSubstr("TIMED_OUT, it ran for 1000.000 ms"));
  EXPECT_THAT(error, HasSubstr("core 01 vector at instruction 0 (nop) waits for token t7"));
  EXPECT_EQ(context_->CompletedOperations().back().status, Status::TIMED_OUT);
  // The device is not lost: another stream works.
  flex::FlexStream& stream = context_->NewStream();
  const flex::DeviceHandle own = context_->Allocate(128);
  stream.CopyToDevice(data.data(), own, data.size());
  EXPECT_NO_THROW(stream.Synchronize());
}

}  // namespace
}  // namespace spyre::test::time_limit_test
