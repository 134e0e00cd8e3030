// SPDX-License-Identifier: Apache-2.0
// After a fault: the stream that it hit has an error with a name, others go on, the card's error
// log tells the PF, and what docs/faults.md calls recovery makes the function work again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "model/fault/fault_kind.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::recovery_test {
namespace {

using model::FaultKind;
using model::FaultOutcome;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program that loads eight tiles and stores them.
constexpr const char* kCopy = R"(
.program copy
.cores 0x1
.lx 8192
.table 2
.section load 0x1
  tab r1, 0
  li r2, 8
  li r3, 4096
  li r4, 1
  loop r10, r2
    madd r5, r1, r10, 4096
    load r0, r5, r3, r4, r0, r0, r4, r0, r0, r0  wait=t2 signal=t1
  end
.section store 0x1
  tab r1, 1
  li r2, 8
  li r3, 4096
  li r4, 1
  nop signal=t2
  loop r10, r2
    madd r5, r1, r10, 4096
    store r0, r5, r3, r4, r0, r0, r4, r0, r0  wait=t1 signal=t2
  end
)";
constexpr size_t kElements = 16384;

std::vector<uint16_t> Data(uint16_t first) {
  std::vector<uint16_t> data(kElements);
  std::iota(data.begin(), data.end(), first);
  return data;
}

class FaultFixture : public CardFixture {
 protected:
  model::FaultSpec& Declare(FaultKind kind) {
    model::FaultSpec fault;
    fault.kind = kind;
    fault.lasts_ps = model::Info(kind).lasts_us * 1'000'000;
    config_.faults.push_back(fault);
    return config_.faults.back();
  }
  // Copies in, through the cores, and out again; what came out.
  std::vector<uint16_t> Work(const std::vector<uint16_t>& data) {
    const auto source = Upload(data);
    const auto target = context_->Allocate(data.size() * 2);
    Run(kCopy, {source, target});
    return Download<uint16_t>(target, data.size());
  }
  void OpenAgain() { context_ = std::make_unique<flex::RuntimeContext>(*transport_, 0); }
  const std::deque<model::Injection>& Injections() {
    return transport_->card().faults()->injections();
  }
};

// What Reset of the context cures, with what the error says.
struct Curable {
  FaultKind kind;
  const char* error;
  uint64_t times = 1;
};
struct Where {
  Curable fault;
  unsigned vfs;
  const char* concurrency;
  const char* fidelity;
};

void PrintTo(const Where& where, std::ostream* out) {
  *out << model::Info(where.fault.kind).name << " " << where.vfs << " VFs " << where.concurrency
       << " " << where.fidelity;
}

class ResetCures : public FaultFixture, public ::testing::WithParamInterface<Where> {};

TEST_P(ResetCures, AFunctionThatAFaultHasHit) {
  const auto& [fault, vfs, concurrency, fidelity] = GetParam();
  config_.concurrency = Named(concurrency);
  config_.control.fidelity = Named(fidelity);
  Declare(fault.kind).times = fault.times;
  Open(vfs);
  const uint64_t begin = transport_->NowPs();
  EXPECT_THAT(FailureOf([this] { Work(Data(1)); }), HasSubstr(fault.error));
  EXPECT_LE(transport_->NowPs() - begin, 11'000'000'000'000u) << "within a driver's patience";
  ASSERT_EQ(Injections().size(), fault.times);
  EXPECT_THAT(FailureOf([this] { Work(Data(2)); }), HasSubstr("stream 0"))
      << "the error stays until the reset";
  context_->Reset();
  EXPECT_EQ(Work(Data(3)), Data(3));
}

