// SPDX-License-Identifier: Apache-2.0
// How much of the host's memory a simulation takes: what the card's software touches, not what the
// card could hold. One process per test, so that the peak is the test's own. The bounds are in
// docs/performance.md; SPYRE_UPDATE_DOCS=1 writes them there.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "tests/integration/card_fixture.h"
#include "tests/paths.h"

namespace spyre::test::resident_memory_test {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kIdleMegabytes = 50;
constexpr uint64_t kTimesOnlyMegabytes = 150;

uint64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

using ResidentMemoryTest = CardFixture;

TEST_F(ResidentMemoryTest, AnIdleCardTakesLittle) {
  Open();
  EXPECT_LT(PeakResidentBytes(), kIdleMegabytes * 1'000'000);
}

// Ten tensors of 10 GB; 100 MiB of each are written, in blocks all over it. With data the run would
// touch 1,000 MiB.
TEST_F(ResidentMemoryTest, ATimingOnlyRunOn100GBOfTensorsTakesLittle) {
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
  EXPECT_LT(PeakResidentBytes(), kTimesOnlyMegabytes * 1'000'000);
}

TEST(ResidentMemory, PageHasTheBounds) {
  const std::string path = SPYRE_SOURCE_DIR "/docs/performance.md";
  const std::string begin =
      "<!-- memory: written by tests/integration/resident_memory_test.cc -->\n";
  const std::string end = "<!-- end of memory -->";
  const std::string page = ReadFile(path, "page");
  const size_t from = page.find(begin) + begin.size();
  ASSERT_NE(page.find(begin), std::string::npos);
  const std::string expected =
      page.substr(0, from) +
      fmt::format(
          "\nAn idle card takes under {} MB of memory. A run of times only on 100 GB of "
          "tensors takes under {} MB.\n\n",
          kIdleMegabytes, kTimesOnlyMegabytes) +
      page.substr(page.find(end, from));
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) WriteFile(path, expected, "page");
  EXPECT_EQ(ReadFile(path, "page"), expected) << "run again with SPYRE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace spyre::test::resident_memory_test
