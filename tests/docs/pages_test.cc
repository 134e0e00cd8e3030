// SPDX-License-Identifier: Apache-2.0
// Every figure and every output that README.md and docs/ show is written from here; page.h says how
// a page marks them. SPYRE_UPDATE_DOCS=1 writes the pages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/docs/figure.h"
#include "tests/docs/page.h"
#include "tests/paths.h"

namespace spyre::docs::pages_test {
namespace {

namespace fs = std::filesystem;

std::string NameOf(const std::string& page) {
  std::string name = fs::path(page).stem().string();
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name;
}

class Page : public ::testing::TestWithParam<std::string> {};

TEST_P(Page, ShowsWhatTheProgramPrintsAndMeasures) {
  const fs::path path = fs::path(SPYRE_SOURCE_DIR) / GetParam();
  const fs::path directory = fs::path(::testing::TempDir()) / ("docs_" + NameOf(GetParam()));
  MakeCheckout(directory);
  const std::string text = Written(ReadFile(path), directory);
  fs::remove_all(directory);
  if (std::getenv(kUpdate) != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(ReadFile(path), text) << "run again with " << kUpdate << "=1";
}

TEST(Pictures, TheTimesOfTheAccuracyPageAreThoseOfTheProgram) {
  const fs::path picture = fs::path(SPYRE_SOURCE_DIR) / "docs/images/accuracy.svg";
  const fs::path directory = fs::path(::testing::TempDir()) / "docs_picture";
  MakeCheckout(directory);
  const CommandResult svg = RunCommand(
      directory, "spyre-cosim calibrate tests/data/calibration/measured_sample.json --svg", false);
  fs::remove_all(directory);
  ASSERT_EQ(svg.status, 0);
  if (std::getenv(kUpdate) != nullptr) std::ofstream(picture) << svg.output;
  EXPECT_EQ(ReadFile(picture), svg.output) << "run again with " << kUpdate << "=1";
}

INSTANTIATE_TEST_SUITE_P(Docs, Page, ::testing::ValuesIn(PagesWithMarkers()),
                         [](const auto& test) { return NameOf(test.param); });

std::string WrittenAnew(const std::string& text) {
  const fs::path directory = fs::path(::testing::TempDir()) / "markers";
  MakeCheckout(directory);
  return Written(text, directory);
}

TEST(Markers, AreFilledAndEverythingElseIsKept) {
  EXPECT_EQ(WrittenAnew("a <!-- figure: card.cores -->7<!-- /figure --> b"),
            "a <!-- figure: card.cores -->32<!-- /figure --> b");
  EXPECT_EQ(WrittenAnew("<!-- markdown: echo '| 1 |' -->\nold\n<!-- /markdown -->\n"),
            "<!-- markdown: echo '| 1 |' -->\n| 1 |\n<!-- /markdown -->\n");
}

TEST(Markers, OutputsAreThoseOfTheCommandsWithoutWallTime) {
  EXPECT_EQ(
      WrittenAnew(
          "<!-- output -->\n```\n$ printf 'a\\nwall time: 3 s\\n'\nold\n```\n<!-- /output -->"),
      "<!-- output -->\n```\n$ printf 'a\\nwall time: 3 s\\n'\na\nwall time: ...\n```\n<!-- "
      "/output -->");
  EXPECT_EQ(WrittenAnew("<!-- output: first 1 -->\n```\n$ seq 3\n```\n<!-- /output -->"),
            "<!-- output: first 1 -->\n```\n$ seq 3\n1\n...\n```\n<!-- /output -->");
}

TEST(Markers, ACommandMustEndAsThePageSays) {
  EXPECT_ANY_THROW(WrittenAnew("<!-- run: false -->"));
  EXPECT_ANY_THROW(WrittenAnew("<!-- output: status 2 -->\n```\n$ true\n```\n<!-- /output -->"));
  EXPECT_NO_THROW(WrittenAnew("<!-- output: status 2 -->\n```\n$ exit 2\n```\n<!-- /output -->"));
}

TEST(Markers, AnEndThatIsMissingIsAnError) {
  EXPECT_ANY_THROW(WrittenAnew("<!-- figure: card.cores -->7"));
  EXPECT_ANY_THROW(WrittenAnew("<!-- output -->\n```\n$ true\n```\n"));
}

TEST(Figure, IsArithmeticOnParametersOfTheCard) {
  EXPECT_EQ(Figure("card.cores", ""), "32");
  EXPECT_EQ(Figure("card.memory.bank_mapping", ""), "hash");
  EXPECT_EQ(Figure("card.cores * (card.core.corelets + 2) / 2 ^ 3 - 1", ""), "15");
  EXPECT_EQ(Figure("1 / 8", ""), "0.125");
  EXPECT_EQ(Figure("2 / 3, 2", ""), "0.67");
}

TEST(Figure, RefusesWhatItCannotWorkOut) {
  EXPECT_ANY_THROW(Figure("card.no_such_key", ""));
  EXPECT_ANY_THROW(Figure("no_such_run.launch_ns", "."));
  EXPECT_ANY_THROW(Figure("1 +", ""));
  EXPECT_ANY_THROW(Figure("1 2", ""));
  EXPECT_ANY_THROW(Figure("card.memory.bank_mapping + 1", ""));
}

}  // namespace
}  // namespace spyre::docs::pages_test
