// SPDX-License-Identifier: Apache-2.0
#include "cosim/exec/exec_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/exec/child_program.h"
#include "cosim/exec/program_environment.h"
#include "cosim/exec/served_cards.h"
#include "traces/report.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ExecArguments {
  ProgramCardChoice card;
  std::vector<std::string> words;
  uint64_t cards = 0;                       // 0: --cards is not given
  std::vector<std::string> cards_of_files;  // of --card
  std::string keep_arguments = "64M";
  bool strict = false, print_environment = false;
};

// "out/model" of "python model.py": the script's name, or else the program's.
std::string DefaultDirectory(const std::vector<std::string>& words) {
  fs::path name = fs::path(words.front()).filename();
  for (const std::string& word : words) {
    if (fs::path(word).extension() == ".py") name = fs::path(word).stem();
  }
  return (fs::path("out") / name).string();
}

// "64M": bytes, or KiB, MiB, GiB.
uint64_t SizeOf(const std::string& text) {
  constexpr std::string_view kUnits = "KMG";
  uint64_t size = 0;
  const char* const end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, size);
  const size_t unit = stop == end ? std::string_view::npos : kUnits.find(*stop);
  const unsigned shift =
      unit == std::string_view::npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  if (unit != std::string_view::npos) ++stop;
  if (error != std::errc() || stop != end || size > (UINT64_MAX >> shift)) {
    throw BadInput("--keep-arguments {}: a size is expected, as 4096, 64M or 2G", text)
        .Subject("--keep-arguments");
  }
  return size << shift;
}

std::string ShellQuoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

void PrintEnvironment(const Variables& environment) {
  for (const auto& [name, value] : environment)
    std::cout << fmt::format("export {}={}\n", name, ShellQuoted(value));
}

// The report of the process that had the card; null: none of them opened it, or it ended before it
// could write.
Json ReportOf(const std::string& directory) {
  const std::string path = directory + "/report.json";
  std::error_code error;
  if (!fs::exists(path, error)) return nullptr;
  return JsonIfAny(ReadFile(path, "report", uint64_t{1} << 30));
}

void WritePage(const std::string& directory) {
  const std::string trace_path = directory + "/trace.sctrace";
  std::error_code error;
  if (!fs::exists(trace_path, error)) return;
  const trace::Trace trace = trace::ReadTrace(trace_path);
  OutputFile page(directory + "/report.html", "report page");
  trace::WriteReport({{trace, "trace.sctrace", trace::ReportBeside(trace_path, trace)}},
                     page.stream());
  page.Commit();
}

// What the report says of the card: 0, or the status for a wrong result or a fault.
int CardStatus(const Json& report, const ExecHelpers& helpers) {
  if (!report.is_object()) return helpers.fault;
  const Json verdict = report.value("verdict", Json::object());
  if (verdict.value("wrong_launches", 0) > 0) return helpers.wrong;  // of those that were compared
  if (verdict.value("failed_operations", 0) > 0) return helpers.fault;
  return 0;
}

// Nothing else that somebody may have in a directory of this name.
void RemoveKeptBundles(const fs::path& kernels) {
  std::error_code error;
  std::vector<fs::path> kept = {kernels / ".compiled"};
  for (const fs::directory_entry& entry : fs::directory_iterator(kernels, error)) {
    if (fs::exists(entry.path() / "launch.toml", error) &&
        fs::exists(entry.path() / "bundle.mlir", error))
      kept.push_back(entry.path());
  }
  for (const fs::path& path : kept) fs::remove_all(path, error);
  fs::remove(kernels, error);  // if it is empty
}

// What the server of several cards has written is shown; its words for a rank that died have come
// while the program ran.
void ShowCards(const std::string& directory, const ServedCards& cards) {
  const std::string summary = directory + "/summary.txt";
  std::error_code error;
  if (!fs::exists(summary, error)) {
    std::cerr << fmt::format("spyre-cosim: {} has no report; {}/serve.log says why\n", directory,
                             directory);
    return;
  }
  WritePage(directory);
  std::cerr << "\n" << ReadFile(summary, "summary");
  if (!cards.lost().empty()) std::cerr << fmt::format("spyre-cosim: {} died\n", cards.lost());
}

