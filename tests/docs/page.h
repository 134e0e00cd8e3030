// SPDX-License-Identifier: Apache-2.0
// A page of the documentation as the tests see it: its text, what its markers ask for, and the
// page with every marked place written again.
//
//   <!-- figure: EXPRESSION[, DECIMALS] -->52<!-- /figure -->
//     a number, or the text of a parameter: see figure.h.
//   <!-- json: NAME --> ... <!-- /json -->
//     an object of a report, as a block of JSON.
//   <!-- markdown: COMMAND --> ... <!-- /markdown -->
//     what a command prints, as a part of the page.
//   <!-- picture: FILE: COMMAND -->
//     what the command prints is docs/FILE, a picture that the page shows.
//   <!-- run: COMMAND -->
//     runs a command whose output the page does not show, for the figures after it.
//   <!-- output -->
//   ```
//   $ COMMAND
//   ...
//   ```
//   <!-- /output -->
//     the commands of the block, run one after the other, each followed by what it prints. With
//     <!-- output: first 5 --> only the first lines of each are shown; with
//     <!-- output: status 2 --> the last command must end with this exit status, and what it
//     writes to standard error is shown too.
//
// Commands run through the shell in a directory in which `./run.sh`, `spyre-cosim`,
// `spyre-bringup`, `build/release/spyre-cosim`, `configs/` and `tests/` stand as in a checkout, and
// out/ is empty.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace spyre::docs {

inline constexpr const char* kUpdate = "SPYRE_UPDATE_DOCS";

// README.md and docs/*.md, relative to the sources, in alphabetical order.
std::vector<std::string> Pages();
// Those of them that have markers of this file.
std::vector<std::string> PagesWithMarkers();

std::string ReadFile(const std::filesystem::path& path);

// What a command printed and how it ended. Standard error is in the output only if asked for.
struct CommandResult {
  std::string output;
  int status = 0;
};
CommandResult RunCommand(const std::filesystem::path& directory, const std::string& command,
                         bool with_errors);

// Makes the directory that commands run in, empty of results.
void MakeCheckout(const std::filesystem::path& directory);

struct WrittenPage {
  std::string text;
  std::map<std::string, std::string> pictures;  // by the name of the file, relative to docs/
};
// The page with all its marked places written from runs in `directory`. Throws std::runtime_error,
// with the place, for a marker that cannot be served.
WrittenPage Written(const std::string& text, const std::filesystem::path& directory);

}  // namespace spyre::docs
