// SPDX-License-Identifier: Apache-2.0
// The command `smi`: what the card's public monitor shows, of a run or of a card that somebody
// serves. Single thread. Errors: Error(kBadInput).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "base/files.h"
#include "cosim/config/config.h"
#include "cosim/smi/printing_monitor.h"

namespace spyre::cosim {

// What the commands of the program have in common, from where they are.
struct SmiHelpers {
  void (*add_sets)(command_line::Command& command, std::vector<std::string>& sets);
  void (*warn)(const std::vector<std::string>& warnings);
  RunConfig (*read_config)(const std::string& path, const std::vector<std::string>& sets);
};
void AddSmiCommand(command_line::Command& root, const SmiHelpers& helpers);

// What `run` is asked to write of the card beside its report.
struct MonitorArguments {
  std::string table;    // file for lines of `smi`; "": none
  std::string metrics;  // metric file; "": none
  std::string interval = "100us";
};
void AddMonitorOptions(command_line::Command& command, MonitorArguments& args);

// Null: nothing is asked for. `table` is made where the lines go; it must outlive the monitor.
std::unique_ptr<PrintingMonitor> MakeMonitor(const MonitorArguments& args,
                                             std::optional<GrowingFile>& table);

}  // namespace spyre::cosim
