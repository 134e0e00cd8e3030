// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_checks.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>

namespace spyre::cosim::soak_checks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kHourPs = 3'600'000'000'000'000;

// A day without anything to say against it.
std::vector<SoakSample> Day() {
  std::vector<SoakSample> samples(25);
  for (size_t hour = 0; hour < samples.size(); ++hour) {
    SoakSample& sample = samples[hour];
    sample.time_ps = hour * kHourPs;
    sample.device_ps = sample.time_ps + 600'000;
    sample.resident_bytes = hour < 3 ? 80 << 20 : 100 << 20;
    sample.host_mappings = 6;
    sample.allocations = 2;
    sample.given = hour * 1000 + 7;
    sample.counted = hour * 1000 + 5;
    sample.answered = hour * 1000;
    sample.given_bytes = sample.counted_bytes = sample.answered_bytes = hour << 20;
    sample.reference_ps = 50'000'000 + hour % 3 * 1000;
  }
  return samples;
}

std::vector<std::string> After(const std::function<void(std::vector<SoakSample>&)>& change) {
  std::vector<SoakSample> samples = Day();
  change(samples);
  return JudgeSoak(samples);
}

TEST(SoakChecks, FindNothingWhereNothingIs) {
  EXPECT_THAT(JudgeSoak(Day()), IsEmpty());
  EXPECT_THAT(JudgeSoak({}), IsEmpty());
}

TEST(SoakChecks, FindWhatIsKept) {
  EXPECT_THAT(After([](auto& day) { day[9].host_mappings = 7; }),
              ElementsAre(HasSubstr("host mappings: 7 after 9.00 hours")));
  EXPECT_THAT(After([](auto& day) { day[24].allocations = 3; }),
              ElementsAre(HasSubstr("allocations: 3 after 24.00 hours")));
  EXPECT_THAT(After([](auto& day) { day[1].outstanding = 1; }),
              ElementsAre(HasSubstr("operations outstanding: 1")));
  EXPECT_THAT(After([](auto& day) { day[2].card_is_idle = false; }),
              ElementsAre(HasSubstr("still works after 2.00 hours")));
}

TEST(SoakChecks, FindMemoryThatGrowsAfterTheFirstQuarter) {
  EXPECT_THAT(After([](auto& day) {
                for (size_t hour = 0; hour < day.size(); ++hour)
                  day[hour].resident_bytes += hour * (3 << 20);
              }),
              ElementsAre(HasSubstr("memory of this process: 118 MiB after 6.00 hours, 172 MiB")));
}

TEST(SoakChecks, FindEntriesAndBytesThatNobodyGaveOrNobodyCounted) {
  EXPECT_THAT(After([](auto& day) { day[5].counted = day[5].given + 1; }),
              ElementsAre(HasSubstr("entries: the firmware has counted 5008")));
  EXPECT_THAT(After([](auto& day) { day[5].counted_bytes -= 1; }),
              ElementsAre(HasSubstr("bytes: the firmware has counted 5242879")));
}

TEST(SoakChecks, FindAClockThatDriftsAndWorkThatTakesLonger) {
  EXPECT_THAT(After([](auto& day) { day[24].device_ps = day[24].time_ps - 1; }),
              ElementsAre(HasSubstr("the card's clock shows")));
  EXPECT_THAT(After([](auto& day) { day[20].reference_ps = 55'000'000; }),
              ElementsAre(HasSubstr("55000 ns after 20.00 hours")));
}

TEST(SoakChecks, KnowTheMemoryOfThisProcess) {
  const uint64_t before = ResidentBytes();
  std::vector<uint8_t> memory(64 << 20);
  std::memset(memory.data(), 1, memory.size());
  EXPECT_GE(ResidentBytes(), before + (32 << 20));
}

}  // namespace
}  // namespace spyre::cosim::soak_checks_test
