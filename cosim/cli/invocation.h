// SPDX-License-Identifier: Apache-2.0
// How the program was called: what every command may want to know of it. Single thread.
#pragma once

#include <unistd.h>

#include <string>

#include "base/terminal.h"

namespace spyre::cosim {

struct Invocation {
  std::string program = "spyre-cosim";  // as the user called it
  ColorMode color = ColorMode::kAuto;   // --color

  // Of standard output, or of standard error.
  TextStyle StyleOf(int fd) const { return {TerminalWidth(fd), WantsColor(color, fd)}; }
};

}  // namespace spyre::cosim
