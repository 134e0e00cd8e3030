// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ops/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace spyre::compiler::op_list_test {
namespace {

using ::testing::HasSubstr;

TEST(OpList, FindsEveryOperationByNameAndByAlias) {
  for (const Operation& op : Operations()) {
    EXPECT_EQ(FindOperation(op.name), &op);
    for (std::string_view alias : op.aliases) EXPECT_EQ(FindOperation(alias), &op) << alias;
  }
}

TEST(OpList, HasNoNameTwice) {
  std::set<std::string_view> names;
  for (const Operation& op : Operations()) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    for (std::string_view alias : op.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(OpList, NamesTheNearestOperationForATypo) {
  try {
    RequireOperation("sotfmax");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("'sotfmax'"));
    EXPECT_THAT(error.what(), HasSubstr("'softmax'?"));
    EXPECT_THAT(error.what(), HasSubstr("rsqrt"));
  }
}

}  // namespace
}  // namespace spyre::compiler::op_list_test
