// SPDX-License-Identifier: Apache-2.0
// `run --cases`: many small workloads, each in a process of its own, so that one that crashes or
// hangs leaves the others alone. A line of JSON says what each is, and a line of JSON what came of
// it. Call from a process with one thread. Errors of a case are in its line; Error(kBadInput) if
// the file cannot be read.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/cli/run_command.h"

namespace spyre::cosim {

// One line of the file: what is run, and where its files go.
struct RunCase {
  uint64_t line = 0;  // of the file, from 1
  std::string id;
  RunConfig config;
  std::string out;  // directory
};

// Runs one case and returns the fields of its result ("verified", "device_ns", ...) with
// "exit_status". Called in the child.
using CaseRunner = std::function<nlohmann::ordered_json(const RunCase& run)>;

// The session of a case; writes its report.json.
nlohmann::ordered_json RunSessionOf(const RunCase& run);

// A result for each line of args.cases in their order on `results`, as soon as it and those before
// it are there; a summary on `messages`. Returns the largest exit status of the cases.
int RunCases(const RunArguments& args, const CaseRunner& runner, std::ostream& results,
             std::ostream& messages);

}  // namespace spyre::cosim
