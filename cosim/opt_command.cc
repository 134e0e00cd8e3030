#include "cosim/opt_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "model/contract/error.h"
#include "runtime/compiler/passes.h"

namespace spyre::cosim {
namespace {

void RunLines(const compiler::Pass& pass, std::istream& in, std::ostream& out) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r\n\v\f") == std::string::npos) continue;
    out << compiler::RunPass(pass, line) << '\n';
    // Whoever waits for an answer before writing the next line gets it at once.
    if (in.rdbuf()->in_avail() <= 0) out.flush();
  }
}

}  // namespace

std::string OptPassList() {
  std::string text = "Passes:\n";
  for (const compiler::Pass& pass : compiler::Passes()) {
    text += fmt::format("  {:<20} {}\n", pass.name, pass.summary);
  }
  return text;
}

int RunOptCommand(const OptOptions& options, std::istream& standard_input, std::ostream& out) {
  const compiler::Pass& pass = compiler::RequirePass(options.pass);
  if (options.file == "-") {
    RunLines(pass, standard_input, out);
    return 0;
  }
  std::ifstream file(options.file, std::ios::binary);
  if (!file || std::filesystem::is_directory(options.file)) {
    throw BadInput("{}: cannot read the file of JSON lines", options.file);
  }
  RunLines(pass, file, out);
  if (file.bad()) throw BadInput("{}: reading stopped before the end of the file", options.file);
  return 0;
}

}  // namespace spyre::cosim
