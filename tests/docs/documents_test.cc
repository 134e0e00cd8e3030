// SPDX-License-Identifier: Apache-2.0
// The tables of docs/documents.md: every cell is filled in, and every test that they name is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "tests/docs/page.h"
#include "tests/paths.h"

namespace spyre::docs::documents_test {
namespace {

namespace fs = std::filesystem;

struct TableRow {
  std::string text;
  std::vector<std::string> cells;
};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Of all tables, without their headings.
std::vector<TableRow> Rows() {
  std::istringstream page(ReadFile(fs::path(SPYRE_SOURCE_DIR) / "docs/documents.md"));
  std::vector<TableRow> rows;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("|---", 0) == 0) in_table = true;
    if (line.rfind('|', 0) != 0) in_table = false;
    if (!in_table || line.rfind("|---", 0) == 0) continue;
    TableRow row{line, {}};
    std::istringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');) row.cells.push_back(Trimmed(cell));
    rows.push_back(std::move(row));
  }
  return rows;
}

// "Suite.Name" of every test in the sources.
std::set<std::string> TestNames() {
  static const std::regex test("TEST(?:_F|_P)?\\(\\s*(\\w+),\\s*(\\w+)\\)");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(SPYRE_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = ReadFile(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at)
      names.insert((*at)[1].str() + "." + (*at)[2].str());
  }
  return names;
}

TEST(Documents, EveryRowSaysWhereAndIsShownByTestsThatExist) {
  const std::set<std::string> tests = TestNames();
  ASSERT_GT(tests.size(), 1000u);
  const std::vector<TableRow> rows = Rows();
  EXPECT_GT(rows.size(), 100u);
  static const std::regex name("`(\\w+)\\.(\\w+)`");
  static const std::regex half_done("\\b(part|partly|partially|TODO|TBD|no test)\\b");
  for (const TableRow& row : rows) {
    ASSERT_EQ(row.cells.size(), 4u) << row.text;
    EXPECT_THAT(row.cells, testing::Each(testing::Not(testing::IsEmpty()))) << row.text;
    EXPECT_FALSE(std::regex_search(row.text, half_done)) << row.text;
    const std::string& shown_by = row.cells.back();
    std::sregex_iterator at(shown_by.begin(), shown_by.end(), name), end;
    EXPECT_NE(at, end) << "no test: " << row.text;
    for (; at != end; ++at) {
      const std::string test = (*at)[1].str() + "." + (*at)[2].str();
      EXPECT_EQ(tests.count(test), 1u) << test << " is not a test: " << row.text;
    }
  }
}

TEST(Documents, NoRowIsThereTwice) {
  std::set<std::string> seen;
  for (const TableRow& row : Rows())
    EXPECT_TRUE(seen.insert(row.cells.at(0) + row.cells.at(1)).second) << row.text;
}

}  // namespace
}  // namespace spyre::docs::documents_test
