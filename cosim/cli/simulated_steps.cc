// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/simulated_steps.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/json_text.h"
#include "cosim/report/report_next.h"
#include "cosim/trials/run_trials.h"
#include "cosim/what_if/resources.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// question: a list of lists of settings. Answers a list of launch windows in ns, null for a
// configuration that does not run.
std::string WindowsOf(const RunArguments& args, const std::string& question) {
  const Json asked = spyre::JsonOf(question);
  Json windows(asked.size(), nullptr);
  RunTrials(
      asked.size(),
      [&](size_t number) {
        std::vector<std::string> sets = args.sets;
        for (const Json& set : asked[number]) sets.push_back(set.get<std::string>());
        return ConfigOf(args.config, sets, args.bundle);
      },
      {},
      [&](size_t number, const TrialResult& result) {
        if (result.ended()) windows[number] = result.Number("launch_ns");
      });
  return DumpJson(windows);
}

std::vector<std::string> SetsOf(const RunConfig& config, const NextStep& step) {
  if (!step.sets.empty()) return step.sets;
  for (const ResourceParameters& resource : Resources())
    if (step.resource == resource.resource) return FasterSets(config, resource, 2);
  return {};
}

}  // namespace

SimulatedSteps::SimulatedSteps(const RunArguments& args) {
  if (args.estimate_next || !args.transport.empty() || args.gdb_port) return;
  child_.emplace([&args](const std::string& question) { return WindowsOf(args, question); });
}

void SimulatedSteps::AddTo(RunResult& result) {
  if (!child_ || result.LaunchPs() == 0 || !IsCheapToSimulate(result)) return;
  std::vector<std::string> names;
  Json question = Json::array();
  for (const NextStep& step : StepsToSimulate(result)) {
    std::vector<std::string> sets = SetsOf(result.config, step);
    if (sets.empty()) continue;
    names.push_back(step.what);
    question.push_back(std::move(sets));
  }
  if (names.empty()) return;
  ChildResult answer;
  try {
    answer = child_->Ask(DumpJson(question));
  } catch (const Interruption&) {
    return;  // the run itself has ended
  }
  if (answer.error) return;
  const Json windows = spyre::JsonOf(answer.bytes);
  const double window_ns = static_cast<double>(result.LaunchPs()) / 1000;
  for (size_t i = 0; i < names.size(); ++i) {
    if (windows[i].is_number())
      result.simulated_changes[names[i]] = 1 - windows[i].get<double>() / window_ns;
  }
}

}  // namespace spyre::cosim
