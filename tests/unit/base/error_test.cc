// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/error_of.h"

namespace spyre::error_test {
namespace {

TEST(Error, CarriesItsDataBesideTheSentence) {
  const Error error = BadInput("{} = {} is out of range", "m", 7).Subject("m").Value(7).Remedy("8");
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_STREQ(error.what(), "m = 7 is out of range");
  EXPECT_EQ(error.subject(), "m");
  EXPECT_EQ(error.value(), "7");
  EXPECT_EQ(error.remedy(), "8");
}

TEST(Error, DataThatNobodyGaveIsEmpty) {
  const Error error = DeviceFault("the card is lost");
  EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
  EXPECT_EQ(error.subject() + error.value() + error.remedy(), "");
}

TEST(Error, KeepsItsDataWhenItIsThrownAndCopied) {
  const Error error = test::CaughtFrom([] { throw InternalError("odd").Subject("ring"); });
  const Error copy = error;
  EXPECT_EQ(copy.kind(), ErrorKind::kInternal);
  EXPECT_EQ(copy.subject(), "ring");
}

TEST(Error, FurtherUpThePlaceIsPutInFrontAndTheDataStays) {
  const Error inner = BadInput("m is 7").Subject("m").Value(7);
  EXPECT_STREQ(inner.Within("run.toml").what(), "run.toml: m is 7");
  EXPECT_EQ(inner.Within("run.toml").subject(), "m");
  EXPECT_EQ(inner.Within("run.toml").value(), "7");
  EXPECT_EQ(BadInput("empty").Within("run.toml").subject(), "run.toml");
}

}  // namespace
}  // namespace spyre::error_test
