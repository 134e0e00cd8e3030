// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/access_watch.h"

#include <contract/registers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cosim/serve/virtual_config.h"

namespace spyre::cosim::access_watch_test {
namespace {

using ::testing::HasSubstr;

TEST(AccessWatch, SaysThatADriverSpinsAfterAThousandEqualReadsAndThenMoreRarely) {
  AccessWatch watch;
  std::vector<int> said;
  for (int i = 1; i <= 20'000; ++i)
    if (watch.Read(regs::STATUS, 0, static_cast<uint64_t>(i) * 1'000'000, true)) said.push_back(i);
  EXPECT_EQ(said, (std::vector<int>{1000, 10'000}));
  EXPECT_THAT(watch.SpinText(20'001'000'000),
              HasSubstr("STATUS (BAR0 0x0014) 20000 times in 2e+04 us, always 0x00000000: READY is "
                        "0, BUSY is 0, ERROR is 0"));
}

TEST(AccessWatch, ADriverThatDoesSomethingElseDoesNotSpin) {
  AccessWatch watch;
  for (uint32_t i = 0; i < 5000; ++i) {
    EXPECT_FALSE(watch.Read(regs::STATUS, i / 900, 0, true));  // changes
    if (i % 900 == 0) watch.Write(regs::SCRATCH, true);
    if (i % 700 == 0) watch.Else();
  }
}

TEST(AccessWatch, NamesAddressesThatAreNoRegistersOfTheFunction) {
  AccessWatch watch;
  watch.Read(0xFF0, 0, 0, true);
  watch.Read(0xFF0, 0, 0, true);
  watch.Write(0xFF4, true);
  watch.Read(regs::STATUS, 1, 0, true);
  watch.Read(regs::MAP_STATUS, 0, 0, true);
  EXPECT_EQ(watch.TakeUnknown(),
            "\n  BAR0 0x0ff0: 2 reads, 0 writes\n  BAR0 0x0ff4: 0 reads, 1 writes");
  EXPECT_EQ(watch.TakeUnknown(), "");
  watch.Read(regs::MAP_STATUS, 0, 0, false);
  EXPECT_THAT(watch.TakeUnknown(), HasSubstr("(MAP_STATUS of the physical function)"));
}

TEST(AccessWatch, KeepsAFewHundredAddressesFromFillingTheLog) {
  AccessWatch watch;
  for (uint64_t i = 0; i < 300; ++i) watch.Read(0x10000 + 4 * i, 0, 0, true);
  EXPECT_THAT(watch.TakeUnknown(), HasSubstr("and 236 accesses to further addresses"));
}

TEST(VirtualConfig, ShowsABarThatTellsItsSizeAndAMemoryBit) {
  VirtualConfig config;
  EXPECT_EQ(config.Read(0x10, 0), 0xCu);
  config.Write(0x10, 0xFFFFFFFF, 0xFFFFFFFF);
  config.Write(0x14, 0xFFFFFFFF, 0xFFFFFFFF);
  EXPECT_EQ(config.Read(0x10, 0), 0xFFFF000Cu);
  EXPECT_EQ(config.Read(0x14, 0), 0xFFFFFFFFu);
  config.Write(0x10, 0x12340000, 0xFF000000);
  EXPECT_EQ(config.Read(0x10, 0), 0x12FF000Cu) << "one byte";
  config.Write(0x04, 0x2, 0xFF00);
  EXPECT_EQ(config.Read(0x04, 0x100004), 0x100004u) << "another byte";
  config.Write(0x04, 0x6, 0xFFFF);
  EXPECT_EQ(config.Read(0x04, 0x100004), 0x100006u);
  EXPECT_EQ(config.Read(0x08, 0x123), 0x123u);
  config.Reset();
  EXPECT_EQ(config.Read(0x04, 0x100000), 0x100000u);
}

}  // namespace
}  // namespace spyre::cosim::access_watch_test