std::vector<Where> Wheres() {
  std::vector<Where> all;
  for (const Curable& fault :
       {Curable{FaultKind::kMemoryDoubleBit, "BUS_ERROR"},
        Curable{FaultKind::kMemoryPoison, "BUS_ERROR"}, Curable{FaultKind::kLxParity, "LX_PARITY"},
        Curable{FaultKind::kCoreStop, "stream 0: COMPUTE"},
        Curable{FaultKind::kDmaStuck, "stream 0: DMA"},
        Curable{FaultKind::kControlStuck, "nothing left to do"},
        Curable{FaultKind::kPciePoisonedCompletion, "HOST_FAULT", 2},
        Curable{FaultKind::kPcieMalformedCompletion, "HOST_FAULT", 2},
        Curable{FaultKind::kPcieLostCompletion, "HOST_FAULT", 2},
        Curable{FaultKind::kResponseLost, "device is lost"},
        Curable{FaultKind::kResponseDuplicated, "response for sequence"}}) {
    all.push_back({fault, 0, "serial", "timed"});
    // The next response may be written over the second one before anybody looks.
    if (fault.kind == FaultKind::kResponseDuplicated) continue;
    all.push_back({fault, 2, "pipelined", "timed"});
    all.push_back({fault, 2, "serial", "rtl"});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Faults, ResetCures, ::testing::ValuesIn(Wheres()), [](const auto& test) {
  return fmt::format("{}_{}_{}_{}", model::Info(test.param.fault.kind).name,
                     test.param.vfs == 0 ? "pf" : "vf", test.param.concurrency,
                     test.param.fidelity);
});

TEST_F(FaultFixture, AFaultOfOneFunctionLeavesTheOthersAlone) {
  Declare(FaultKind::kMemoryDoubleBit).where.function = 1;
  config_.concurrency = model::Concurrency::kPipelined;
  Open(2);
  flex::RuntimeContext other(*transport_, 2);
  EXPECT_THAT(FailureOf([this] { Work(Data(1)); }), HasSubstr("BUS_ERROR"));
  const std::vector<uint16_t> data = Data(9);
  std::vector<uint16_t> back(data.size());
  const auto handle = other.Allocate(data.size() * 2);
  other.DefaultStream().CopyToDevice(data.data(), handle, data.size() * 2);
  other.DefaultStream().CopyFromDevice(back.data(), handle, back.size() * 2);
  other.DefaultStream().Synchronize();
  EXPECT_EQ(back, data);
}

TEST_F(FaultFixture, AnotherStreamOfTheFunctionGoesOn) {
  Declare(FaultKind::kMemoryDoubleBit);
  Open();
  const std::vector<uint16_t> data = Data(5);
  const auto broken = Upload(data), good = Upload(data);
  context_->DefaultStream().Synchronize();
  std::vector<uint16_t> back(data.size());
  flex::FlexStream& stream = context_->NewStream();
  context_->DefaultStream().CopyFromDevice(back.data(), broken, back.size() * 2);
  EXPECT_THAT(FailureOf([this] { context_->DefaultStream().Synchronize(); }),
              HasSubstr("BUS_ERROR"));
  stream.CopyFromDevice(back.data(), good, back.size() * 2);
  stream.Synchronize();
  EXPECT_EQ(back, data);
}

// The firmware's error log, through the driver, with either firmware.
class ErrorLog : public FaultFixture, public ::testing::WithParamInterface<const char*> {};

TEST_P(ErrorLog, TellsThePfOfErrorsOfTheHardware) {
  config_.management.fidelity = Named(GetParam());
  Declare(FaultKind::kMemorySingleBit).where.function = 1;
  Declare(FaultKind::kRingRetry).where.link = "cw32";
  Declare(FaultKind::kLxParity).when.count = 3;
  Open(1);
  EXPECT_THAT(FailureOf([this] { Work(Data(1)); }), HasSubstr("LX_PARITY"));
  transport_->Advance(1'000'000'000);
  driver::PhysicalFunction physical(*admin_);
  const std::vector<driver::RasRecord> log = physical.ReadErrorLog();
  const auto of = [](RasCode code, RasSeverity severity) {
    return ::testing::AllOf(Field(&driver::RasRecord::code, code),
                            Field(&driver::RasRecord::severity, severity),
                            Field(&driver::RasRecord::function, 1));
  };
  EXPECT_THAT(log, Contains(of(RasCode::MEMORY_CORRECTED, RasSeverity::CORRECTED)));
  EXPECT_THAT(log, Contains(of(RasCode::RING_RETRY, RasSeverity::CORRECTED)));
  EXPECT_THAT(log, Contains(of(RasCode::LX_PARITY, RasSeverity::NON_FATAL)));
  for (const model::Injection& injection : Injections()) {
    EXPECT_NE(injection.outcome, FaultOutcome::kPending) << injection.Text();
  }
}
INSTANTIATE_TEST_SUITE_P(Firmware, ErrorLog, ::testing::Values("behavioural", "rtl"));

TEST_F(FaultFixture, ALinkThatComesUpAgainNeedsNewContexts) {
  Declare(FaultKind::kPcieLinkDown).when.time_ps = 20'000'000;
  Open();
  EXPECT_THAT(FailureOf([this] { Work(Data(1)); }), HasSubstr("device is lost"));
  context_.reset();
  transport_->Advance(200'000'000'000);
  OpenAgain();
  EXPECT_EQ(Work(Data(3)), Data(3));
}

TEST_F(FaultFixture, ACardThatIsPulledOutIsDeadForGood) {
  Declare(FaultKind::kPcieRemoval).when.time_ps = 20'000'000;
  Open();
  EXPECT_THAT(FailureOf([this] { Work(Data(1)); }), HasSubstr("device is lost"));
  transport_->HotReset();
  EXPECT_EQ(transport_->ConfigRead(0, 0), UINT32_MAX) << "a reset does not bring it back";
  EXPECT_THAT(FailureOf([this] { context_->Reset(); }), HasSubstr("function 0"));
  EXPECT_THAT(FailureOf([this] { Work(Data(2)); }), ::testing::Not(IsEmpty()));
}

TEST_F(FaultFixture, ADeadLinkOfTheRingComesBackWithTheCard) {
  Declare(FaultKind::kRingDead);
  Open();
  EXPECT_THAT(FailureOf([this] { Work(Data(1)); }), HasSubstr("RING_FAULT"));
  context_->Reset();
  EXPECT_THAT(FailureOf([this] { Work(Data(2)); }), HasSubstr("RING_FAULT"))
      << "a reset of the function does not mend it";
  context_.reset();
  transport_->HotReset();
  OpenAgain();
  EXPECT_EQ(Work(Data(3)), Data(3));
}

TEST_F(FaultFixture, FirmwareThatHangsIsStartedAgainByAResetOfTheCard) {
  Declare(FaultKind::kFirmwareHang).when.time_ps = 1'000'000;
  Open();
  EXPECT_THAT(FailureOf([this] { transport_->Advance(30'000'000'000); }), HasSubstr("watchdog"));
  EXPECT_EQ(Injections().front().outcome, FaultOutcome::kDetected);
  EXPECT_EQ(Injections().front().outcome_ps - Injections().front().time_ps, 20'000'000'000u);
  context_.reset();
  transport_->HotReset();
  OpenAgain();
  EXPECT_EQ(Work(Data(3)), Data(3));
}

TEST_F(FaultFixture, AnImageThatHasLostABitIsNotBootedAgain) {
  Declare(FaultKind::kFirmwareCorrupt).when.time_ps = 1'000'000;
  Open();
  EXPECT_EQ(Work(Data(3)), Data(3)) << "what runs is in the controller's memory";
  const auto running = [this] {
    return transport_->Read32(0, 0, regs::FW_BOOT) & regs::FW_BOOT_RUNNING_MASK;
  };
  const uint32_t before = running();
  context_.reset();
  transport_->HotReset();
  OpenAgain();
  EXPECT_NE(running(), before) << "the other slot has a good image";
  EXPECT_EQ(Work(Data(4)), Data(4));
}

}  // namespace
}  // namespace spyre::test::recovery_test
