// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/host_preset.h"

#include <gmock/gmock.h>

#include "tests/unit/error_of.h"

namespace spyre::cosim::host_preset_test {
namespace {

TEST(HostPreset, LiesUnderTheKeysThatAreSet) {
  const HostConfig bare = ParseConfig("", "").host;
  EXPECT_EQ(bare.dispatch_ns + bare.launch_ns + bare.convert_ns_per_kib, 0u);
  const HostConfig plain = ParseConfig("[host]\npreset = \"plain\"\n", "").host;
  EXPECT_EQ(plain.dispatch_ns + plain.launch_ns, 7000u) << "ns, as an asynchronous launch";
  const HostConfig own = ParseConfig("[host]\nlaunch_ns = 5\npreset = \"profiled\"\n", "").host;
  EXPECT_EQ(own.launch_ns, 5u);
  EXPECT_GT(own.dispatch_ns, 800'000u);
  EXPECT_THAT(test::FailureOf([] { ParseConfig("[host]\npreset = \"plane\"\n", "run.toml"); }),
              ::testing::HasSubstr("plain"));
}

}  // namespace
}  // namespace spyre::cosim::host_preset_test
