// SPDX-License-Identifier: Apache-2.0
#include "traces/diff_explain.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/traces/sample_trace.h"

namespace spyre::trace::diff_explain_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The sample with launches of `window_ps`, half of it in memory and half in the ring, or all.
Trace Launched(const std::string& metadata, uint64_t window_ps, uint64_t ring_ps) {
  Trace trace = SampleTrace();
  trace.metadata = metadata;
  RunResults results;
  results.launch_begin_ps = 0;
  results.launch_end_ps = window_ps;
  results.path[static_cast<size_t>(Cause::kMemoryRead)] = window_ps - ring_ps;
  results.path[static_cast<size_t>(Cause::kRing)] = ring_ps;
  trace.results = EncodeRunResults(results);
  return trace;
}

TEST(DiffExplain, SaysWhatWasConfiguredOtherwiseAndWhereTheTimeWent) {
  const Trace a =
      Launched(R"({"config":{"card":{"ring":{"bytes_per_cycle":128}},"same":1}})", 8000, 4000);
  const Trace b =
      Launched(R"({"config":{"card":{"ring":{"bytes_per_cycle":256}},"same":1}})", 6000, 2000);
  const Explanation explanation = Explain(a, b);
  ASSERT_EQ(explanation.keys.size(), 1u);
  EXPECT_EQ(explanation.keys[0].key, "config.card.ring.bytes_per_cycle");
  const std::string text = ToText(explanation, 0);
  EXPECT_THAT(text, HasSubstr("Launches: A 8.000 ns, B 6.000 ns, change -2.000 ns (-25.0 %)"));
  EXPECT_THAT(text, HasSubstr("ring"));
  EXPECT_THAT(text, Not(HasSubstr("memory read"))) << "its time is the same";
  EXPECT_EQ(explanation.same_kernels, 2u);
}

TEST(DiffExplain, ATimeWithinTheToleranceIsNoDifference) {
  const Explanation explanation = Explain(Launched("{}", 8000, 0), Launched("{}", 8080, 0));
  EXPECT_TRUE(DiffersBy(explanation, 0.009));
  EXPECT_FALSE(DiffersBy(explanation, 0.01));
}

TEST(DiffExplain, KernelsAreMatchedByNameAndOrder) {
  Trace b = SampleTrace();
  for (Record& record : b.records) {
    if (record.flow == 8 && record.category == kControl) record.end_ps += 500;
  }
  const Explanation explanation = Explain(SampleTrace(), b);
  ASSERT_EQ(explanation.kernels.size(), 1u);
  EXPECT_EQ(explanation.kernels[0].number_a, 1u);
  EXPECT_EQ(explanation.kernels[0].time_b_ps - explanation.kernels[0].time_a_ps, 500u);
  EXPECT_TRUE(DiffersBy(explanation, 0.1)) << "3.5 instead of 3 ns, without launches to look at";
  EXPECT_FALSE(DiffersBy(explanation, 0.2));
  EXPECT_EQ(ToJson(explanation)["kernels"][0]["time_b_ns"], 3.5);
}

}  // namespace
}  // namespace spyre::trace::diff_explain_test
