// SPDX-License-Identifier: Apache-2.0
// Times, sizes, changes and tables as text. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::trace {

bool StartsWith(std::string_view text, std::string_view prefix);
// The name of a process, or of a group ("process/track"), without the part of the recorder that it
// is of: "card0: core 03" is "core 03" (recorder.h).
std::string_view WithoutPart(std::string_view process);

std::string FormatTime(uint64_t ps);      // "812 ps", "1.250 us", "3.400 ms": four digits or more
std::string FormatBytes(uint64_t bytes);  // "0", "512 B", "2.00 MiB"
std::string FormatPercent(double ratio);  // "42.1 %"
std::string FormatRelative(double a, double b);  // change from a to b: "+12.5 %", "new", "0.0 %"

// Rows of cells, printed with aligned columns: the first left_columns to the left, others right.
class Table {
 public:
  explicit Table(std::vector<std::string> header, size_t left_columns = 1);
  void Add(std::vector<std::string> row);  // as many cells as the header
  bool empty() const { return rows_.size() == 1; }
  // With the header; ends with a newline. Columns on the right that do not fit the width are left
  // out, of the first two only what follows them.
  std::string ToString(std::string_view indent = "  ", size_t width = SIZE_MAX) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  size_t left_columns_;
};

}  // namespace spyre::trace
