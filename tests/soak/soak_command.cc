// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
#include "base/json_text.h"
#include "cosim/cli/common_options.h"
#include "cosim/cli/progress_bar.h"
#include "cosim/config/config.h"
#include "cosim/session/session_setup.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kPermille = 1000;

std::string Text(const SoakResult& result) {
  const SoakCounts& c = result.counts;
  const SoakSample& first = result.samples.front();
  const SoakSample& last = result.samples.back();
  trace::Table table({"after", "memory", "mappings", "allocations", "outstanding", "entries",
                      "bytes", "reference"});
  const auto add = [&](const SoakSample& s) {
    table.Add({trace::FormatTime(s.time_ps), trace::FormatBytes(s.resident_bytes),
               fmt::format("{}", s.host_mappings), fmt::format("{}", s.allocations),
               fmt::format("{}", s.outstanding), fmt::format("{}", s.counted),
               trace::FormatBytes(s.counted_bytes), trace::FormatTime(s.reference_ps)});
  };
  constexpr size_t kLines = 12;
  const size_t every = (result.samples.size() + kLines - 1) / kLines;
  for (size_t i = 0; i + 1 < result.samples.size(); i += every) add(result.samples[i]);
  add(last);
  std::string text = table.ToString();
  text += fmt::format(
      "\n{} bursts: {} copies and {} fills of {}, {} launches, {} events\n{} resets of functions, "
      "{} "
      "changes of owners, {} resets of the card; {} operations were dropped by them\n",
      c.bursts, c.copies, c.fills, trace::FormatBytes(c.copied_bytes), c.launches, c.events,
      c.resets, c.owners, c.card_resets, c.dropped);
  text +=
      fmt::format("simulated time: {}, {} of it after the first look\n",
                  trace::FormatTime(last.time_ps), trace::FormatTime(last.time_ps - first.time_ps));
  if (c.faults > 0) {
    text += fmt::format("{} declared faults struck: {} corrected, {} detected, {} masked\n",
                        c.faults, c.corrected, c.detected, c.faults - c.corrected - c.detected);
  }
  for (const std::string& finding : result.findings) text += "found: " + finding + "\n";
  if (result.findings.empty())
    text += fmt::format("{} looks: nothing grows, drifts or is lost\n", result.samples.size());
  return text;
}

std::string JsonText(const SoakResult& result) {
  const SoakCounts& c = result.counts;
  Json samples = Json::array();
  for (const SoakSample& s : result.samples) {
    samples.push_back({{"time_ps", s.time_ps},
                       {"resident_bytes", s.resident_bytes},
                       {"host_mappings", s.host_mappings},
                       {"allocations", s.allocations},
                       {"outstanding", s.outstanding},
                       {"entries_given", s.given},
                       {"entries_answered", s.answered},
                       {"entries_counted", s.counted},
                       {"bytes_given", s.given_bytes},
                       {"bytes_answered", s.answered_bytes},
                       {"bytes_counted", s.counted_bytes},
                       {"device_ps", s.device_ps},
                       {"reference_ps", s.reference_ps}});
  }
  const Json root = {
      {"bursts", c.bursts},     {"copies", c.copies},       {"fills", c.fills},
      {"launches", c.launches}, {"events", c.events},       {"copied_bytes", c.copied_bytes},
      {"resets", c.resets},     {"owners", c.owners},       {"card_resets", c.card_resets},
      {"dropped", c.dropped},   {"errors", c.errors},       {"findings", result.findings},
      {"faults", c.faults},     {"corrected", c.corrected}, {"detected", c.detected},
      {"samples", samples}};
  return DumpJson(root, 2) + "\n";
}

}  // namespace

void DeclareSoak(command_line::Command& command, std::ostream& out) {
  using command_line::Words;
  command.Footer(
      "Exit status: 0 nothing was found; 1 something was; 2 bad input; 3 the card was lost.\nWhat "
      "is "
      "done and looked at is in docs/security.md.");
  const auto args = std::make_shared<SoakArguments>();
  SoakPlan& plan = args->plan;
  command.Add("CONFIG", args->config, "card, host and runtime; its workload is not run")
      .Completes(Words::kFiles);
  command.Add("--hours", plan.hours, "of simulated time", 0.0001, 1000).ShowDefault();
  command.Add("--seed", plan.seed, "of everything random").ShowDefault();
  command.Add("--functions", plan.functions, "virtual functions that work", 1, 8).ShowDefault();
  command
      .Add("--bursts-per-hour", plan.bursts_per_hour, "pieces of work, with pauses between them", 1,
           100'000'000)
      .ShowDefault()
      .Placeholder("N");
  command.Add("--checks-per-hour", plan.checks_per_hour, "how often is looked", 1, 1'000'000)
      .ShowDefault()
      .Placeholder("N");
  command
      .Add("--bursts-per-reset", plan.bursts_per_reset,
           "one in N is followed by a reset of its function; 0: none")
      .ShowDefault()
      .Placeholder("N");
  command
      .Add("--bursts-per-owner", plan.bursts_per_owner,
           "one in N is followed by a change of the owner; 0: none")
      .ShowDefault()
      .Placeholder("N");
  command
      .Add("--bursts-per-card-reset", plan.bursts_per_card_reset,
           "one in N is followed by a reset of the card; 0: none")
      .ShowDefault()
      .Placeholder("N");
  command.Add("--json", args->json, "as JSON, with every look");
  command.Add("--no-progress", args->no_progress, "no progress bar");
  AddSets(command, args->sets);
  command.Action([args, &out] {
    CatchInterrupts(0);
    std::optional<ProgressBar> bar;
    if (!args->json && !args->no_progress && isatty(STDERR_FILENO) != 0) bar.emplace();
    return RunSoakCommand(*args, bar ? &*bar : nullptr, out);
  });
}

int RunSoakCommand(const SoakArguments& args, ProgressListener* progress, std::ostream& out) {
  RunConfig config = LoadConfig(args.config, args.sets);
  config.card.num_vfs = std::max(config.card.num_vfs, args.plan.functions);
  const HostTiming timing{config.host.register_write_ns, config.host.register_read_ns,
                          config.host.interrupt_ns};
  InProcessTransport transport(config.card, timing, nullptr);
  const SoakResult result =
      Soak(transport, RuntimeOptionsOf(config, nullptr), args.plan, [&](uint64_t done) {
        if (progress != nullptr) progress->Update("soak", done, kPermille);
      });
  out << (args.json ? JsonText(result) : Text(result));
  return result.findings.empty() ? 0 : 1;
}

}  // namespace spyre::cosim
