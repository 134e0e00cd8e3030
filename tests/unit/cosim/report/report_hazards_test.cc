// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace spyre::cosim::report_hazards_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

// Stream 1 loads weights, stream 2 reads the second half of them and writes over the first.
flex::HazardReport HazardsIn(flex::HazardMode mode) {
  const flex::HazardOperation load{1, 4, 4, "CopyToDevice", "weights", 0};
  const flex::HazardOperation read{2, 5, 5, "CopyFromDevice", "", 0};
  const flex::HazardOperation launch{2, 6, 8, "launch of add", "", 3};
  flex::HazardReport report;
  report.mode = mode;
  report.checked = 3;
  report.unknown = 1;
  report.found = 2;
  const auto raw = flex::HazardKind::kReadAfterWrite;
  const auto waw = flex::HazardKind::kWriteAfterWrite;
  report.hazards = {{raw, load, read, flex::PFDeviceHandle{0x100}, 256, 256},
                    {waw, load, launch, flex::VFDeviceHandle{2, 0x80}, 128, 384}};
  return report;
}

TEST(ReportHazards, IsNullWhereNothingWasTracked) {
  EXPECT_EQ(HazardsJson(HazardsIn(flex::HazardMode::kOff)), nullptr);
  EXPECT_EQ(HazardsText(HazardsIn(flex::HazardMode::kOff)), "");
}

TEST(ReportHazards, ListsBothOperationsOfAPairAndWhatTheyShare) {
  const Json report = HazardsJson(HazardsIn(flex::HazardMode::kWarning));
  EXPECT_EQ(report["mode"], "warning");
  EXPECT_EQ(report["checked"], 3);
  EXPECT_EQ(report["unknown"], 1);
  EXPECT_EQ(report["found"], 2);
  EXPECT_EQ(report["events"], 0);
  EXPECT_EQ(report["waits"], 0);
  const Json load = {{"stream", 1},
                     {"name", "CopyToDevice"},
                     {"label", "weights"},
                     {"tag", 0},
                     {"correlation", 4}};
  const Json read = {
      {"stream", 2}, {"name", "CopyFromDevice"}, {"label", ""}, {"tag", 0}, {"correlation", 5}};
  const Json launch = {
      {"stream", 2}, {"name", "launch of add"}, {"label", ""}, {"tag", 3}, {"correlation", 6}};
  ASSERT_EQ(report["warnings"].size(), 2u);
  EXPECT_EQ(report["warnings"][0], Json({{"kind", "RAW"},
                                         {"earlier", load},
                                         {"later", read},
                                         {"location", "physical 0x100"},
                                         {"size_bytes", 256},
                                         {"shared_bytes", 256}}));
  EXPECT_EQ(report["warnings"][1], Json({{"kind", "WAW"},
                                         {"earlier", load},
                                         {"later", launch},
                                         {"location", "region 2 + 0x80"},
                                         {"size_bytes", 128},
                                         {"shared_bytes", 384}}));
}

TEST(ReportHazards, CountsTheEventsThatOrderThePairs) {
  flex::HazardReport hazards = HazardsIn(flex::HazardMode::kEvent);
  hazards.events = 1;
  hazards.waits = 2;
  const Json report = HazardsJson(hazards);
  EXPECT_EQ(report["mode"], "event");
  EXPECT_EQ(report["events"], 1);
  EXPECT_EQ(report["waits"], 2);
  EXPECT_THAT(HazardsText(hazards),
              HasSubstr("2 found in 3 operations, 1 launches not looked at; ordered by 1 events "
                        "and 2 waits\n    RAW: 256 bytes at physical 0x100"));
  EXPECT_THAT(HazardsText(HazardsIn(flex::HazardMode::kError)), Not(HasSubstr("ordered by")));
}

}  // namespace
}  // namespace spyre::cosim::report_hazards_test
