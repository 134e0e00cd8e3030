// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/points_csv.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"

namespace spyre::cosim {
namespace {

constexpr const char* kColumnsRemedy =
    "the first line names the columns, such as "
    "op,rows,cols,m,k,n,split_m,split_n,cores,measured_us";

std::string WithoutBlanks(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// A cell that begins with a quotation mark ends at the next one that is not doubled.
std::vector<std::string> CellsOf(const std::string& line, const std::string& where) {
  std::vector<std::string> cells;
  size_t at = 0;
  while (true) {
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size())
          throw BadInput("{}: a cell begins with \" and has no end on this line", where);
        if (line[at] == '"' && (at + 1 >= line.size() || line[++at] != '"')) break;
        cell += line[at];
      }
    }
    const size_t comma = std::min(line.find(',', at), line.size());
    cells.push_back(WithoutBlanks(cell + line.substr(std::min(at, comma), comma - at)));
    if (comma == line.size()) return cells;
    at = comma + 1;
  }
}

// Of JSON, so that the checks of points say what is wrong with a value.
nlohmann::json ValueOf(const std::string& cell) {
  const bool is_number =
      !cell.empty() && cell.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (!is_number) return cell;
  nlohmann::json value = SortedJsonIfAny(cell);
  return value.is_number() ? value : nlohmann::json(cell);
}

std::vector<std::string> ColumnsOf(const std::string& line, const std::string& where) {
  std::vector<std::string> columns = CellsOf(line, where);
  if (std::find(columns.begin(), columns.end(), "op") == columns.end()) {
    throw BadInput("{}: there is no column \"op\" (columns are separated by commas); {}", where,
                   kColumnsRemedy)
        .Subject(where)
        .Remedy(kColumnsRemedy);
  }
  std::vector<std::string> sorted = columns;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw BadInput("{}: two columns have the name \"{}\"", where, *twice).Subject(where);
  return columns;
}

}  // namespace

bool IsCsv(const std::string& name) {
  std::string end = name.substr(name.size() - std::min<size_t>(name.size(), 4));
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end == ".csv";
}

std::vector<CsvPoint> PointsOfCsv(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  LineReader lines(in, name);
  std::vector<std::string> columns;
  std::vector<CsvPoint> points;
  for (std::string line; lines.Next(line);) {
    constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";
    if (lines.number() == 1 && line.rfind(kByteOrderMark, 0) == 0) line.erase(0, 3);
    line = WithoutBlanks(line);
    if (line.find_first_not_of(',') == std::string::npos || line[0] == '#') continue;
    const std::string where = fmt::format("{}:{}", name, lines.number());
    if (columns.empty()) {
      columns = ColumnsOf(line, where);
      continue;
    }
    const std::vector<std::string> cells = CellsOf(line, where);
    if (cells.size() > columns.size()) {
      throw BadInput("{}: {} cells, and the first line names {} columns", where, cells.size(),
                     columns.size())
          .Subject(where)
          .Remedy(kColumnsRemedy);
    }
    CsvPoint point = {lines.number(), nlohmann::json::object()};
    for (size_t i = 0; i < cells.size(); ++i)
      if (!cells[i].empty()) point.members[columns[i]] = ValueOf(cells[i]);
    points.push_back(std::move(point));
  }
  if (points.empty()) {
    throw BadInput("{}: at least one point is expected; {}, and each line behind it is a point",
                   name, kColumnsRemedy)
        .Subject(name)
        .Remedy(kColumnsRemedy);
  }
  return points;
}

}  // namespace spyre::cosim
