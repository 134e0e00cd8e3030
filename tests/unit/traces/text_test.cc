// SPDX-License-Identifier: Apache-2.0
#include "traces/text.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace spyre::trace::text_test {
namespace {

TEST(Text, TablesAlignByCharactersAndRefuseRaggedRows) {
  Table table({"name", "n"});
  table.Add({"\xc3\xa9", "10"});
  table.Add({"abcdef", "9"});
  EXPECT_EQ(table.ToString(""), "name     n\n\xc3\xa9       10\nabcdef   9\n");
  EXPECT_THROW(table.Add({"one"}), std::logic_error);
}

}  // namespace
}  // namespace spyre::trace::text_test
