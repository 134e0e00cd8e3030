// SPDX-License-Identifier: Apache-2.0
// The environment in which `spyre-cosim exec` runs a program: where the SDK is, and which card the
// program gets (sdk/card/environment.h says what the variables mean). Pure functions of their
// arguments and of the environment; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace spyre::cosim {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The directory with include/, lib/ and bin/ of the SDK: beside this program where it was built,
// PREFIX/sdk where it is installed. Throws Error(kBadInput) with the command that builds it.
std::string SdkDirectory();

struct ProgramCardChoice {
  std::string config;              // of --config; "": the card of the defaults
  std::vector<std::string> sets;   // of --set
  std::string out;                 // of --out
  uint64_t keep_bytes = 64 << 20;  // of --keep-arguments
  std::string verify = "sample";   // of --verify
  unsigned cards = 0;              // of --cards; 0: the card is simulated in the program
  std::string served;              // where they are: "vfio-user:DIR"
};

// What is set for the program. Paths are absolute, because a program may change its directory;
// PATH and LD_LIBRARY_PATH keep what is in them behind the SDK's part.
Variables ProgramEnvironment(const std::string& sdk, const ProgramCardChoice& choice);

}  // namespace spyre::cosim
