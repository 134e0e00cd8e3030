// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <gtest/gtest.h>

namespace spyre::printable_test {
namespace {

TEST(Printable, FollowsTheDefinitionOfUtf8) {
  EXPECT_TRUE(IsPrintable("plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80"));
  EXPECT_FALSE(IsPrintable("\xc0\x80"));          // overlong
  EXPECT_FALSE(IsPrintable("\xe0\x9f\xbf"));      // overlong
  EXPECT_FALSE(IsPrintable("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(IsPrintable("\xf4\x90\x80\x80"));  // above 10FFFF
  EXPECT_FALSE(IsPrintable("\xe2\x82"));          // cut
  EXPECT_FALSE(IsPrintable("\xc2\x85"));          // a control character
  EXPECT_FALSE(IsPrintable("a\nb"));
  EXPECT_EQ(Printable("\xe2\x82"), "??");
}

}  // namespace
}  // namespace spyre::printable_test
