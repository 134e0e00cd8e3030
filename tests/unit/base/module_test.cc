// SPDX-License-Identifier: Apache-2.0
// Modules: found, missing, of another version.
#include "base/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::module_test {
namespace {

using ::testing::HasSubstr;

Error ErrorOf(const Module& module, const std::string& symbol) {
  try {
    ModuleSymbol(module, symbol);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorKind::kInternal, ""};
}

TEST(Module, OneThatIsNotBuiltIsBadInputThatNamesTheCommandThatBuildsIt) {
  const Error error = ErrorOf({"spyre_no_such_module", "the reader of nothing"}, "anything");
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_THAT(error.what(), HasSubstr("the reader of nothing"));
  EXPECT_THAT(error.what(), HasSubstr("cmake --build"));
  EXPECT_THAT(error.what(), HasSubstr("--target spyre_no_such_module"));
}

TEST(Module, OneOfAnotherVersionIsBadInputThatSaysSo) {
  const Error error = ErrorOf({"spyre_test_module", "the module of this test"}, "of_next_year");
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_THAT(error.what(), HasSubstr("the module of this test is of another version"));
  EXPECT_THAT(error.what(), HasSubstr("--target spyre_test_module"));
}

TEST(Module, AnErrorThatItThrowsIsCaughtByItsType) {
  const auto fail = reinterpret_cast<void (*)()>(
      ModuleSymbol({"spyre_test_module", "the module of this test"}, "spyre_test_module_fail"));
  try {
    fail();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
    EXPECT_STREQ(error.what(), "the module of this test fails");
  }
}

}  // namespace
}  // namespace spyre::module_test
