// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/ladder.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <regex.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/ranges.h"
#include "bringup/ladder/board.h"

namespace spyre::bringup {
namespace {

using Clock = std::chrono::steady_clock;

// What RunLadder hears of GoogleTest. Assertions of one test only, for one test runs at a time.
class Listener : public ::testing::EmptyTestEventListener {
 public:
  void Begin(std::function<void(TestResult)> take, const std::vector<TestPlace>& places) {
    take_ = std::move(take);
    places_.clear();
    for (const TestPlace& place : places) places_[place.gtest] = place;
  }

  void OnTestStart(const ::testing::TestInfo& /*info*/) override {
    CurrentNotes() = {};
    message_.clear();
    skipped_ = false;
    failures_ = 0;
    began_ = Clock::now();
    began_ps_ = TheBoard().transport().NowPs();
  }
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (part.passed()) return;
    skipped_ |= part.skipped();
    failures_ += part.failed();
    if (!message_.empty()) message_ += "\n";
    const std::string text = part.message();
    const bool placed = part.file_name() != nullptr && !part.skipped();
    const std::string file = placed ? std::filesystem::path(part.file_name()).filename() : "";
    message_ += placed ? fmt::format("{}:{}: {}", file, part.line_number(), text) : text;
  }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    const TestPlace& place = places_.at(fmt::format("{}.{}", info.test_suite_name(), info.name()));
    TestResult result;
    result.suite = place.suite;
    result.name = place.name;
    result.rung = place.rung;
    result.level = place.level;
    result.measurements = CurrentNotes().measurements;
    const std::string& reason = CurrentNotes().could_not_run;
    if (LastInterruption() != 0) {
      result.outcome = Outcome::kCouldNotRun;
      result.message = InterruptionText(LastInterruption());
    } else if (!reason.empty() && failures_ == 1) {  // CannotRun itself, nothing before it
      result.outcome = Outcome::kCouldNotRun;
      result.message = reason;
    } else if (info.result()->Failed()) {
      result.outcome = Outcome::kFailed;
      result.message = message_;
    } else if (skipped_) {
      result.outcome = Outcome::kCouldNotRun;
      result.message = message_;
    }
    for (const std::string& margin : CurrentNotes().margins) AddMargin(result, margin);
    result.wall_seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    result.card_ps = TheBoard().transport().NowPs() - began_ps_;
    for (const HealthFinding& finding : TheBoard().TakeHealth()) {
      AddMargin(result, finding.text);
      if (finding.is_failure) result.outcome = Outcome::kFailed;
    }
    take_(std::move(result));
  }

 private:
  // A test that has passed is marginal; of others it is one line more.
  static void AddMargin(TestResult& result, const std::string& text) {
    if (result.outcome == Outcome::kPassed) result.outcome = Outcome::kMarginal;
    if (!result.message.empty()) result.message += "\n";
    result.message += text;
  }

  std::function<void(TestResult)> take_;
  std::map<std::string, TestPlace> places_;
  std::string message_;
  bool skipped_ = false;
  int failures_ = 0;
  Clock::time_point began_;
  uint64_t began_ps_ = 0;
};

Listener* listener = nullptr;  // GoogleTest owns it

TestPlace PlaceOf(const ::testing::TestSuite& suite, const ::testing::TestInfo& info) {
  // POSIX's, since std::regex takes the compiler longer than all of this file.
  static const regex_t kSuite = [] {
    regex_t compiled;
    regcomp(&compiled, "^([^/]*/)?(Rung([0-9]{1,4})[A-Za-z][A-Za-z0-9_]*)(/.*)?$", REG_EXTENDED);
    return compiled;
  }();
  regmatch_t parts[4];
  const std::string name = suite.name();
  if (regexec(&kSuite, name.c_str(), 4, parts, 0) != 0) {
    throw BadInput(
        "test suite {}: the name of a suite is Rung, the number of its rung, what it is about, and "
        "Level2 to Level4 for tests that take longer: Rung21MyBoard, Rung21MyBoardLevel2",
        name)
        .Subject(name);
  }
  TestPlace place;
  const auto part = [&](size_t i) {
    return name.substr(static_cast<size_t>(parts[i].rm_so),
                       static_cast<size_t>(parts[i].rm_eo - parts[i].rm_so));
  };
  place.suite = part(2);
  place.name = info.name();
  place.gtest = fmt::format("{}.{}", name, info.name());
  place.rung = std::stoi(part(3));
  const size_t level = place.suite.rfind("Level");
  const size_t about = std::string("Rung").size() + part(3).size();  // at least one letter
  if (level != std::string::npos && level > about && level + 6 == place.suite.size() &&
      place.suite.back() >= '2' && place.suite.back() <= '4')
    place.level = place.suite.back() - '0';
  return place;
}

