// SPDX-License-Identifier: Apache-2.0
#include "sdk/card/environment.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tests/unit/error_of.h"

namespace spyre::sdk::environment_test {
namespace {

using test::BadInputOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Environment : public ::testing::Test {
 protected:
  Environment() {
    for (const char* name :
         {"SPYRE_COSIM_CONFIG", "SPYRE_COSIM_SET", "SPYRE_COSIM_OUT", "SPYRE_COSIM_CARD",
          "SPYRE_COSIM_DEVICES", "FLEX_DEVICE", "AIU_WORLD_SIZE", "SPYRE_DEVICES",
          "AIU_WORLD_RANK_1", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})
      unsetenv(name);
  }
  static void Set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(Environment, WithoutVariablesThereIsOneCardInTheProcessThatWritesNoFiles) {
  const CardRequest request = RequestOfEnvironment();
  EXPECT_EQ(request.config, "");
  EXPECT_THAT(request.sets, IsEmpty());
  EXPECT_EQ(request.out, "");
  EXPECT_EQ(request.where, "");
  EXPECT_EQ(request.function, "");
  EXPECT_THAT(request.program, HasSubstr("unit_sdk"));
  EXPECT_EQ(NumDevices(), 1u);
}

TEST_F(Environment, KeysAreDividedBySemicolonsAndLines) {
  Set("SPYRE_COSIM_SET", "card.cores=8; card.fidelity=fast\nhost.submit_ns=5;");
  EXPECT_THAT(RequestOfEnvironment().sets,
              ElementsAre("card.cores=8", "card.fidelity=fast", "host.submit_ns=5"));
}

TEST_F(Environment, FlexDeviceChoosesTheFunction) {
  Set("FLEX_DEVICE", "PF");
  EXPECT_EQ(RequestOfEnvironment().function, "pf");
  Set("FLEX_DEVICE", "VF");
  EXPECT_EQ(RequestOfEnvironment().function, "vf");
  Set("FLEX_DEVICE", "GPU");
  EXPECT_EQ(BadInputOf([] { RequestOfEnvironment(); }),
            "FLEX_DEVICE = 'GPU': PF, VF or MOCK is expected");
}

TEST_F(Environment, TheWorldHasAtMostAsManyCardsAsThereAre) {
  Set("SPYRE_COSIM_DEVICES", "4");
  EXPECT_EQ(NumDevices(), 4u);
  Set("AIU_WORLD_SIZE", "2");
  EXPECT_EQ(NumDevices(), 2u);
  Set("AIU_WORLD_SIZE", "9");
  EXPECT_EQ(NumDevices(), 4u);
}

TEST_F(Environment, SpyreDevicesCountOnceAndOnlyIfTheyExist) {
  Set("SPYRE_COSIM_DEVICES", "4");
  const std::map<std::string, size_t> counts = {{"0", 1},     {"0,2,3", 3}, {"1,0", 2},
                                                {"0,1,1", 2}, {"0, 4", 1},  {"7", 0}};
  for (const auto& [devices, count] : counts) {
    Set("SPYRE_DEVICES", devices.c_str());
    EXPECT_EQ(NumDevices(), count) << devices;
  }
  Set("SPYRE_DEVICES", "0,x");
  EXPECT_THAT(BadInputOf([] { NumDevices(); }), HasSubstr("SPYRE_DEVICES = 'x'"));
}

TEST_F(Environment, ADeviceIsTheCardThatTheVariablesNameForIt) {
  EXPECT_EQ(CardOfDevice(1), 1u);
  Set("SPYRE_COSIM_DEVICES", "4");
  Set("SPYRE_DEVICES", "9,3,1");  // 9 does not count
  EXPECT_EQ(CardOfDevice(0), 3u);
  EXPECT_EQ(CardOfDevice(1), 1u);
  EXPECT_THAT(BadInputOf([] { CardOfDevice(2); }), HasSubstr("no card for device 2"));
  Set("AIU_WORLD_RANK_1", PciAddress(2).c_str());
  EXPECT_EQ(PciAddress(2), "0000:12:00.0");
  EXPECT_EQ(CardOfDevice(1), 2u);
  Set("AIU_WORLD_RANK_1", "0000:01:00.0");
  EXPECT_THAT(BadInputOf([] { CardOfDevice(1); }), HasSubstr("AIU_WORLD_RANK_1 = '0000:01:00.0'"));
}

TEST_F(Environment, ARankIsOneOfThoseOfItsHost) {
  EXPECT_EQ(RequestOfEnvironment().ranks, 1u);
  EXPECT_EQ(RequestOfEnvironment().rank, "");
  EXPECT_EQ(LocalRank(), 0u);
  Set("RANK", "5");
  Set("LOCAL_RANK", "1");
  Set("LOCAL_WORLD_SIZE", "4");
  const CardRequest request = RequestOfEnvironment(LocalRank());
  EXPECT_EQ(request.rank, "rank 5");
  EXPECT_EQ(request.card, 1u);
  EXPECT_EQ(request.ranks, 4u);
}

TEST_F(Environment, ServedProcessesNeedACardEach) {
  Set("SPYRE_COSIM_CARD", "vfio-user:/somewhere");
  Set("SPYRE_COSIM_DEVICES", "2");
  Set("LOCAL_WORLD_SIZE", "3");
  EXPECT_THAT(BadInputOf([] { RequestOfEnvironment(0); }),
              HasSubstr("3 processes need a card each, and there are 2"));
  Set("LOCAL_WORLD_SIZE", "2");
  EXPECT_EQ(RequestOfEnvironment(1).card, 1u);
  Set("AIU_WORLD_RANK_1", PciAddress(0).c_str());
  for (const size_t device : {0, 1}) {
    EXPECT_THAT(BadInputOf([&] { RequestOfEnvironment(device); }),
                HasSubstr("devices 0 and 1 are both card 0, 0000:10:00.0"));
  }
}

TEST_F(Environment, AMockNeedsAWorld) {
  Set("FLEX_DEVICE", "MOCK");
  EXPECT_THAT(BadInputOf([] { NumDevices(); }), HasSubstr("AIU_WORLD_SIZE of at least 1"));
  Set("AIU_WORLD_SIZE", "0");
  EXPECT_THAT(BadInputOf([] { NumDevices(); }), HasSubstr("AIU_WORLD_SIZE of at least 1"));
  Set("AIU_WORLD_SIZE", "3");
  EXPECT_EQ(NumDevices(), 3u);
}

}  // namespace
}  // namespace spyre::sdk::environment_test
