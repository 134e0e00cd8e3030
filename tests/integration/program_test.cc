// SPDX-License-Identifier: Apache-2.0
// Hand-written programs on the whole card: units, tokens, loops, multicast, partial sums, barriers,
// and their faults.
#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "model/contract/formats.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::program_test {
namespace {

using ::testing::HasSubstr;

std::vector<uint16_t> Ramp(size_t count, uint16_t first = 0) {
  std::vector<uint16_t> data(count);
  std::iota(data.begin(), data.end(), first);
  return data;
}

// Two tiles in flight through two LX buffers, store behind load.
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

TEST_F(CardFixture, ACopyProgramMovesEveryByteInOrderInPhysicalMode) {
  Open();
  const auto data = Ramp(16384, 7);
  const auto source = Upload(data);
  const auto target = context_->Allocate(data.size() * 2);
  const auto done = Run(kCopy, {source, target});
  EXPECT_EQ(Download<uint16_t>(target, data.size()), data);
  EXPECT_EQ(done.device_bytes_written, 32768u);
  EXPECT_GT(done.device_bytes_read, 32768u) << "the program image is read too";
}

TEST_F(CardFixture, ACopyProgramMovesEveryByteInVirtualFunctionMode) {
  Open(1);
  const auto data = Ramp(16384, 3);
  const auto source = Upload(data);
  const auto target = context_->Allocate(data.size() * 2);
  Run(kCopy, {source, target});
  EXPECT_EQ(Download<uint16_t>(target, data.size()), data);
}

TEST_F(CardFixture, AMulticastLoadReachesEveryCoreAndReadsMemoryOnce) {
  Open();
  const auto data = Ramp(64);
  const auto source = Upload(data);
  const auto target = context_->Allocate(4 * 128);
  std::string text = R"(
.program multicast
.cores 0xf
.lx 128
.table 2
.core 0: 0
.core 1: 1
.core 2: 2
.core 3: 3
.section load 0xf
  tab r1, 0
  li r2, 128
  li r3, 1
  li r4, 15
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r4 signal=t1
.section store 0xf
  tab r1, 1
  creg r5, 0
  madd r1, r1, r5, 128
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0 wait=t1
)";
  const auto done = Run(text, {source, target});
  const auto out = Download<uint16_t>(target, 256);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], data[i % 64]) << "element " << i;
  const uint64_t image = AlignUp(Encode(Assemble(text)).size(), kStickBytes);
  EXPECT_LE(done.device_bytes_read, image + 128) << "bytes: one stick for four cores";
}

TEST_F(CardFixture, PartialSumsArriveAtThePeerBeforeItsToken) {
  Open();
  std::vector<float> ones(32, 1.5f);
  std::vector<float> twos(32, 2.25f);
  ones.insert(ones.end(), twos.begin(), twos.end());
  const auto source = Upload(ones);
  const auto target = context_->Allocate(128);
  Run(R"(
.program psum
.cores 0x3
.lx 384
.table 2
.core 1: 1
.section load 0x3
  tab r1, 0
  creg r5, 0
  madd r1, r1, r5, 128
  li r2, 128
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x1
  li r1, 1
  li r2, 128
  li r3, 128
  li r4, 5
  send r1, r2, r0, r3, r4 wait=t1
.section vector 0x2
  li r1, 256
  li r2, 128
  li r3, 32
  nop wait=t5
  vaccumulate.sum r1, r2, r0, r3 wait=t1 signal=t2
.section store 0x2
  tab r1, 1
  li r2, 128
  li r3, 1
  li r4, 256
  store r4, r1, r2, r3, r0, r0, r3, r0, r0 wait=t2
)",
      {source, target});
  EXPECT_THAT(Download<float>(target, 32), ::testing::Each(3.75f));
}

TEST_F(CardFixture, ABarrierReleasesNobodyBeforeTheLastCoreArrives) {
  Open();
  // Core 1 loads 64 KiB before the barrier, core 0 nothing: both end after core 1's load.
  const auto source = context_->Allocate(65536);
  const auto slow = Run(R"(
.program barrier
.cores 0x3
.lx 65536
.table 1
.section load 0x2
  tab r1, 0
  li r2, 65536
  li r3, 1
  load r0, r1, r2, r3, r0, r0, r3, r0, r0, r0 signal=t1
.section ring 0x2
  li r1, 3
  barrier r1, r0 wait=t1
.section ring 0x1
  li r1, 3
  barrier r1, r0
)",
                        {source});
  // 64 KiB over a 128-byte LX port at 1.1 GHz cannot take less than 465 ns.
  EXPECT_GT(slow.finished_ps - slow.started_ps, 465'000u) << "picoseconds";
}

