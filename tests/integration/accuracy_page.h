// SPDX-License-Identifier: Apache-2.0
// The tables of docs/accuracy.md, of which the page's own test (tests/docs) makes sure that they
// are what the program prints: other tests need not simulate the measured kernels again.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/files.h"
#include "tests/paths.h"

namespace spyre::test {

inline constexpr const char* kMeasuredSample =
    SPYRE_SOURCE_DIR "/tests/data/calibration/measured_sample.json";

// The rows, cell by cell, of the first table whose first column has that heading, among what
// `calibrate` with these options printed for the measured sample. Throws if there is none.
inline std::vector<std::vector<std::string>> AccuracyTable(const std::string& options,
                                                           const std::string& heading) {
  const std::string page = ReadFile(SPYRE_SOURCE_DIR "/docs/accuracy.md", "documentation", 1 << 20);
  const size_t command = page.find(
      "<!-- markdown: spyre-cosim calibrate tests/data/calibration/measured_sample.json " +
      options + " -->\n");
  const size_t head = page.find("\n| " + heading + " |", command);
  if (command == std::string::npos || head == std::string::npos)
    throw std::runtime_error("docs/accuracy.md has no table of '" + heading + "' of " + options);
  std::vector<std::vector<std::string>> rows;
  size_t at = page.find('\n', page.find("\n|---", head) + 1) + 1;
  for (; page.compare(at, 2, "| ") == 0; at = page.find('\n', at) + 1) {
    std::vector<std::string>& cells = rows.emplace_back();
    const size_t end = page.find('\n', at);
    for (size_t cell = at + 2; cell < end;) {
      const size_t bar = page.find(" |", cell);
      cells.push_back(page.substr(cell, bar - cell));
      cell = bar + 3;
    }
  }
  return rows;
}

}  // namespace spyre::test
