// SPDX-License-Identifier: Apache-2.0
#include "traces/check/check_command.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json_text.h"
#include "traces/check/check.h"

namespace spyre::trace {
namespace {

struct CheckArguments {
  std::string file, rules, junit;
  bool json = false;
};

int RunCheck(const CheckArguments& args, std::ostream& out) {
  const std::vector<Rule> rules = ReadRules(args.rules);
  const std::vector<RuleResult> results = CheckRules(ReadTrace(args.file), rules);
  if (!args.junit.empty()) WriteFile(args.junit, ToJunit(results, args.file), "JUnit result");
  out << (args.json ? DumpJson(ToJson(results), 2) + "\n" : ToText(results));
  return AllPassed(results) ? 0 : 1;
}

}  // namespace

void AddCheckCommand(command_line::Command& trace, std::ostream& out) {
  using command_line::Words;
  const auto a = std::make_shared<CheckArguments>();  // lives as long as the action
  command_line::Command& command =
      trace.AddCommand("check", "Hold a trace to rules; exit with 1 when one is not kept");
  command.Add("FILE", a->file, "the trace file").Required().Completes(Words::kFiles);
  command.Add("RULES", a->rules, "TOML file of the rules").Required().Completes(Words::kFiles);
  command.Add("--json", a->json, "machine-readable output");
  command.Add("--junit", a->junit, "also write the result as JUnit's XML")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  command.Action([a, &out] { return RunCheck(*a, out); });
}

}  // namespace spyre::trace
