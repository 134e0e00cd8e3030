// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/soak_command.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace spyre::cosim {

void AddSoakCommand(command_line::Command& root) {
  root.AddCommand("soak",
                  "Use a card for hours of simulated time, and look for what grows, drifts or is "
                  "lost (tests/soak)")
      .Action([]() -> int {
        std::string word = "soak";
        std::array<char*, 2> words = {word.data(), nullptr};
        BecomeSoak(words.data());
      });
}

void BecomeSoak(char** words) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("spyre-soak").string();
  execv(program.c_str(), words);
  throw BadInput(
      "soak: this is a campaign of the tests, and its program {} is not there; tests/soak/soak.sh "
      "in the sources builds and runs it",
      program);
}

}  // namespace spyre::cosim
