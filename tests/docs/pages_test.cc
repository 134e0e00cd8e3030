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
  const WrittenPage page = Written(ReadFile(path), directory);
  fs::remove_all(directory);
  const auto expect_is = [](const fs::path& file, const std::string& text) {
    if (std::getenv(kUpdate) != nullptr) std::ofstream(file) << text;
    EXPECT_EQ(ReadFile(file), text) << file << ": run again with " << kUpdate << "=1";
  };
  expect_is(path, page.text);
  for (const auto& [name, picture] : page.pictures)
    expect_is(fs::path(SPYRE_SOURCE_DIR) / "docs" / name, picture);
}

INSTANTIATE_TEST_SUITE_P(Docs, Page, ::testing::ValuesIn(PagesWithMarkers()),
                         [](const auto& test) { return NameOf(test.param); });

std::string WrittenAnew(const std::string& text) {
  const fs::path directory = fs::path(::testing::TempDir()) / "markers";
  MakeCheckout(directory);
  return Written(text, directory).text;
}

TEST(Markers, AreFilledAndEverythingElseIsKept) {
  EXPECT_EQ(WrittenAnew("a <!-- figure: card.cores -->7<!-- /figure --> b"),
            "a <!-- figure: card.cores -->32<!-- /figure --> b");
  EXPECT_EQ(WrittenAnew("<!-- markdown: echo '| 1 |' -->\nold\n<!-- /markdown -->\n"),
            "<!-- markdown: echo '| 1 |' -->\n| 1 |\n<!-- /markdown -->\n");
}

TEST(Markers, APictureIsWhatItsCommandPrints) {
  const fs::path directory = fs::path(::testing::TempDir()) / "picture_marker";
  MakeCheckout(directory);
  const std::string text = "a <!-- picture: images/b.svg: echo '<svg/>' --> c";
  const WrittenPage page = Written(text, directory);
  EXPECT_EQ(page.text, text);
  ASSERT_EQ(page.pictures.size(), 1u);
  EXPECT_EQ(page.pictures.at("images/b.svg"), "<svg/>\n");
  EXPECT_ANY_THROW(WrittenAnew("<!-- picture: images/b.svg -->"));
  EXPECT_ANY_THROW(WrittenAnew("<!-- picture: images/b.svg: false -->"));
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