int RunOnCards(ExecArguments& args, const std::string& sdk, const ExecHelpers& helpers) {
  ServedCardsChoice choice;
  choice.count = static_cast<unsigned>(args.cards);
  choice.config = args.card.config;
  choice.sets = args.card.sets;
  choice.cards = args.cards_of_files;
  choice.out = args.card.out;
  choice.program = fmt::format("{}", fmt::join(args.words, " "));
  helpers.check(choice.config, KeysOfServedCards(choice));
  std::error_code error;
  fs::remove(choice.out + "/summary.txt", error);
  ServedCards cards(choice, [](const std::string& client) {
    std::cerr << fmt::format("spyre-cosim: {} died; the run is ended\n", client);
    EndProgram();
  });
  args.card.cards = choice.count;
  args.card.served = cards.where();
  int status = RunProgram(args.words, ProgramEnvironment(sdk, args.card));
  cards.End();
  ShowCards(choice.out, cards);
  if (status == 0 && !cards.lost().empty()) status = helpers.fault;
  if (status != 0 || !args.strict) return status;
  return ReportOf(choice.out).is_object() ? 0 : helpers.fault;
}

int RunExec(ExecArguments& args, const ExecHelpers& helpers) {
  if (args.cards == 0) {
    helpers.check(args.card.config, args.card.sets);
    if (!args.cards_of_files.empty()) throw BadInput("--card: it is for --cards");
  }
  args.card.keep_bytes = SizeOf(args.keep_arguments);
  const std::string sdk = SdkDirectory();
  if (args.print_environment) {
    PrintEnvironment(ProgramEnvironment(sdk, args.card));
    return 0;
  }
  if (args.words.empty()) throw BadInput("exec: no program is given; write it behind --");
  if (args.card.out.empty()) args.card.out = DefaultDirectory(args.words);
  // A report of an earlier program would be taken for this one's.
  std::error_code error;
  fs::remove(args.card.out + "/report.json", error);
  RemoveKeptBundles(fs::path(args.card.out) / "kernels");
  if (args.cards > 0) return RunOnCards(args, sdk, helpers);
  const int status = RunProgram(args.words, ProgramEnvironment(sdk, args.card));
  const Json report = ReportOf(args.card.out);
  if (!report.is_object()) {
    std::cerr << fmt::format(
        "spyre-cosim: {} has no report: no process of the program opened a card, or the one that "
        "did was killed\n",
        args.card.out);
  } else {
    WritePage(args.card.out);
    std::cerr << "\n" << ReadFile(args.card.out + "/summary.txt", "summary");
  }
  if (status != 0 || !args.strict) return status;
  return CardStatus(report, helpers);
}

}  // namespace

void AddExecCommand(command_line::Command& root, const ExecHelpers& helpers) {
  using command_line::Words;
  command_line::Command& command = root.AddCommand(
      "exec", "Run a program of PyTorch, as it is, on the modelled card (docs/torch.md)");
  command.Footer(
      "Exit status: that of the program; with --strict, where the program itself ends with 0: 1 if "
      "a result of the card was wrong, 3 if the card failed or wrote no report; 2 bad input.");
  const auto args = std::make_shared<ExecArguments>();
  command
      .Add("PROGRAM", args->words,
           "the program and its arguments, behind --: exec -- python model.py")
      .Completes(Words::kFiles);
  command.Add("--config", args->card.config, "TOML file; its card is the program's")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  helpers.add_sets(command, args->card.sets);
  command
      .Add("--out", args->card.out,
           "directory of report.json, report.html, the trace and the summary; default: out/ and "
           "the program's name")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command
      .Add("--verify", args->card.verify,
           "which launches are compared with the reference: none; sample, the first one of each "
           "bundle unless it is large; full, all",
           command_line::Choices<std::string>{
               {"none", "none"}, {"sample", "sample"}, {"full", "full"}})
      .Placeholder("LAUNCHES");
  command
      .Add("--keep-arguments", args->keep_arguments,
           "the most bytes of arguments that are kept with a bundle")
      .Placeholder("SIZE");
  command
      .Add("--cards", args->cards,
           "serve so many cards to the processes of the program: exec --cards 4 -- torchrun "
           "--nproc-per-node 4 model.py (docs/multi-card.md)",
           1, 64)
      .Placeholder("N");
  command.Add("--card", args->cards_of_files, "of --cards: card N is that of FILE, with its faults")
      .Placeholder("N=FILE");
  command.Add("--strict", args->strict, "a wrong result or a fault of the card decides the status");
  command.Add("--print-env", args->print_environment,
              "run nothing; print the variables that the program would get");
  command.Action([args, helpers] { return RunExec(*args, helpers); });
}

}  // namespace spyre::cosim
