// SPDX-License-Identifier: Apache-2.0
#include "cosim/plots/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "cosim/plots/assets.h"
#include "cosim/sweep/sweep_page.h"
#include "tests/unit/cosim/sweep/example_results.h"

namespace spyre::cosim::page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// As much of a browser's document as the scripts use, which counts what it is given.
constexpr const char* kDocument = R"(
const made = {};
class Node {
  constructor(tag) { this.tag = tag; this.children = []; this.attributes = {}; made[tag] = (made[tag] || 0) + 1; }
  setAttribute(name, value) {
    if (String(value).includes("NaN") || String(value).includes("undefined")) throw new Error(`${this.tag} ${name}=${value}`);
    this.attributes[name] = value;
  }
  addEventListener(name, call) { this[name] = call; }
  append(...nodes) { this.children.push(...nodes); }
  replaceChildren(...nodes) { this.children = nodes; }
  get lastElementChild() { return this.children[this.children.length - 1]; }
}
const document = { createElement: tag => new Node(tag), createElementNS: (space, tag) => new Node(tag) };
)";

bool HasNode() { return std::system("node --version > /dev/null 2>&1") == 0; }

// Draws with node instead of a browser; returns whether `check`, an expression, holds afterwards.
bool DrawsSo(const char* script, const std::string& data, const std::string& check) {
  const ScratchDirectory scratch("page_test");
  const std::string file = scratch.path() + "/page.js";
  WriteFile(file,
            std::string(kPlotsScript) + script + kDocument + "const page = new Node(\"div\");\n" +
                "draw(page, " + data + ");\nif (!(" + check +
                ")) { console.log(JSON.stringify(made)); process.exit(1); }\n",
            "script");
  return std::system(("node " + file).c_str()) == 0;
}

std::string DataOf(const std::string& page) {
  const size_t begin = page.find("getElementById(\"page\"), ") + 24;
  return page.substr(begin, page.find(");\n</script>", begin) - begin);
}

TEST(PlotPage, StandsAlone) {
  const std::string page = SweepPage(test::ExampleResults());
  EXPECT_THAT(page, HasSubstr("<title>Sweep example</title>"));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("fetch(")));
  // The only address is the name of SVG's elements.
  for (size_t at = page.find("http"); at != std::string::npos; at = page.find("http", at + 1))
    EXPECT_THAT(page.substr(at), StartsWith("http://www.w3.org/2000/svg"));
}

TEST(PlotPage, DataCannotEndTheScriptOrTheTitle) {
  const std::string page =
      PlotPage("a </title> %DATA%", kSweepScript, {{"x", "</script><script>alert(1)"}});
  EXPECT_THAT(page, HasSubstr("<title>a &lt;/title&gt; %DATA%</title>"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>")));
}

TEST(PlotPage, TheDataAreTheResults) {
  const auto data = SortedJsonOf(DataOf(SweepPage(test::ExampleResults())));
  ASSERT_EQ(data["rows"].size(), 4u);
  EXPECT_EQ(data["rows"][1]["launch_ns"], 90);
  EXPECT_EQ(data["rows"][3]["status"], "infeasible");
  EXPECT_EQ(data["counts"]["done"], 3);
}

TEST(PlotPage, ASweepIsDrawn) {
  if (!HasNode()) GTEST_SKIP() << "node is not installed";
  SweepResults results = test::ExampleResults();
  MarkFront(results);
  // Two scatter plots of 3 points; 3 cells of a heat map; 3 lines and that of the front; 4 rows.
  EXPECT_TRUE(DrawsSo(kSweepScript, DataOf(SweepPage(results)),
                      "made.circle === 6 && made.rect === 3 && made.polyline === 4 && made.svg === "
                      "4 && made.tr === 5"));
}

TEST(PlotPage, ASweepWithoutAnyResultIsDrawn) {
  if (!HasNode()) GTEST_SKIP() << "node is not installed";
  SweepResults results = test::ExampleResults();
  results.rows.erase(results.rows.begin(), results.rows.begin() + 3);
  EXPECT_TRUE(DrawsSo(kSweepScript, DataOf(SweepPage(results)), "!made.svg && made.tr === 2"));
}

}  // namespace
}  // namespace spyre::cosim::page_test
