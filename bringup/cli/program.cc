// SPDX-License-Identifier: Apache-2.0
#include "bringup/cli/program.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/build_info/build_info.h"
#include "base/command_line/command_line.h"
#include "base/command_line/help.h"
#include "base/command_line/man_page.h"
#include "base/command_line/parse.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/terminal.h"
#include "bringup/cli/backends.h"
#include "bringup/cli/config_dump.h"
#include "bringup/ladder/board_report.h"
#include "bringup/ladder/ladder.h"
#include "bringup/ladder/results_json.h"
#include "bringup/ladder/results_text.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

using command_line::Command;
using command_line::Request;
using command_line::Words;

enum ExitStatus {
  kAllPassed = 0,
  kSomeFailed = 1,
  kBadInputStatus = 2,
  kDeviceFaultStatus = 3,
  kBugStatus = 4,
  kSomeCouldNotRun = 5,
  kSomeMarginal = 6,
};
constexpr int kSignalStatus = 128;
constexpr const char* kExitText =
    "Exit status: 0 all tests passed; 1 a test failed; 2 bad input; 3 the card cannot be opened; 4 "
    "an error in this program; 5 no test failed, and some could not run; 6 no test failed, and "
    "some are marginal; 130 or 143 interrupted.";

struct Arguments {
  BackendArguments backend;
  std::string rungs;
  uint32_t level = 1;
  std::vector<std::string> tests;
  bool stop_at_broken_rung = false;
  bool list = false, man = false;
  uint64_t seed = 1;
  std::string json, junit, report, lspci;
  ColorMode color = ColorMode::kAuto;
};

void Declare(Command& root, Arguments& a, const std::vector<BackendKind>& more) {
  root.Footer(kExitText).Version(fmt::format("spyre-bringup {}\ncommit {}{}\n", ThisBuild().version,
                                             ThisBuild().commit,
                                             ThisBuild().modified ? " (modified)" : ""));
  std::string backends =
      "how the card is reached: inproc[:CONFIG] simulates it in this process, vfio-user:DIR is one "
      "that `spyre-cosim serve` serves, vfio:BDF is one in this machine";
  for (const BackendKind& kind : more)
    backends += fmt::format(", {}{}{}", kind.name, kind.rest.empty() ? "" : ":", kind.rest);
  root.Add("--backend", a.backend.backend, backends)
      .ShowDefault()
      .Placeholder("BACKEND")
      .Suggests({"inproc", "inproc:", "vfio-user:", "vfio:"});
  root.Add("--card", a.backend.card,
           "configuration that says what the card should be, for limits and places; a card that is "
           "not "
           "simulated here has none without it")
      .Placeholder("CONFIG")
      .Completes(Words::kFiles);
  root.Add("--set", a.backend.sets, "override one key of that configuration, as card.cores=8")
      .Placeholder("KEY=VALUE");
  root.Add("--rung", a.rungs, "run only this rung, as 3, or these, as 1-4").Placeholder("N[-M]");
  root.Add("--level", a.level,
           "how long the tests may take on a card: 1 seconds, 2 minutes, 3 an hour, 4 a soak", 1, 4)
      .ShowDefault()
      .Placeholder("1-4");
  root.Add("--test", a.tests, "run only tests whose SUITE.NAME fits, with * and ?")
      .Placeholder("PATTERN");
  root.Add("--stop-at-broken-rung", a.stop_at_broken_rung,
           "do not run what is above a rung in which a test has failed");
  root.Add("--list", a.list, "print the tests that would run, with rung and level, and end");
  root.Add("--seed", a.seed, "of random numbers").ShowDefault().Placeholder("N");
  root.Add("--json", a.json, "write the results as JSON")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  root.Add("--junit", a.junit, "write the results as JUnit's XML")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  root.Add("--report", a.report, "write a report of the board as one HTML page")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  root.Add("--lspci", a.lspci,
           "write the configuration spaces of the functions that answer, before any test runs, in "
           "the form that `lspci -F FILE -vvv` decodes")
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  root.Add("--man", a.man, "print the manual page: spyre-bringup --man | man -l -");
  root.Add("--color", a.color, "colour on a terminal, always or never",
           {{"auto", ColorMode::kAuto},
            {"always", ColorMode::kAlways},
            {"never", ColorMode::kNever}})
      .ShowDefault()
      .Placeholder("WHEN");
}

// "3" or "1-4".
void SetRungs(const std::string& text, LadderOptions& options) {
  if (text.empty()) return;
  const auto number = [&](std::string_view part) {
    int value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1)
      throw BadInput("--rung {}: must be the number of a rung, as 3, or two, as 1-4", text);
    return value;
  };
  const size_t dash = text.find('-');
  options.first_rung = number(std::string_view(text).substr(0, dash));
  options.last_rung = dash == std::string::npos ? options.first_rung
                                                : number(std::string_view(text).substr(dash + 1));
  if (options.last_rung < options.first_rung)
    throw BadInput("--rung {}: the first is above the last", text);
}

