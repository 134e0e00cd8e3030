// SPDX-License-Identifier: Apache-2.0
// What became of the tests of a ladder. Plain data; written by RunLadder, read by what prints it
// (results_text.h, results_json.h, junit.h, board_report.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace spyre::bringup {

// kMarginal: results are right, and something came late, had to be corrected or to be repeated.
// kCouldNotRun says nothing about the card: what the test needs is not there.
enum class Outcome : uint8_t { kPassed, kMarginal, kFailed, kCouldNotRun };
inline constexpr size_t kOutcomes = 4;
const char* Name(Outcome outcome);  // "passed", "marginal", "failed", "could not run"

// What a measured value has to lie in, both ends included.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

struct Measurement {
  std::string name, unit;
  double value = 0;
  std::optional<Limits> limits;  // none if no limit was given
  bool within() const { return !limits || (value >= limits->low && value <= limits->high); }
};

struct TestResult {
  std::string suite, name;  // "Rung4Dma", "NothingIsMovedForSizeZero"
  int rung = 0, level = 1;
  Outcome outcome = Outcome::kPassed;
  std::string message;      // why it did not pass, in one or more lines
  double wall_seconds = 0;  // of this machine
  uint64_t card_ps = 0;     // of the transport's clock
  std::vector<Measurement> measurements;
};

struct LadderResult {
  std::vector<TestResult> tests;  // in the order in which they ran
  size_t of_higher_levels = 0;    // of the rungs asked for, not run because of the level
  bool interrupted = false;       // by a signal; what had not run could not run

  size_t Count(Outcome outcome) const;
  // Of the board, by the worst of its tests: "PASS", "MARGINAL", "FAIL"; "NOT TESTED" if none ran.
  const char* Verdict() const;
};

}  // namespace spyre::bringup
