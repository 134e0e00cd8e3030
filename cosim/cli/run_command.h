// SPDX-License-Identifier: Apache-2.0
// The command `run`: a configuration, a bundle or a list of operations, from arguments of the
// command line to the report. Single thread. Errors: Error(kBadInput).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/cli/invocation.h"
#include "cosim/config/config.h"
#include "cosim/verdict/exit_status.h"
#include "cosim/watch/smi_command.h"

namespace spyre::cosim {

// What a bundle is given on the command line.
struct BundleArguments {
  std::string kernel;
  std::vector<std::string> shapes;
  std::vector<std::string> args;
  std::vector<std::string> dims;
};

struct RunArguments {
  std::string config;
  std::vector<std::string> sets;
  BundleArguments bundle;
  std::string cases;  // JSON lines, one for each of many runs; "": one run
  uint64_t jobs = 0;  // of cases: processes at a time; 0: one for each processor
  std::string out;
  std::string record;     // "": not recorded
  std::string transport;  // "": the card is in this process
  bool json = false;
  bool details = false;        // print the summary, of which the verdict is the beginning
  bool estimate_next = false;  // what the verdict proposes, instead of simulating it
  uint64_t limit = 0;          // seconds of wall time; 0: none
  bool no_progress = false;
  bool modules = false;  // print the modules that it needs, and run nothing
  MonitorArguments monitor;
  std::optional<uint64_t> gdb_port;  // debug the management controller; 0: any free port
};

// A configuration file, or the defaults with a bundle (an SDSC directory, or OpSpec source) or with
// a list of operations in JSON.
RunConfig ConfigOf(const std::string& path, const std::vector<std::string>& sets,
                   const BundleArguments& bundle);

// `invocation` must outlive the command.
void AddRunCommand(command_line::Command& root, const Invocation& invocation);

// With args.cases runs them all (run_cases.h). With args.modules prints CMake targets, one a line.
// Else runs, writes the report, prints it, its verdict or its summary, and returns the verdict.
ExitStatus RunCommand(const RunArguments& args, const Invocation& invocation);

}  // namespace spyre::cosim
