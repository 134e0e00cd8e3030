// SPDX-License-Identifier: Apache-2.0
// What a call throws, for expectations about errors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace spyre::test {

// The Error that `call` throws, for expectations about its data; a failure of the test if it throws
// none.
template <typename Call>
Error CaughtFrom(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorKind::kInternal, "no error"};
}

// The text of the Error that `call` throws; "no error" if it throws none.
template <typename Call>
std::string FailureOf(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The same, and expects an Error of this kind.
template <typename Call>
std::string ErrorOf(ErrorKind kind, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}
template <typename Call>
std::string BadInputOf(Call&& call) {
  return ErrorOf(ErrorKind::kBadInput, call);
}

}  // namespace spyre::test