bool Fits(const TestPlace& place, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  const std::string name = place.suite + "." + place.name;
  return AnyFits(patterns, [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

bool OfRungs(const TestPlace& place, const LadderOptions& options) {
  return place.rung >= options.first_rung && place.rung <= options.last_rung &&
         Fits(place, options.tests);
}

TestResult NotRun(const TestPlace& place, const std::string& why) {
  TestResult result;
  result.suite = place.suite;
  result.name = place.name;
  result.rung = place.rung;
  result.level = place.level;
  result.outcome = Outcome::kCouldNotRun;
  result.message = why;
  return result;
}

}  // namespace

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kMarginal:
      return "marginal";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kCouldNotRun:
      break;
  }
  return "could not run";
}

size_t LadderResult::Count(Outcome outcome) const {
  return static_cast<size_t>(std::count_if(
      tests.begin(), tests.end(), [&](const TestResult& test) { return test.outcome == outcome; }));
}

const char* LadderResult::Verdict() const {
  if (Count(Outcome::kFailed) != 0) return "FAIL";
  if (Count(Outcome::kMarginal) != 0) return "MARGINAL";
  return Count(Outcome::kPassed) != 0 ? "PASS" : "NOT TESTED";
}

void PrepareTests() {
  int arguments = 1;
  std::string program = "spyre-bringup";
  char* words[] = {program.data(), nullptr};
  ::testing::InitGoogleTest(&arguments, words);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listener = new Listener;
  listeners.Append(listener);
}

std::vector<TestPlace> AllTests() {
  std::vector<TestPlace> places;
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *program.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      places.push_back(PlaceOf(suite, *suite.GetTestInfo(t)));
  }
  StableSort(places, [](const TestPlace& a, const TestPlace& b) { return a.rung < b.rung; });
  return places;
}

std::vector<TestPlace> SelectedTests(const LadderOptions& options) {
  std::vector<TestPlace> selected;
  size_t higher = 0;
  for (const TestPlace& place : AllTests()) {
    if (!OfRungs(place, options)) continue;
    if (place.level > options.level) {
      ++higher;
    } else {
      selected.push_back(place);
    }
  }
  if (selected.empty()) {
    throw BadInput("no test is asked for by these rungs, this level and these names{}",
                   higher > 0 ? fmt::format("; {} are of a higher level", higher) : "");
  }
  return selected;
}

LadderResult RunLadder(const LadderOptions& options) {
  const std::vector<TestPlace> selected = SelectedTests(options);
  LadderResult result;
  for (const TestPlace& place : AllTests())
    result.of_higher_levels += OfRungs(place, options) && place.level > options.level;
  const auto take = [&](TestResult test) {
    result.tests.push_back(std::move(test));
    if (options.on_result) options.on_result(result.tests.back());
  };
  listener->Begin(take, selected);
  int broken = 0;
  for (const TestPlace& place : selected) {
    if (result.interrupted) {
      take(NotRun(place, InterruptionText(LastInterruption())));
      continue;
    }
    if (TheBoard().lost()) {
      take(NotRun(place, "the card has not come back from a reset"));
      continue;
    }
    if (options.stop_at_broken_rung && broken != 0 && place.rung > broken) {
      take(NotRun(place, fmt::format("rung {} is broken", broken)));
      continue;
    }
    ::testing::GTEST_FLAG(filter) = place.gtest;
    [[maybe_unused]] const int status = RUN_ALL_TESTS();  // the listener hears more
    if (result.tests.back().outcome == Outcome::kFailed && broken == 0) broken = place.rung;
    result.interrupted = LastInterruption() != 0;
  }
  return result;
}

}  // namespace spyre::bringup
