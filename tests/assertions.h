// SPDX-License-Identifier: Apache-2.0
// EXPECT_* and ASSERT_* with GoogleTest's meaning and texts, which compile in half of the time:
// GoogleTest has the result of a check, its text and the stream of what is added to it as objects
// of every statement. Here they are functions that are the same for all. Part of the precompiled
// headers of tests alone: without it a test file has GoogleTest's own macros.
#pragma once

#include <gtest/gtest.h>

namespace spyre::test {

// Null if the check passed; otherwise what GoogleTest says of it, which lives as long as the
// program.
const char* Unmet(const ::testing::AssertionResult& result);
const char* Unmet(const ::testing::AssertionResult& result, bool expected, const char* text);
const char* Unmet(bool result, bool expected, const char* text);
template <typename T>
const char* Unmet(const T& result, bool expected, const char* text) {
  return Unmet(static_cast<bool>(result), expected, text);
}

// What is added to a failure by `<<`.
class Words {
 public:
  template <typename T>
  Words& operator<<(const T& value) {
    Stream() << value;
    return *this;
  }

 private:
  friend class Failure;
  ::testing::Message& Stream();

  ::testing::Message* stream_ = nullptr;  // until the failure is told
};

// Tells a failure, or that a test is skipped.
class Failure {
 public:
  Failure(::testing::TestPartResult::Type type, const char* file, int line, const char* text)
      : type_(type), file_(file), line_(line), text_(text) {}
  void operator=(const Words& words) const;

 private:
  ::testing::TestPartResult::Type type_;
  const char* file_;
  int line_;
  const char* text_;
};

}  // namespace spyre::test

#undef GTEST_MESSAGE_AT_
#define GTEST_MESSAGE_AT_(file, line, text, type) \
  ::spyre::test::Failure(type, file, line, text) = ::spyre::test::Words()

#undef GTEST_ASSERT_
#define GTEST_ASSERT_(expression, fail)                                                   \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                           \
  if (const char* const gtest_ar = ::spyre::test::Unmet(expression); gtest_ar == nullptr) \
    ;                                                                                     \
  else                                                                                    \
    fail(gtest_ar)

#undef GTEST_TEST_BOOLEAN_
#define GTEST_TEST_BOOLEAN_(expression, text, actual, expected, fail)                     \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                           \
  if (const char* const gtest_ar_ = ::spyre::test::Unmet((expression), expected, (text)); \
      gtest_ar_ == nullptr)                                                               \
    ;                                                                                     \
  else                                                                                    \
    fail(gtest_ar_)
