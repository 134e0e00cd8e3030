// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/opt_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "runtime/compiler/passes/passes.h"

namespace spyre::cosim {
namespace {

void RunLines(const compiler::Pass& pass, const std::string& name, std::istream& in,
              std::ostream& out) {
  LineReader lines(in, name);
  for (std::string line; lines.Next(line);) {
    if (line.find_first_not_of(" \t\r\n\v\f") == std::string::npos) continue;
    out << compiler::RunPass(pass, line) << '\n';
    // Whoever waits for an answer before writing the next line gets it at once.
    if (in.rdbuf()->in_avail() <= 0) out.flush();
  }
}

// One line for each pass.
std::string PassList() {
  std::string text = "Passes:\n";
  for (const compiler::Pass& pass : compiler::Passes())
    text += fmt::format("  {:<20} {}\n", pass.name, pass.summary);
  return text;
}

}  // namespace

void AddOptCommand(command_line::Command& root) {
  command_line::Command& command =
      root.AddCommand("opt", "One compiler pass over JSON lines: an object in, an object out");
  command.Footer(PassList() +
                 "Exit status: 0 done, also if lines were refused; 2 bad input.\n"
                 "The keys of each pass are in docs/compiler.md.");
  std::vector<std::string> names;
  for (const compiler::Pass& pass : compiler::Passes()) names.emplace_back(pass.name);
  const auto options = std::make_shared<OptOptions>();
  command.Add("PASS", options->pass, "name of a pass").Required().Suggests(names);
  command.Add("FILE", options->file, "JSON lines; -: standard input")
      .ShowDefault()
      .Completes(command_line::Words::kFiles);
  command.Action([options] {
    std::ios::sync_with_stdio(false);  // reads by the block; nothing has been read yet
    std::cin.tie(nullptr);
    return RunOptCommand(*options, std::cin, std::cout);
  });
}

int RunOptCommand(const OptOptions& options, std::istream& standard_input, std::ostream& out) {
  const compiler::Pass& pass = compiler::RequirePass(options.pass);
  if (options.file == "-") {
    RunLines(pass, "standard input", standard_input, out);
    return 0;
  }
  std::ifstream file(options.file, std::ios::binary);
  if (!file || std::filesystem::is_directory(options.file)) {
    throw BadInput("{}: cannot read the file of JSON lines", options.file);
  }
  RunLines(pass, options.file, file, out);
  return 0;
}

}  // namespace spyre::cosim
