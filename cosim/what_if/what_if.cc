// SPDX-License-Identifier: Apache-2.0
#include "cosim/what_if/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/trials/progress.h"

namespace spyre::cosim {
namespace {

std::vector<TrialResult> Run(const WhatIfOptions& options, const ConfigReader& reader,
                             const std::vector<std::vector<std::string>>& changes,
                             std::ostream& messages) {
  std::vector<TrialResult> results(changes.size());
  TrialOptions trials;
  trials.jobs = options.jobs;
  TrialProgress progress("what-if", changes.size(), messages);
  RunTrials(
      changes.size(),
      [&](size_t number) {
        std::vector<std::string> sets = options.sets;
        sets.insert(sets.end(), changes[number].begin(), changes[number].end());
        return reader(options.config, sets);
      },
      trials,
      [&](size_t number, TrialResult result) {
        results[number] = std::move(result);
        progress.Ended();
      });
  return results;
}

// The sign that a change of the figure for the worse has.
double SignOf(const WhatIf& what_if) { return what_if.figure.more_is_better ? -1 : 1; }

// Every parameter one at a time; the first trial is the configuration as it is.
void AskSingles(const WhatIfOptions& options, const ConfigReader& reader, std::ostream& messages,
                WhatIf& what_if) {
  std::vector<std::vector<std::string>> changes = {{}};
  for (Answer& answer : what_if.answers) {
    const Parameter& parameter = answer.parameter;
    if (const auto value = Faster(parameter, options.factor)) {
      answer.faster = Change{*value, {}};
      changes.push_back(SetsOf(parameter, *value));
    }
    if (const auto value = Slower(parameter, options.factor)) {
      answer.slower = Change{*value, {}};
      changes.push_back(SetsOf(parameter, *value));
    }
  }
  std::vector<TrialResult> results = Run(options, reader, changes, messages);
  what_if.base = std::move(results[0]);
  RequireEnded(what_if.base);
  const double figure = what_if.base.Number(what_if.figure.name);
  if (figure == 0 || std::isnan(figure)) {
    throw BadInput("--figure {}: {}, so that no change of it can be told", what_if.figure.name,
                   figure == 0 ? "it is 0 in this run" : "this run has none")
        .Subject("--figure");
  }
  size_t next = 1;
  for (Answer& answer : what_if.answers) {
    if (answer.faster) answer.faster->result = std::move(results[next++]);
    if (answer.slower) answer.slower->result = std::move(results[next++]);
  }
}

double CostOf(const WhatIf& what_if, const std::optional<Change>& change) {
  return change ? CostOf(what_if, change->result) : 0;
}

void Sort(WhatIf& what_if) {
  const auto best = [&](const Answer& answer) {
    const Change* const better = BetterOf(what_if, answer);
    return better == nullptr ? 0 : CostOf(what_if, better->result);
  };
  const auto worst = [&](const Answer& answer) {
    return std::max(CostOf(what_if, answer.faster), CostOf(what_if, answer.slower));
  };
  StableSort(what_if.answers, [&](const Answer& a, const Answer& b) {
    if (best(a) != best(b)) return best(a) < best(b);
    return worst(a) > worst(b);
  });
}

void AskPairs(const WhatIfOptions& options, const ConfigReader& reader, std::ostream& messages,
              WhatIf& what_if) {
  std::vector<size_t> helpful;
  for (size_t i = 0; i < what_if.answers.size() && helpful.size() < options.pairs; ++i) {
    const Change* const better = BetterOf(what_if, what_if.answers[i]);
    if (better != nullptr && CostOf(what_if, better->result) < 0) helpful.push_back(i);
  }
  std::vector<std::vector<std::string>> changes;
  for (size_t a = 0; a < helpful.size(); ++a) {
    for (size_t b = a + 1; b < helpful.size(); ++b) {
      const Answer& first = what_if.answers[helpful[a]];
      const Answer& second = what_if.answers[helpful[b]];
      what_if.pairs.push_back({helpful[a], helpful[b], {}});
      changes.push_back(SetsOf(first.parameter, BetterOf(what_if, first)->value));
      for (std::string& set : SetsOf(second.parameter, BetterOf(what_if, second)->value))
        changes.back().push_back(std::move(set));
    }
  }
  std::vector<TrialResult> results = Run(options, reader, changes, messages);
  for (size_t i = 0; i < results.size(); ++i) what_if.pairs[i].result = std::move(results[i]);
  StableSort(what_if.pairs, [&](const PairAnswer& a, const PairAnswer& b) {
    const double sign = SignOf(what_if);
    return sign * (ChangeOf(what_if, a.result) - ExpectedOf(what_if, a)) <
           sign * (ChangeOf(what_if, b.result) - ExpectedOf(what_if, b));
  });
}

}  // namespace

double ChangeOf(const WhatIf& what_if, const TrialResult& result) {
  if (!result.ended()) return 0;
  const size_t figure = NumberFigure(what_if.figure.name);
  return result.numbers[figure] / what_if.base.numbers[figure] - 1;
}

double CostOf(const WhatIf& what_if, const TrialResult& result) {
  return SignOf(what_if) * ChangeOf(what_if, result);
}

const Change* BetterOf(const WhatIf& what_if, const Answer& answer) {
  if (answer.parameter.direction != Direction::kEither)
    return answer.faster && answer.faster->result.ended() ? &*answer.faster : nullptr;
  const auto cost = [&](const std::optional<Change>& change) {
    return change && change->result.ended() ? CostOf(what_if, change->result) : INFINITY;
  };
  const double faster = cost(answer.faster), slower = cost(answer.slower);
  if (std::isinf(faster) && std::isinf(slower)) return nullptr;
  return faster <= slower ? &*answer.faster : &*answer.slower;
}

double ExpectedOf(const WhatIf& what_if, const PairAnswer& pair) {
  const auto alone = [&](size_t answer) {
    return 1 + ChangeOf(what_if, BetterOf(what_if, what_if.answers[answer])->result);
  };
  return alone(pair.first) * alone(pair.second) - 1;
}

WhatIf AskWhatIf(const WhatIfOptions& options, const ConfigReader& reader, std::ostream& messages) {
  if (!(options.factor > 1))
    throw BadInput("--factor {}: must be above 1", options.factor).Subject("--factor");
  WhatIf what_if;
  what_if.figure = NumberFigures()[NumberFigure(options.figure)];
  const RunConfig config = reader(options.config, options.sets);
  Parameters parameters = ParametersOf(config, options.parameters,
                                       what_if.figure.is_energy ? Effect::kEnergy : Effect::kTime);
  what_if.config = options.config;
  what_if.factor = options.factor;
  what_if.left_out = std::move(parameters.left_out);
  for (Parameter& parameter : parameters.asked)
    what_if.answers.push_back({std::move(parameter), {}, {}});
  AskSingles(options, reader, messages, what_if);
  Sort(what_if);
  AskPairs(options, reader, messages, what_if);
  return what_if;
}

}  // namespace spyre::cosim