TEST_F(CardFixture, AnAddressOutsideEveryMappingFaultsAndNamesItself) {
  Open();
  const auto small = context_->Allocate(128);
  const std::string message = FailureOf([&] { Run(kCopy, {small, small}); });
  EXPECT_THAT(message, HasSubstr("PAGE_FAULT"));
  EXPECT_THAT(message, HasSubstr("core 0"));
}

TEST_F(CardFixture, AVirtualFunctionCannotReachBeyondItsRegions) {
  Open(2);
  Program program = Assemble(kCopy);
  program.address_table = {SegmentAddress(0, kRegionBytes - 4096), SegmentAddress(0, 0)};
  context_->DefaultStream().Launch(Load(program));
  EXPECT_THAT(FailureOf([&] { context_->DefaultStream().Synchronize(); }), HasSubstr("PAGE_FAULT"));
}

TEST_F(CardFixture, ACorruptProgramIsRefusedAndLaterWorkOfTheStreamIsAborted) {
  Open();
  Program program = Assemble(kCopy);
  program.address_table = {0, 0};
  std::vector<uint8_t> image = Encode(program);
  image[image.size() - 5] ^= 1;
  const auto handle = context_->Allocate(image.size(), flex::MemoryKind::kProgram);
  auto& stream = context_->DefaultStream();
  stream.CopyToDevice(image.data(), handle, AlignUp(image.size(), kStickBytes));
  stream.Launch(handle);
  stream.Launch(handle);
  EXPECT_THAT(FailureOf([&] { stream.Synchronize(); }), HasSubstr("BAD_PROGRAM"));
  context_->Reset();
  stream.Synchronize();  // the reset has cleared the error
}

TEST_F(CardFixture, AProgramThatWaitsForATokenNobodyGivesIsStoppedAndItsWaiterNamed) {
  Open();
  const std::string message = FailureOf([&] {
    Run(R"(
.program hang
.cores 0x4
.lx 0
.section pt 0x4
  nop wait=t9
)",
        {});
  });
  EXPECT_THAT(message, HasSubstr("TIMED_OUT"));
  EXPECT_THAT(message, HasSubstr("core 02 pt"));
  EXPECT_THAT(message, HasSubstr("t9"));
}

constexpr const char* kFillLx = R"(
.program leave
.cores 0x1
.lx 128
.section vector 0x1
  li r1, 23130
  li r2, 128
  li r3, 1
  vfill r0, r1, r2, r3, r0
)";
constexpr const char* kStoreLx = R"(
.program look
.cores 0x1
.lx 128
.table 1
.section store 0x1
  tab r1, 0
  li r2, 128
  li r3, 1
  store r0, r1, r2, r3, r0, r0, r3, r0, r0
)";

TEST_F(CardFixture, LxOutlivesALaunchButNotAChangeOfFunction) {
  Open(2);
  Run(kFillLx, {});
  const auto mine = context_->Allocate(128);
  Run(kStoreLx, {mine});
  EXPECT_THAT(Download<uint16_t>(mine, 64), ::testing::Each(0x5A5A));
  const auto first = std::move(context_);
  context_ = std::make_unique<flex::RuntimeContext>(*transport_, 2);
  const auto theirs = context_->Allocate(128);
  Run(kStoreLx, {theirs});
  EXPECT_THAT(Download<uint16_t>(theirs, 64), ::testing::Each(0));
}

TEST_F(CardFixture, ADeadlineEndsAWaitForACardThatIsStillAtWork) {
  flex::RuntimeOptions options;
  options.device.timeout_ns = 1000;
  Open(0, options);
  const std::vector<uint8_t> data(8 << 20);
  const auto memory = context_->Allocate(data.size());
  context_->DefaultStream().CopyToDevice(data.data(), memory, data.size());  // takes about 140 us
  const std::string message = FailureOf([&] { context_->DefaultStream().Synchronize(); });
  EXPECT_THAT(message, HasSubstr("no response within"));
  EXPECT_THAT(message, HasSubstr("runs DMA_IN"));
}

TEST_F(CardFixture, LxIsBoundedByTheUsablePart) {
  Open();
  const auto tensor = context_->Allocate(4096);
  const std::string message = FailureOf([&] {
    Run(R"(
.program overflow
.cores 0x1
.lx 128
.table 1
.section load 0x1
  tab r1, 0
  li r2, 4096
  li r3, 1
  li r4, 2031488
  load r4, r1, r2, r3, r0, r0, r3, r0, r0, r0
)",
        {tensor});
  });
  EXPECT_THAT(message, HasSubstr("LX_OVERFLOW"));
}

}  // namespace
}  // namespace spyre::test::program_test
