// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/results_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace spyre::bringup::results_json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LadderResult Example() {
  TestResult passed;
  passed.suite = "Rung2B";
  passed.name = "Passes";
  passed.rung = 2;
  passed.wall_seconds = 1.5;
  passed.card_ps = 2500;
  passed.measurements = {{"rate", "GB/s", 12.5, Limits{10, 20}},
                         {"size", "bytes", 3, std::nullopt}};
  TestResult failed = passed;
  failed.name = "Fails";
  failed.outcome = Outcome::kFailed;
  failed.message = "a < b & \"c\"\nsecond line \x01";
  failed.measurements.clear();
  TestResult skipped = failed;
  skipped.suite = "Rung10A";
  skipped.rung = 10;
  skipped.outcome = Outcome::kCouldNotRun;
  skipped.message = "no 'lamp'";
  return {{passed, failed, skipped}, 4, false};
}

TEST(ResultsJson, CountsTheThreeOutcomesApart) {
  const auto json = ToJson(Example());
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["could_not_run"], 1);
  EXPECT_EQ(json["of_higher_levels"], 4);
  EXPECT_EQ(json["tests"][0]["card_ns"], 2.5);
  EXPECT_EQ(
      json["tests"][0]["measurements"][0],
      JsonOf(R"({"name":"rate","value":12.5,"unit":"GB/s","low":10.0,"high":20.0,"within":true})"));
  EXPECT_EQ(json["tests"][2]["outcome"], "could not run");
}

TEST(ResultsJson, ABoundThatIsNotThereIsNull) {
  LadderResult result = Example();
  result.tests[0].measurements[0].limits = Limits{};
  const auto json = ToJson(result);
  EXPECT_TRUE(json["tests"][0]["measurements"][0]["low"].is_null());
  EXPECT_TRUE(json["tests"][0]["measurements"][0]["high"].is_null());
}

TEST(Junit, HasASuiteForEachSuiteAndTheRungsInTheirOrder) {
  const std::string xml = ToJunit(Example());
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"spyre-bringup\" tests=\"3\" failures=\"1\" "
                             "skipped=\"1\" time=\"4.500\">"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"Rung2B\" tests=\"2\" failures=\"1\" errors=\"0\" "
                             "skipped=\"0\" time=\"3.000\">"));
  EXPECT_LT(xml.find("Rung2B"), xml.find("Rung10A"));
}

TEST(Junit, TextIsEscapedAndWhatXmlCannotHoldIsReplaced) {
  const std::string xml = ToJunit(Example());
  EXPECT_THAT(xml, HasSubstr("<failure message=\"a &lt; b &amp; &quot;c&quot;\">"));
  EXPECT_THAT(xml, HasSubstr("second line ?</failure>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"no &#39;lamp&#39;\"/>"));
  EXPECT_THAT(xml, HasSubstr("rate = 12.5 GB/s"));
}

}  // namespace
}  // namespace spyre::bringup::results_json_test
