// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/launch_options.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace spyre::runtime::launch_options_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LaunchOptions, EveryNameIsReadBack) {
  for (const std::string& name : RemainderNames()) EXPECT_EQ(Name(RemainderFromName(name)), name);
  for (const std::string& name : RoutingNames()) EXPECT_EQ(Name(RoutingFromName(name)), name);
  for (const std::string& name : OverlapNames()) EXPECT_EQ(Name(OverlapFromName(name)), name);
  for (const std::string& name : ReductionTilingNames())
    EXPECT_EQ(Name(ReductionTilingFromName(name)), name);
  EXPECT_THAT(RemainderNames(), ElementsAre("fail", "pad", "remainder_kernel"));
  EXPECT_THAT(RoutingNames(), ElementsAre("auto", "strict", "tiled"));
  EXPECT_THAT(ReductionTilingNames(), ElementsAre("fail", "device", "lx", "plan"));
  EXPECT_THAT(OverlapNames(), ElementsAre("none", "double_buffer", "streams"));
}

TEST(LaunchOptions, UnknownNamesAreRefusedWithTheNearestKnown) {
  try {
    RemainderFromName("pda");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("fail, pad, remainder_kernel; did you mean 'pad'?"));
  }
  EXPECT_THROW(RoutingFromName(""), Error);
  EXPECT_THROW(ReductionTilingFromName("Fail"), Error);
  EXPECT_THROW(OverlapFromName("stream "), Error);
}

}  // namespace
}  // namespace spyre::runtime::launch_options_test
