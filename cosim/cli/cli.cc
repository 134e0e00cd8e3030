// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/cli.h"

#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>

#include "base/command_line/help.h"
#include "base/command_line/parse.h"
#include "base/error.h"
#include "cosim/cli/calibrate_command.h"
#include "cosim/cli/common_options.h"
#include "cosim/cli/compare_command.h"
#include "cosim/cli/compile_command.h"
#include "cosim/cli/inspect_command.h"
#include "cosim/cli/invocation.h"
#include "cosim/cli/memory_command.h"
#include "cosim/cli/opt_command.h"
#include "cosim/cli/replay_command.h"
#include "cosim/cli/run_command.h"
#include "cosim/cli/rvtest_command.h"
#include "cosim/cli/serve_command.h"
#include "cosim/cli/shell_command.h"
#include "cosim/cli/soak_command.h"
#include "cosim/cli/task_graph_command.h"
#include "cosim/cli/warnings.h"
#include "cosim/exec/exec_command.h"
#include "cosim/fault/faults_command.h"
#include "cosim/firmware/firmware_commands.h"
#include "cosim/sweep/sweep_command.h"
#include "cosim/trials/run_trials.h"
#include "cosim/tune/tune_command.h"
#include "cosim/verdict/exit_status.h"
#include "cosim/verdict/failure.h"
#include "cosim/watch/smi_command.h"
#include "cosim/what_if/what_if_command.h"
#include "traces/check/check_command.h"
#include "traces/cli.h"
#include "traces/export/export_command.h"

namespace spyre::cosim {
namespace {

using command_line::Command;
using command_line::Request;

RunConfig ReadConfig(const std::string& path, const std::vector<std::string>& sets) {
  return ConfigOf(path, sets, {});
}

void Declare(Command& root, Invocation& invocation) {
  root.Version(VersionText()).Footer(kExitText);
  root.Add("--color", invocation.color, "colour on a terminal, always or never",
           {{"auto", ColorMode::kAuto},
            {"always", ColorMode::kAlways},
            {"never", ColorMode::kNever}})
      .ShowDefault()
      .Placeholder("WHEN");
  const ConfigReader reader = ReadConfig;
  const auto width = [&invocation] { return invocation.StyleOf(STDOUT_FILENO).width; };

  root.Heading("Run");
  AddRunCommand(root, invocation);
  AddExecCommand(root, {AddSets,
                        [](const std::string& config, const std::vector<std::string>& sets) {
                          LoadConfig(config, sets);
                        },
                        kWrong, kFaultStatus});
  AddCheckCommand(root);
  AddCompileCommand(root);
  AddReplayCommand(root);

  root.Heading("Look at runs");
  Command& trace =
      root.AddCommand("trace", "Look into a trace: report, summary, query, diff, check, export");
  trace::AddTraceCommands(trace, std::cout);
  trace::AddCheckCommand(trace, std::cout);
  trace::AddExportCommand(trace, std::cout);
  AddCompareCommand(root);
  AddWhatIfCommand(root, reader, AddSets, width);

  root.Heading("Explore");
  AddSweepCommand(root, reader, AddSets);
  AddTuneCommand(
      root, reader, AddSets, [&invocation] { return invocation.program; }, width);
  AddMemoryCommand(root);
  AddCalibrateCommand(root);

  root.Heading("The card");
  AddServeCommand(root);
  AddSmiCommand(root, {AddSets, PrintWarnings, ReadConfig});
  AddFaultsCommand(root);
  AddRegsCommand(root);
  AddFirmwareCommands(
      root.AddCommand("firmware",
                      "Images of the card's firmware: pack, info, verify, slots, update"),
      AddSets, std::cout, std::cerr);

  root.Heading("For developers");
  AddOptCommand(root);
  AddProgramTextCommands(root);
  AddGraphCommand(root);
  AddRvtestCommand(root);
  AddSoakCommand(root);
  AddShellCommands(root);
}

int AnswerTo(const Command& root, const std::vector<std::string>& words,
             const Invocation& invocation) {
  const Request request = Parse(root, words);
  int status = kDone;
  switch (request.kind) {
    case Request::Kind::kHelp:
      std::cout << Help(*request.command, invocation.StyleOf(STDOUT_FILENO));
      break;
    case Request::Kind::kVersion:
      std::cout << root.version();
      break;
    case Request::Kind::kRun:
      status = request.command->action()();
      break;
  }
  // A full disk or a closed pipe must not pass for success.
  if (!std::cout.flush()) throw BadInput("standard output: cannot write all of the result");
  return status;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  try {
    if (argc > 1 && std::string(argv[1]) == "soak") BecomeSoak(argv + 1);
    Invocation invocation;
    if (argc > 0) invocation.program = argv[0];
    Command root("spyre-cosim", "Co-simulation of the Spyre accelerator card");
    Declare(root, invocation);
    return AnswerTo(root, {argv + std::min(argc, 1), argv + argc}, invocation);
  } catch (const std::exception&) {
    const Failure failure = CurrentFailure();
    std::cerr << "spyre-cosim: " << failure.Line() << std::endl;
    return failure.status;
  }
}

}  // namespace spyre::cosim
