// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/replay_command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/time_units.h"
#include "base/verdict.h"
#include "cosim/cli/common_options.h"
#include "cosim/config/config.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/replay/replay.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(const ReplayResult& result, const std::string& path, size_t records) {
  std::string text;
  if (result.divergence) {
    const Divergence& d = *result.divergence;
    text += fmt::format("record {} of {}: {}\n", d.index + 1, records, d.access);
    text += fmt::format("  recorded at {}: {}\n", trace::FormatTime(d.recorded_ps), d.recorded);
    text += fmt::format("  replayed at {}: {}\n", trace::FormatTime(d.replayed_ps), d.replayed);
    if (!d.fields.empty()) {
      trace::Table table({"field", "recorded", "replayed"});
      for (const FieldDifference& field : d.fields)
        table.Add({field.name, field.recorded, field.replayed});
      text += table.ToString();
    }
    if (!d.waits.empty()) text += d.waits + (d.waits.back() == '\n' ? "" : "\n");
  }
  Verdict verdict;
  verdict.ran = fmt::format("replay of {}: {} accesses, {} interrupts, {} responses, {} of output",
                            path, result.accesses, result.interrupts, result.responses,
                            trace::FormatBytes(result.output_bytes));
  verdict.right = result.divergence ? Rightness::kWrong : Rightness::kRight;
  verdict.checked = "all that the host could see is equal to the recording";
  if (result.divergence) {
    verdict.checked = fmt::format("record {} of {} is the first that differs, as above",
                                  result.divergence->index + 1, records);
  }
  verdict.time =
      fmt::format("recorded {}, replayed {} (simulated, from power-on)",
                  trace::FormatTime(result.recorded_ps), trace::FormatTime(result.replayed_ps));
  return text + (text.empty() ? "" : "\n") + ToText(verdict, {});
}

std::string JsonText(const ReplayResult& result, size_t records) {
  Json root = {{"equal", !result.divergence},
               {"records", records},
               {"accesses", result.accesses},
               {"interrupts", result.interrupts},
               {"responses", result.responses},
               {"output_bytes", result.output_bytes},
               {"recorded_ns", Nanoseconds(result.recorded_ps)},
               {"replayed_ns", Nanoseconds(result.replayed_ps)},
               {"divergence", nullptr}};
  if (result.divergence) {
    const Divergence& d = *result.divergence;
    Json fields = Json::array();
    for (const FieldDifference& field : d.fields) {
      fields.push_back(
          {{"name", field.name}, {"recorded", field.recorded}, {"replayed", field.replayed}});
    }
    root["divergence"] = {{"record", d.index},
                          {"access", d.access},
                          {"recorded", d.recorded},
                          {"replayed", d.replayed},
                          {"recorded_ns", Nanoseconds(d.recorded_ps)},
                          {"replayed_ns", Nanoseconds(d.replayed_ps)},
                          {"fields", fields},
                          {"waits", d.waits}};
  }
  return DumpJson(root, 2) + "\n";
}

}  // namespace

void AddReplayCommand(command_line::Command& root) {
  command_line::Command& command =
      root.AddCommand("replay", "Repeat a recorded run on another card, without its application");
  command.Footer(
      "Exit status: 0 equal; 1 the first divergence is printed; 2 bad input; 3 device fault, hang "
      "or lost device.\nWhat is compared is in docs/replay.md.");
  const auto args = std::make_shared<ReplayArguments>();
  command.Add("FILE", args->path, "what run --record has written")
      .Required()
      .Completes(command_line::Words::kFiles);
  command
      .Add("--patience", args->patience_ms,
           "simulated milliseconds after which what does not come is missing", 1, 1'000'000)
      .ShowDefault()
      .Placeholder("MS");
  command.Add("--json", args->json, "as JSON");
  AddSets(command, args->sets);
  command.Action([args] { return RunReplayCommand(*args, std::cout); });
}

int RunReplayCommand(const ReplayArguments& args, std::ostream& out) {
  const Recording recording = ReadRecording(args.path);
  const RunConfig config = ParseConfig(recording.config, args.path + " (configuration)", args.sets);
  const HostTiming timing{config.host.register_write_ns, config.host.register_read_ns,
                          config.host.interrupt_ns};
  InProcessTransport transport(config.card, timing, nullptr);
  ReplayOptions options;
  options.in_order = config.card.concurrency == model::Concurrency::kSerial;
  options.patience_ps = args.patience_ms * 1'000'000'000;
  const ReplayResult result = Replay(recording, transport, options);
  const size_t records = recording.records.size();
  out << (args.json ? JsonText(result, records) : Text(result, args.path, records));
  return result.divergence ? 1 : 0;
}

}  // namespace spyre::cosim
