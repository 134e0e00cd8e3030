// SPDX-License-Identifier: Apache-2.0
// Runs a host program on two cards and gives what each had to say: SystemC elaborates once in a
// process, so each card lives in a child of its own.
//
// The program gets the configuration of its card and returns its log as bytes; gtest expectations
// in it count. Call before this process has elaborated a card.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "cosim/host/child_process.h"
#include "model/common/card_config.h"

namespace spyre::test {

// The bytes that `program` returns, run in a child. A child that throws, dies or has failed an
// expectation fails the test.
inline std::string InChild(const std::function<std::string()>& program) {
  try {
    return cosim::RunInChild([&] {
      std::string bytes = program();
      if (::testing::Test::HasFailure()) throw std::runtime_error("an expectation failed there");
      return bytes;
    });
  } catch (const std::exception& error) {
    ADD_FAILURE() << "in the child: " << error.what();
    return {};
  }
}

using HostProgram = std::function<std::string(const model::CardConfig&)>;

// The logs of the two cards.
inline std::pair<std::string, std::string> OnTwoCards(const HostProgram& program,
                                                      const model::CardConfig& first,
                                                      const model::CardConfig& second) {
  return {InChild([&] { return program(first); }), InChild([&] { return program(second); })};
}

}  // namespace spyre::test
