// What a call throws, for expectations about errors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/contract/error.h"

namespace spyre::test {

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
