// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/board_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace spyre::bringup::board_report_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

LadderResult Result() {
  TestResult test;
  test.suite = "Rung4Dma";
  test.name = "Copies";
  test.rung = 4;
  test.outcome = Outcome::kFailed;
  test.message = "<script>";
  test.measurements = {{"dma_in", "GB/s", 12.5, Limits{20, 60}}};
  return {{test}, 0, false};
}

TEST(BoardReport, ShowsTheBoardTheFiguresAndTheTests) {
  const Json board = {{"identity", {{"vendor", "1014"}}},
                      {"capabilities", {{"cores", 8}}},
                      {"firmware", {{"version", "1.2"}}},
                      {"counters", {{"MESSAGES", 17}}},
                      {"error_log", Json::array()}};
  const std::string page = ReportPage({{"backend", "inproc"}}, board, Result());
  for (const char* const text :
       {"<th>backend</th><td>inproc</td>", "<th>vendor</th><td>1014</td>",
        "<th>cores</th><td>8</td>", "<th>version</th><td>1.2</td>", "<th>MESSAGES</th><td>17</td>",
        "No records.", "Rung4Dma.Copies", "1 failed", "12.5"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(BoardReport, ShowsTextAsText) {
  const std::string page = ReportPage(Json::object(), {{"error", "a <b> & c"}}, Result());
  EXPECT_THAT(page, HasSubstr("The rest could not be read: a &lt;b&gt; &amp; c"));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

TEST(BoardReport, NeedsNoOtherFile) {
  const std::string page = ReportPage(Json::object(), Json::object(), Result());
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(BoardReport, MarksAFigureThatIsOutsideOfItsLimits) {
  EXPECT_THAT(ReportPage(Json::object(), Json::object(), Result()),
              HasSubstr("<td class=failed>dma_in</td>"));
}

}  // namespace
}  // namespace spyre::bringup::board_report_test
