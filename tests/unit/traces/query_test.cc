// SPDX-License-Identifier: Apache-2.0
#include "traces/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/traces/sample_trace.h"

namespace spyre::trace::query_test {
namespace {

using ::testing::HasSubstr;

TEST(Query, FindsByPartOfTrackAndName) {
  const Trace trace = SampleTrace();
  Query query;
  query.track = "core 00/";
  EXPECT_EQ(Select(trace, query).matches, 2U);
  query.track = "stream";
  query.name = "COMPUTE";
  const QueryResult result = Select(trace, query);
  ASSERT_EQ(result.matches, 2U);
  EXPECT_EQ(result.records[0]->start_ps, 2500U) << "by start, not by recording";
}

TEST(Query, FindsWhatTouchesAWindowOfTime) {
  const Trace trace = SampleTrace();
  Query query;
  query.from_ps = 5001;
  query.to_ps = 5999;
  const QueryResult result = Select(trace, query);
  ASSERT_EQ(result.matches, 1U);
  EXPECT_EQ(trace.names[result.records[0]->name], "COMPUTE mm");
}

TEST(Query, FindsAllOfOneControlBlock) {
  Query query;
  query.flow = 8;
  EXPECT_EQ(Select(SampleTrace(), query).matches, 4U);
}

TEST(Query, LimitShowsHowManyMoreThereAre) {
  const Trace trace = SampleTrace();
  Query query;
  query.limit = 2;
  const QueryResult result = Select(trace, query);
  EXPECT_EQ(result.records.size(), 2U);
  EXPECT_EQ(result.matches, 11U);
  EXPECT_THAT(ToText(trace, result), HasSubstr("2 of 11 records"));
  const auto json = ToJson(trace, result);
  EXPECT_EQ(json["matches"], 11);
  EXPECT_EQ(json["records"][1]["process"], "card");
  EXPECT_EQ(json["records"][1]["end_ps"], 2000);
}

TEST(Query, PrintsExactTimes) {
  const Trace trace = SampleTrace();
  Query query;
  query.track = "stream 1";
  EXPECT_THAT(ToText(trace, Select(trace, query)), HasSubstr("2.500    2.000"));
}

}  // namespace
}  // namespace spyre::trace::query_test
