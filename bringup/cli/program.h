// SPDX-License-Identifier: Apache-2.0
// The program spyre-bringup, as a function: a program of your own with rungs of your own calls it
// from its main. It has then the whole ladder and yours, and all options (docs/bringup.md).
//
//   int main(int argc, char** argv) { return spyre::bringup::Main(argc, argv); }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bringup/ladder/board.h"

namespace spyre::bringup {

// A way to a card: `--backend NAME` or `--backend NAME:REST`.
struct BackendKind {
  std::string name;
  std::string rest;  // what REST is, for --help: "DIR"; "": there is none
  // rest: "" if it was not given. What it throws ends the program.
  std::function<Backend(const std::string& rest)> open;
};

// Returns the exit status. more: beside inproc, vfio-user and vfio.
int Main(int argc, char** argv, const std::vector<BackendKind>& more = {});

}  // namespace spyre::bringup
