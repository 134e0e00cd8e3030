// SPDX-License-Identifier: Apache-2.0
// RunLadder: runs the tests of a program by rungs, the lowest first, and says what became of them.
//
// The tests are GoogleTest's; which rung and level a test belongs to is in the name of its suite
// (rung.h). Call PrepareTests once before, and UseBoard (board.h). Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bringup/ladder/results.h"

namespace spyre::bringup {

struct LadderOptions {
  int first_rung = 1, last_rung = INT32_MAX;
  int level = 1;                     // tests of higher levels do not run
  std::vector<std::string> tests;    // patterns with * and ?, of which one must fit; none: all
  bool stop_at_broken_rung = false;  // what is above a rung with a failure could not run
  std::function<void(const TestResult&)> on_result;  // after each test
};

// One test of the program.
struct TestPlace {
  std::string suite, name;  // as in TestResult
  std::string gtest;        // as GoogleTest names it: "Function/Rung2EveryRegister.Reads/PF"
  int rung = 0, level = 1;
};

// Makes the tests with parameters, and takes GoogleTest's own output away.
void PrepareTests();
// All tests of this program, by rung, then as they are declared. Error(kBadInput) for a suite whose
// name is not that of a rung.
std::vector<TestPlace> AllTests();
// Those that the options ask for. Error(kBadInput) if there are none.
std::vector<TestPlace> SelectedTests(const LadderOptions& options);

LadderResult RunLadder(const LadderOptions& options);

}  // namespace spyre::bringup
