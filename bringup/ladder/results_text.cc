// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/results_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <sstream>

namespace spyre::bringup {
namespace {

std::string Indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += "      " + line + "\n";
  return result;
}

std::string Figure(const Measurement& measured) {
  std::string text = fmt::format("{} = {:.6g} {}", measured.name, measured.value, measured.unit);
  if (!measured.limits) return text;
  const auto& [low, high] = *measured.limits;
  if (std::isfinite(low) && std::isfinite(high)) {
    text += fmt::format(" (should be {:.6g} to {:.6g})", low, high);
  } else if (std::isfinite(low)) {
    text += fmt::format(" (should be {:.6g} or more)", low);
  } else if (std::isfinite(high)) {
    text += fmt::format(" (should be {:.6g} or less)", high);
  }
  return text;
}

}  // namespace

std::string Line(const TestResult& test, const TextStyle& style) {
  static constexpr std::array<Accent, kOutcomes> kAccents = {Accent::kGood, Accent::kWarning,
                                                             Accent::kBad, Accent::kWarning};
  const auto outcome = static_cast<size_t>(test.outcome);
  std::string text =
      fmt::format("{} {}.{}  {:.2f} s\n",
                  style.Paint(kAccents.at(outcome), fmt::format("{:<13}", Name(test.outcome))),
                  test.suite, test.name, test.wall_seconds);
  for (const Measurement& measured : test.measurements) text += Indented(Figure(measured));
  if (!test.message.empty()) text += Indented(test.message);
  return text;
}

std::string Summary(const LadderResult& result, const TextStyle& style) {
  struct Counts {
    std::array<size_t, kOutcomes> outcomes{};
    double seconds = 0;
  };
  std::map<int, Counts> rungs;
  double seconds = 0;
  for (const TestResult& test : result.tests) {
    Counts& rung = rungs[test.rung];
    ++rung.outcomes.at(static_cast<size_t>(test.outcome));
    rung.seconds += test.wall_seconds;
    seconds += test.wall_seconds;
  }
  std::string text = fmt::format("\n{:>4} {:>8} {:>9} {:>8} {:>14} {:>10}\n", "rung", "passed",
                                 "marginal", "failed", "could not run", "seconds");
  for (const auto& [rung, counts] : rungs) {
    text += fmt::format("{:>4} {:>8} {:>9} {:>8} {:>14} {:>10.2f}\n", rung, counts.outcomes[0],
                        counts.outcomes[1], counts.outcomes[2], counts.outcomes[3], counts.seconds);
  }
  const size_t failed = result.Count(Outcome::kFailed);
  const size_t could_not_run = result.Count(Outcome::kCouldNotRun);
  const size_t marginal = result.Count(Outcome::kMarginal);
  text += fmt::format("\n{}: ", result.Verdict());
  text += style.Paint(
      failed != 0                     ? Accent::kBad
      : could_not_run + marginal != 0 ? Accent::kWarning
                                      : Accent::kGood,
      fmt::format("{} passed,{} {} failed, {} could not run", result.Count(Outcome::kPassed),
                  marginal == 0 ? "" : fmt::format(" {} marginal,", marginal), failed,
                  could_not_run));
  text += fmt::format(" in {:.1f} s", seconds);
  if (result.of_higher_levels > 0)
    text += fmt::format("; {} of higher levels were not asked for", result.of_higher_levels);
  return text + "\n";
}

}  // namespace spyre::bringup
