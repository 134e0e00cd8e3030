// The command `run`: a configuration, a bundle or a list of operations, from arguments of the
// command line to the report. Single thread. Errors: Error(kBadInput).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cosim/config.h"

namespace spyre::cosim {

// What a bundle is given on the command line.
struct BundleArguments {
  std::vector<std::string> shapes;
  std::vector<std::string> args;
  std::vector<std::string> dims;
};

struct RunArguments {
  std::string config;
  std::vector<std::string> sets;
  BundleArguments bundle;
  std::string out;
  std::string record;  // "": not recorded
  bool json = false;
  bool no_progress = false;
  std::optional<uint16_t> gdb_port;  // debug the management controller; 0: any free port
};

// A configuration file, or the defaults with a bundle (an SDSC directory, or OpSpec source) or with
// a list of operations in JSON.
RunConfig ConfigOf(const std::string& path, const std::vector<std::string>& sets,
                   const BundleArguments& bundle);

// Runs, writes the report and prints it or its summary. False: verification failed.
bool RunCommand(const RunArguments& args, const std::string& program);

}  // namespace spyre::cosim
