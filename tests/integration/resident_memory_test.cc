// SPDX-License-Identifier: Apache-2.0
// How much of the host's memory a simulation takes: what the card's software touches, not what the
// card could hold. One process per test, so that the peak is the test's own.
#include <fmt/format.h>
#include <sys/resource.h>

#include "tests/integration/card_fixture.h"

namespace spyre::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;

uint64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

using ResidentMemoryTest = CardFixture;

TEST_F(ResidentMemoryTest, AnIdleCardTakesUnder100MB) {
  Open();
  EXPECT_LT(PeakResidentBytes(), 100'000'000u);
}

// Ten tensors of 10 GB; 100 MiB of each are written, in blocks all over it. With data the run would
// touch 1,000 MiB.
TEST_F(ResidentMemoryTest, ATimingOnlyRunOn100GBOfTensorsTakesUnder500MB) {
  Open();
  std::vector<flex::DeviceHandle> tensors;
  std::string text = R"(
.program everywhere
.cores 0x1
.lx 1048576
.flags timing_only
.table 10
.section store 0x1
  li r2, 1048576
  li r3, 100
  li r4, 99999744
  li r5, 1
  )";
  constexpr int kTensors = 10;
  for (int i = 0; i < kTensors; ++i) {
    tensors.push_back(context_->Allocate(10'000'000'000));
    text += fmt::format("  tab r1, {}\n  store r0, r1, r2, r3, r4, r0, r5, r0, r0\n", i);
  }
  const flex::CompletedOperation run = Run(text, tensors);
  EXPECT_EQ(run.device_bytes_written, kTensors * 100 * kMiB);
  EXPECT_LT(PeakResidentBytes(), 500'000'000u);
}

}  // namespace
}  // namespace spyre::test
