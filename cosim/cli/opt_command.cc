// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/opt_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/ranges.h"
#include "cosim/verdict/exit_status.h"
#include "runtime/compiler/passes/graph_passes.h"
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

// Graphs: one in the whole input, or one on each line. Returns the exit status.
int RunGraphs(const std::string& passes, const std::string& name, std::istream& in,
              std::ostream& out) {
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const size_t first = text.find_first_not_of(" \t\r\n");
  const size_t line_end = std::min(text.find('\n', first), text.size());
  const bool is_lines = first != std::string::npos &&
                        text.find_last_not_of(" \t\r\n", line_end) != first &&
                        text[text.find_last_not_of(" \t\r\n", line_end)] == '}';
  if (!is_lines) {
    const compiler::GraphAnswer answer = compiler::RunGraphPasses(passes, text, name, true);
    out << answer.text << std::flush;
    if (!answer.error.empty()) throw BadInput("{}", answer.error);
    return kDone;
  }
  std::istringstream stream(text);
  LineReader lines(stream, name);
  int status = kDone;
  for (std::string line; lines.Next(line);) {
    if (line.find_first_not_of(" \t\r\n\v\f") == std::string::npos) continue;
    const compiler::GraphAnswer answer = compiler::RunGraphPasses(passes, line, name, false);
    out << answer.text;
    if (!answer.error.empty()) status = kBadInputStatus;
  }
  return status;
}

// `bundle` is a pass over a loop tree, {"specs": ...} on each line, and one of the front end over
// a graph: the first line says which.
int RunEither(const std::string& passes, const std::string& name, std::istream& in,
              std::ostream& out) {
  std::string first;
  while (first.find_first_not_of(" \t\r\n\v\f") == std::string::npos && std::getline(in, first)) {
  }
  const bool is_tree = first.find("\"specs\"") != std::string::npos;
  if (is_tree) {
    std::istringstream line(first + "\n");
    RunLines(compiler::RequirePass(passes), name, line, out);
    RunLines(compiler::RequirePass(passes), name, in, out);
    return kDone;
  }
  std::istringstream whole(first + "\n" + std::string(std::istreambuf_iterator<char>(in), {}));
  return RunGraphs(passes, name, whole, out);
}

bool IsLinePass(const std::string& name) {
  const auto& passes = compiler::Passes();
  return AnyFits(passes, [&](const compiler::Pass& pass) { return pass.name == name; });
}

// One line for each pass.
std::string PassList() {
  std::string text = "Passes:\n";
  for (const compiler::Pass& pass : compiler::Passes())
    text += fmt::format("  {:<20} {}\n", pass.name, pass.summary);
  text += "Passes of the front end over a graph; several are separated by commas:\n";
  for (const auto& [name, summary] : compiler::GraphPasses())
    text += fmt::format("  {:<20} {}\n", name, summary);
  return text;
}

}  // namespace

void AddOptCommand(command_line::Command& root) {
  command_line::Command& command =
      root.AddCommand("opt", "Compiler passes over JSON: an object in, an object out");
  command.Footer(PassList() +
                 "Exit status: 0 done, also if lines were refused; 2 bad input, or a graph that a "
                 "pass refused.\n"
                 "The keys of each pass are in docs/compiler-passes.md.");
  std::vector<std::string> names;
  for (const compiler::Pass& pass : compiler::Passes()) names.emplace_back(pass.name);
  for (const auto& [name, summary] : compiler::GraphPasses()) names.push_back(name);
  const auto options = std::make_shared<OptOptions>();
  command.Add("PASS", options->pass, "name of a pass, or names of passes of the front end")
      .Required()
      .Suggests(names);
  command.Add("FILE", options->file, "JSON lines, or a graph; -: standard input")
      .ShowDefault()
      .Completes(command_line::Words::kFiles);
  command.Action([options] {
    std::ios::sync_with_stdio(false);  // reads by the block; nothing has been read yet
    std::cin.tie(nullptr);
    return RunOptCommand(*options, std::cin, std::cout);
  });
}

int RunOptCommand(const OptOptions& options, std::istream& standard_input, std::ostream& out) {
  const bool of_graphs =
      options.pass.find(',') != std::string::npos || compiler::AreGraphPasses(options.pass);
  const auto run = [&](const std::string& name, std::istream& in) {
    if (of_graphs && IsLinePass(options.pass)) return RunEither(options.pass, name, in, out);
    if (of_graphs) return RunGraphs(options.pass, name, in, out);
    RunLines(compiler::RequirePass(options.pass), name, in, out);
    return static_cast<int>(kDone);
  };
  if (!of_graphs) compiler::RequirePass(options.pass);
  if (options.file == "-") return run("standard input", standard_input);
  NoteInput(options.file);
  std::ifstream file(options.file, std::ios::binary);
  if (!file || std::filesystem::is_directory(options.file)) {
    throw BadInput("{}: cannot read the file of JSON lines", options.file);
  }
  return run(options.file, file);
}

}  // namespace spyre::cosim
