// SPDX-License-Identifier: Apache-2.0
#include "traces/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace spyre::trace {
namespace {

// Columns on a terminal, near enough: code points.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string_view WithoutPart(std::string_view process) {
  const size_t colon = process.find(": ");
  const bool has_part = colon != std::string_view::npos && colon < process.find('/');
  return has_part ? process.substr(colon + 2) : process;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string FormatTime(uint64_t ps) {
  const auto value = static_cast<double>(ps);
  if (ps < 1000) return fmt::format("{} ps", ps);
  if (value < 1e6) return fmt::format("{:.3f} ns", value / 1e3);
  if (value < 1e9) return fmt::format("{:.3f} us", value / 1e6);
  if (value < 1e12) return fmt::format("{:.3f} ms", value / 1e9);
  return fmt::format("{:.3f} s", value / 1e12);
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes == 0) return "0";
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, units[unit]);
}

std::string FormatPercent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }

std::string FormatRelative(double a, double b) {
  if (a == b) return "0.0 %";
  if (a == 0) return "new";
  return fmt::format("{:+.1f} %", (b - a) / a * 100);
}

Table::Table(std::vector<std::string> header, size_t left_columns) : left_columns_(left_columns) {
  rows_.push_back(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  if (row.size() != rows_.front().size()) {
    throw std::logic_error(fmt::format("trace table: a row of {} cells under a header of {}",
                                       row.size(), rows_.front().size()));
  }
  rows_.push_back(std::move(row));
}

std::string Table::ToString(std::string_view indent, size_t width) const {
  std::vector<size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  size_t columns = 0;
  for (size_t used = indent.size(); columns < widths.size(); ++columns) {
    used += (columns > 0 ? 2 : 0) + widths[columns];
    if (columns >= 2 && used > width) break;
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t i = 0; i < columns; ++i) {
      const std::string pad(widths[i] - Width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i < left_columns_ ? row[i] + pad : pad + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace spyre::trace
