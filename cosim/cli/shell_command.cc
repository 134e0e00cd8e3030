// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/shell_command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "base/build_info/build_info.h"
#include "base/command_line/completion.h"
#include "base/command_line/man_page.h"
#include "cosim/verdict/exit_status.h"

namespace spyre::cosim {
namespace {

using command_line::Shell;

const std::vector<command_line::ManSection>& Sections() {
  static const std::vector<command_line::ManSection> sections{
      {"EXIT STATUS", kExitText},
      {"ENVIRONMENT",
       "NO_COLOR: if it is not empty, output has no colour unless --color=always asks for it.\n"
       "COLUMNS: the width of the output where standard output is not a terminal.\n"
       "SENCORES: the number of cores where the configuration names none."},
      {"FILES",
       "out/NAME/report.json, trace.sctrace, *.npy and spyrecode/: what run leaves of the "
       "configuration NAME.toml."}};
  return sections;
}

}  // namespace

std::string VersionText() {
  const BuildInfo& build = ThisBuild();
  return fmt::format("spyre-cosim {}\ncommit {}{}\ncompiler {}\nSystemC {}\nVerilator {}\n",
                     build.version, build.commit, build.modified ? " (modified)" : "",
                     build.compiler, build.systemc, build.verilator);
}

void AddShellCommands(command_line::Command& root) {
  command_line::Command& completion =
      root.AddCommand("completion", "Print the completion script of a shell");
  completion.Footer(
      "For this bash: source <(spyre-cosim completion bash). An installation has the scripts of "
      "all "
      "three shells where they look for them.");
  const auto shell = std::make_shared<Shell>(Shell::kBash);
  completion
      .Add("SHELL", *shell, "bash, zsh or fish",
           {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}})
      .Required();
  completion.Action([&root, shell] {
    std::cout << CompletionScript(root, *shell);
    return static_cast<int>(kDone);
  });
  root.AddCommand("man", "Print the manual page: spyre-cosim man | man -l -").Action([&root] {
    std::cout << ManPage(root, fmt::format("spyre-cosim {}", ThisBuild().version), Sections());
    return static_cast<int>(kDone);
  });
}

}  // namespace spyre::cosim