void WriteReports(const Arguments& a, const LadderResult& result) {
  if (!a.json.empty() || !a.report.empty()) {
    nlohmann::ordered_json json = {
        {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
        {"backend", a.backend.backend},
        {"level", a.level},
        {"seed", a.seed},
        {"program", fmt::format("spyre-bringup {} ({}{})", ThisBuild().version, ThisBuild().commit,
                                ThisBuild().modified ? ", modified" : "")}};
    const nlohmann::ordered_json board = DescribeBoard(TheBoard());
    if (!a.report.empty()) WriteFile(a.report, ReportPage(json, board, result), "report");
    json["board"] = board;
    json.update(ToJson(result));
    if (!a.json.empty()) WriteFile(a.json, DumpJson(json, 1) + "\n", "results");
  }
  if (!a.junit.empty()) WriteFile(a.junit, ToJunit(result), "JUnit results");
}

int StatusOf(const LadderResult& result) {
  if (result.interrupted) return kSignalStatus + LastInterruption();
  if (result.Count(Outcome::kFailed) != 0) return kSomeFailed;
  if (result.Count(Outcome::kMarginal) != 0) return kSomeMarginal;
  return result.Count(Outcome::kCouldNotRun) != 0 ? kSomeCouldNotRun : kAllPassed;
}

int Climb(const Arguments& a, const std::vector<BackendKind>& more) {
  LadderOptions options;
  SetRungs(a.rungs, options);
  options.level = static_cast<int>(a.level);
  options.tests = a.tests;
  options.stop_at_broken_rung = a.stop_at_broken_rung;
  PrepareTests();
  if (a.list) {
    for (const TestPlace& place : SelectedTests(options))
      std::cout << fmt::format("rung {:<3} level {}  {}.{}\n", place.rung, place.level, place.suite,
                               place.name);
    return kAllPassed;
  }
  (void)SelectedTests(options);  // before a card is opened
  CatchInterrupts(0);
  UseBoard(
      [&] { return std::make_unique<Board>(OpenBackend(a.backend, more), options.level, a.seed); });
  if (!a.lspci.empty())
    WriteFile(a.lspci, DumpConfigSpaces(TheBoard().transport()), "configuration spaces");
  const TextStyle style{TerminalWidth(STDOUT_FILENO), WantsColor(a.color, STDOUT_FILENO)};
  options.on_result = [&](const TestResult& test) { std::cout << Line(test, style) << std::flush; };
  (void)TheBoard().TakeHealth();  // what was there before is not of this ladder
  const LadderResult result = RunLadder(options);
  std::cout << Summary(result, style);
  WriteReports(a, result);
  CloseBoard();
  return StatusOf(result);
}

int Fail(int status, const char* what) {
  std::cerr << "spyre-bringup: " << what << std::endl;
  return status;
}

}  // namespace

int Main(int argc, char** argv, const std::vector<BackendKind>& more) {
  LinkRungs();
  try {
    Arguments arguments;
    Command root("spyre-bringup", "Bring-up tests for a Spyre card, from the first register up");
    Declare(root, arguments, more);
    root.Action([&] {
      if (!arguments.man) return Climb(arguments, more);
      std::cout << ManPage(root, fmt::format("spyre-bringup {}", ThisBuild().version),
                           {{"EXIT STATUS", kExitText}});
      return static_cast<int>(kAllPassed);
    });
    const Request request = Parse(root, {argv + std::min(argc, 1), argv + argc});
    int status = kAllPassed;
    switch (request.kind) {
      case Request::Kind::kHelp:
        std::cout << Help(
            root, {TerminalWidth(STDOUT_FILENO), WantsColor(arguments.color, STDOUT_FILENO)});
        break;
      case Request::Kind::kVersion:
        std::cout << root.version();
        break;
      case Request::Kind::kRun:
        status = root.action()();
        break;
    }
    if (!std::cout.flush()) throw BadInput("standard output: cannot write all of the result");
    return status;
  } catch (const Interruption& stop) {
    return Fail(kSignalStatus + stop.signal(), stop.what());
  } catch (const Error& error) {
    return Fail(error.kind() == ErrorKind::kBadInput      ? kBadInputStatus
                : error.kind() == ErrorKind::kDeviceFault ? kDeviceFaultStatus
                                                          : kBugStatus,
                error.what());
  } catch (const std::exception& error) {
    return Fail(kBugStatus, error.what());
  }
}

}  // namespace spyre::bringup
