// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/results_json.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace spyre::bringup {
namespace {

using Json = nlohmann::ordered_json;

Json BoundOf(double bound) { return std::isfinite(bound) ? Json(bound) : Json(nullptr); }

Json ToJson(const Measurement& measured) {
  Json json = {{"name", measured.name}, {"value", measured.value}, {"unit", measured.unit}};
  if (measured.limits) {
    json["low"] = BoundOf(measured.limits->low);
    json["high"] = BoundOf(measured.limits->high);
    json["within"] = measured.within();
  }
  return json;
}

Json ToJson(const TestResult& test) {
  Json json = {{"rung", test.rung},
               {"level", test.level},
               {"suite", test.suite},
               {"name", test.name},
               {"outcome", Name(test.outcome)},
               {"wall_seconds", test.wall_seconds},
               {"card_ns", static_cast<double>(test.card_ps) / 1000}};
  if (!test.message.empty()) json["message"] = test.message;
  if (!test.measurements.empty()) {
    json["measurements"] = Json::array();
    for (const Measurement& measured : test.measurements)
      json["measurements"].push_back(ToJson(measured));
  }
  return json;
}

std::string TestCase(const TestResult& test) {
  std::string xml = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n",
                                Escaped(test.suite), Escaped(test.name), test.wall_seconds);
  if (test.outcome == Outcome::kFailed) {
    const std::string first = test.message.substr(0, test.message.find('\n'));
    xml += fmt::format("      <failure message=\"{}\">{}</failure>\n", Escaped(first),
                       Escaped(test.message));
  } else if (test.outcome == Outcome::kCouldNotRun) {
    xml += fmt::format("      <skipped message=\"{}\"/>\n", Escaped(test.message));
  }
  if (!test.measurements.empty() || test.outcome == Outcome::kMarginal) {
    xml += "      <system-out>";
    if (test.outcome == Outcome::kMarginal) xml += Escaped("marginal: " + test.message + "\n");
    for (const Measurement& measured : test.measurements)
      xml += Escaped(fmt::format("{} = {} {}\n", measured.name, measured.value, measured.unit));
    xml += "</system-out>\n";
  }
  return xml + "    </testcase>\n";
}

}  // namespace

Json ToJson(const LadderResult& result) {
  Json tests = Json::array();
  for (const TestResult& test : result.tests) tests.push_back(ToJson(test));
  return {{"verdict", result.Verdict()},
          {"passed", result.Count(Outcome::kPassed)},
          {"marginal", result.Count(Outcome::kMarginal)},
          {"failed", result.Count(Outcome::kFailed)},
          {"could_not_run", result.Count(Outcome::kCouldNotRun)},
          {"of_higher_levels", result.of_higher_levels},
          {"interrupted", result.interrupted},
          {"tests", std::move(tests)}};
}

std::string ToJunit(const LadderResult& result) {
  struct Suite {
    size_t tests = 0, failures = 0, skipped = 0;
    double seconds = 0;
    std::string cases;
  };
  std::map<std::pair<int, std::string>, Suite> suites;
  double seconds = 0;
  for (const TestResult& test : result.tests) {
    Suite& suite = suites[{test.rung, test.suite}];
    ++suite.tests;
    suite.failures += test.outcome == Outcome::kFailed;
    suite.skipped += test.outcome == Outcome::kCouldNotRun;
    suite.seconds += test.wall_seconds;
    seconds += test.wall_seconds;
    suite.cases += TestCase(test);
  }
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"spyre-bringup\" tests=\"{}\" "
      "failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
      result.tests.size(), result.Count(Outcome::kFailed), result.Count(Outcome::kCouldNotRun),
      seconds);
  for (const auto& [key, suite] : suites) {
    xml += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}  </testsuite>\n",
        Escaped(key.second), suite.tests, suite.failures, suite.skipped, suite.seconds,
        suite.cases);
  }
  return xml + "</testsuites>\n";
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        escaped += byte < 0x20 && c != '\n' && c != '\t' ? '?' : c;
      }
    }
  }
  return escaped;
}

}  // namespace spyre::bringup
